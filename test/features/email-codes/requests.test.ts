/** An application's request, and the code that it gets after a sign-in by email. */
import t, { type Test } from '../../support/tap.ts'
import type { AuthorityOptions } from '../../../lib/index.ts'
import { decodeJwt } from '../../support/jwt.ts'
import { answerOf, authorizePath, CALLBACK, CLIENTS, KEYS, redeem } from '../../support/openid.ts'
import { ANN, ask, emailApp, type EmailApp, enter, PAGE } from './support.ts'

const wayOf = {
  code: enter,
  link: async (browser: EmailApp['browser'], token: string) => await browser.submit('/auth/email-link', { token })
}

async function signedIn(t: Test, options: Partial<AuthorityOptions> = {}): Promise<EmailApp> {
  const subject = await emailApp(t, { keys: KEYS, clients: CLIENTS, ...options })
  await ask(subject.browser)
  await enter(subject.browser, (await subject.mail()).code)
  return subject
}

/**
 * Follows the sign-in page's link to the page of codes, and continues by a code or link of the message to the client.
 */
async function through(
  { browser, mail }: EmailApp,
  path: string,
  by: keyof typeof wayOf
): Promise<{ page: string; answer: Record<string, string> }> {
  const { reply: login } = await browser.follow(await browser.get(path))
  const [, url = ''] = / formaction="([^"]*\/email-code[^"]*)"/.exec(login.body) ?? []
  const page = url.replaceAll('&amp;', '&')
  const query = page.slice(PAGE.length)
  await ask(browser, ANN, query)
  const { code, url: link } = await mail()
  const shown = await browser.get(page)
  const done =
    by === 'code'
      ? await wayOf.code(browser, code, query)
      : await wayOf.link(browser, new URL(link).searchParams.get('token') ?? '')
  const { url: end } = await browser.follow(done)
  return { page: shown.body, answer: end.startsWith(CALLBACK) ? answerOf(end) : { end } }
}

for (const by of ['code', 'link'] as const) {
  for (const [what, params] of [
    ['prompt=login', { prompt: 'login' }],
    ['max_age=0', { max_age: '0' }],
    ['max_age=60', { max_age: '60' }],
    ['prompt=login consent', { prompt: 'login consent', max_age: '60' }]
  ] as const) {
    t.test(`asks for a new sign-in by the ${by} for ${what}, and then continues the request`, async (t) => {
      const subject = await signedIn(t)
      const { app, clock, browser } = subject
      const before = Math.floor(clock.now() / 1000)
      clock.step(120_000)
      const { answer } = await through(subject, authorizePath({ ...params, nonce: 'nonce-1' }), by)
      if (params.prompt?.includes('consent') === true) {
        t.match(answer['end'], '/auth/consent', 'and the consent is asked for after it')
        return
      }
      t.match(answer, { code: /./, state: 'state-1' })
      const { id_token: token } = (await redeem(app, answer['code'] ?? '')).json<{ id_token: string }>()
      t.match(decodeJwt(token).claims, { auth_time: before + 120, nonce: 'nonce-1', acr: 'email', amr: ['email'] })
      clock.step(120_000)
      t.match(
        (await browser.get(authorizePath(params))).headers.location,
        '/auth/login',
        'and is asked for anew the next time'
      )
    })
  }
}

t.test('satisfies prompt=login only after the correct code', async (t) => {
  const subject = await signedIn(t)
  const { browser } = subject
  const path = authorizePath({ prompt: 'login' })
  const query = String((await browser.get(path)).headers.location).slice('/auth/login'.length)
  await ask(browser, ANN, query)
  const { code } = await subject.mail()
  t.match((await browser.get(path)).headers.location, '/auth/login')
  t.equal((await enter(browser, '00000000', query)).statusCode, 400)
  t.match((await browser.get(path)).headers.location, '/auth/login')
  const done = await browser.follow(await enter(browser, code, query))
  t.match(done.url, `${CALLBACK}?code=`)
})

t.test('shows the email code page, its errors and the link page in the language of ui_locales', async (t) => {
  const subject = await signedIn(t)
  const { page } = await through(subject, authorizePath({ prompt: 'login', ui_locales: 'de fr' }), 'code')
  t.match(page, '<html lang="de"')
  const query = String(
    (await subject.browser.get(authorizePath({ prompt: 'login', ui_locales: 'fr de' }))).headers.location
  ).slice('/auth/login'.length)
  t.match(query, 'ui_locales=fr')
  t.match((await subject.browser.get(`${PAGE}${query}`)).body, '<html lang="fr"')
  t.match((await ask(subject.browser, 'no address', query)).body, '<html lang="fr"')
  await ask(subject.browser, ANN, query)
  t.match((await subject.browser.get(`${PAGE}${query}`)).body, '<html lang="fr"')
  t.match((await enter(subject.browser, '00000000', query)).body, '<html lang="fr"')
  const { url } = await subject.mail()
  t.match((await subject.browser.get(url)).body, '<html lang="fr"', 'the page of the link too')
  t.match((await subject.browser.submit(`${PAGE}${query}`, { decision: 'other' })).headers.location, 'ui_locales=fr')
})
