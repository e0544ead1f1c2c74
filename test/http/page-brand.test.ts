/** The options of the pages' looks and words, as a host gives them. */
import t from '../support/tap.ts'
import type { AuthorityOptions } from '../../lib/index.ts'
import { PASSWORD, testApp } from '../support/app.ts'
import { testBrowser } from '../support/browser.ts'
import { turns } from '../unit/accounts/world.ts'

t.test('stops the start for an invalid page text, and names its path', async (t) => {
  const rows: Array<[Partial<AuthorityOptions>, string, RegExp]> = [
    [{ pages: { texts: { xx: {} } as object } }, 'pages.texts.xx', /no language "xx"\. There are: en, de/],
    [{ pages: { texts: { de: { loginHeading: 'x' } } as object } }, 'pages.texts.de.loginHeading', /no such text/],
    [{ pages: { texts: { de: { lang: 'x' } } as object } }, 'pages.texts.de.lang', /no such text/],
    [{ pages: { texts: { en: { constructor: 'x' } } as object } }, 'pages.texts.en.constructor', /no such text/],
    [{ pages: { texts: { en: { continueTo: 'On you go.' } } } }, 'pages.texts.en.continueTo', /lacks \{client\}/],
    [
      { pages: { texts: { en: { loginTitle: 'Sign in to {name}' } } } },
      'pages.texts.en.loginTitle',
      /nothing that \{name\} could stand for/
    ],
    [{ scopes: { openid: {}, 'orders:read': { tlh: 'x' } as object } }, 'scopes.orders:read.tlh', /no language "tlh"/]
  ]
  for (const [options, path, problem] of rows) {
    const error = await testApp(options).then(
      () => null,
      (error: Error & { code?: string }) => error
    )
    t.match(error, { code: 'FST_AUTHORITY_INVALID_OPTIONS', message: problem }, path)
    t.ok(error?.message.startsWith(`Invalid option "${path}": `), error?.message ?? '')
  }
})

t.test('links from an expired link to the page that sends a new one', async (t) => {
  const { app, close } = await testApp({ registration: { verifyEmail: true } })
  t.teardown(close)
  for (const [path, next] of [
    ['/auth/reset-password', '/auth/forgot-password'],
    ['/auth/verify-email', '/auth/login']
  ] as const) {
    for (const token of ['', 'x', 'A'.repeat(100)]) {
      const reply = await app.inject(`${path}?token=${token}`)
      t.equal(reply.statusCode, 400)
      t.match(reply.body, 'This link no longer works')
      t.match(reply.body, `<p class="actions"><a href="${next}">`)
      t.match(reply.body, /<code[^>]*>invalid_token · req-\w+<\/code>/)
    }
  }
  t.notMatch((await app.inject('/auth/consent')).body, 'This link no longer works')
})

t.test('sign-up resends its message, once in five minutes', async (t) => {
  const { app, clock, close, messages } = await testApp({
    registration: { username: 'email', verifyEmail: true },
    rateLimit: { register: false }
  })
  t.teardown(close)
  const browser = testBrowser(app)
  const ask = async () => {
    const reply = await browser.submit('/auth/check-email', { decision: 'resend' })
    await turns()
    return (await browser.follow(reply)).reply
  }
  const kinds = (): string[] => messages.messages.map(({ kind }) => kind)
  await browser.submit('/auth/signup', { username: 'ann@example.com', password: PASSWORD })
  await turns()
  t.same(kinds(), ['verify_email'])
  const again = await ask()
  t.equal(again.statusCode, 200)
  t.same(kinds(), ['verify_email'], 'the first is on its way')
  clock.step(5 * 60_000)
  await ask()
  t.same(kinds(), ['verify_email', 'verify_email'])
  t.match(again.body, 'ann@example.com')
  t.equal((await browser.submit('/auth/signup', { decision: 'resend' })).statusCode, 400)
})

t.test('without confirmation, rejects a resend and requires a password', async (t) => {
  const { app, close, messages } = await testApp({ rateLimit: { register: false } })
  t.teardown(close)
  t.equal((await testBrowser(app).submit('/auth/signup', { username: 'ann', decision: 'resend' })).statusCode, 400)
  t.same(messages.messages, [])
})
