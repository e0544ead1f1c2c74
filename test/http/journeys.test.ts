/** Links in messages end at the client that began. */
import t from '../support/tap.ts'
import { formAction } from '../support/browser.ts'
import { PASSWORD } from '../support/app.ts'
import { CALLBACK } from '../support/openid.ts'
import { turns } from '../unit/accounts/world.ts'
import { appOf, BOB, hasSession, known, NEXT, PAGES, press, queryOf, send, type Subject } from './support/journeys.ts'

/** The pages that send a message with a link, and the steps before. */
const SENDERS: Record<
  string,
  {
    page: keyof typeof PAGES
    before?: (subject: Subject) => Promise<unknown>
    resend?: true
    form?: Record<string, string>
  }
> = {
  'a sign-up': { page: 'signUp' },
  'a sign-up, sent again': { page: 'signUp', resend: true },
  'a sign-up of a confirmed account': { page: 'signUp', before: known, form: { password: NEXT } },
  'a sign-in with an unconfirmed address': {
    page: 'signIn',
    async before({ app, clock }) {
      await app.inject({ method: 'POST', url: '/auth/register', payload: { username: BOB, password: PASSWORD } })
      await turns()
      clock.step(5 * 60_000)
    },
    resend: true
  },
  'a forgotten password': { page: 'forgot', before: known, form: { password: NEXT } },
  'a forgotten password, sent again': { page: 'forgot', before: known, resend: true, form: { password: NEXT } },
  'a sign-in code': { page: 'code', before: known }
}

for (const [what, { page, before, resend, form }] of Object.entries(SENDERS)) {
  t.test(`${what}: the link leads the browser that asked to the client, and signs no other browser in`, async (t) => {
    const subject = await appOf(t)
    const { browser, other, clock } = subject
    await before?.(subject)
    const shown = await send(t, browser, page, 'one')
    t.match(shown.body, BOB, 'the typed name')
    if (resend) {
      if (page !== 'signIn') clock.step(5 * 60_000)
      const again = await browser.submit(formAction(shown.body), { decision: 'resend' })
      t.match(again, { statusCode: 303, headers: { location: /done=resent/ } })
      t.match((await browser.get(String(again.headers.location))).body, /class="note"/)
    }
    const link = await subject.link()

    // The cookie alone signs nobody in.
    for (const path of ['/auth/verify-email', '/auth/reset-password', '/auth/check-email', '/auth/login'])
      await browser.get(`${path}${queryOf('one')}`)
    t.notOk(hasSession(browser))

    if (page === 'code') t.notOk(/<form/.test((await other.get(link)).body.split('<footer')[0] ?? ''), 'no button')
    const { reply, url } = await press(browser, link, form)
    t.equal(url.split('?')[0], CALLBACK, reply.body)
    t.match(new URL(url).searchParams.get('state'), 'one')
    t.ok(hasSession(browser))
    t.notOk(hasSession(other))
    if (page !== 'code') t.equal((await press(browser, link, form)).reply.statusCode, 400, 'works once')
  })

  if (page !== 'code')
    t.test(`${what}: the link signs nobody in from another browser, and its page can be reloaded`, async (t) => {
      const subject = await appOf(t)
      await before?.(subject)
      const shown = await send(t, subject.browser, page, 'one')
      if (resend) await subject.browser.submit(formAction(shown.body), { decision: 'resend' })
      const { reply, url } = await press(subject.other, await subject.link(), form)
      t.equal(reply.statusCode, 200)
      t.match(url, /\/auth\/(?:verify-email\?done=confirmed|reset-password\?done=reset)$/)
      t.equal((await subject.other.get(url)).body, reply.body, 'reloaded')
      t.notOk(hasSession(subject.other))
      t.notOk(hasSession(subject.browser))
      t.match((await subject.other.get('/auth/login')).body, BOB, 'the name is known')
    })
}

t.test('keeps the typed name and the page that waits for a message when the user changes the language', async (t) => {
  const subject = await appOf(t)
  await known(subject)
  const query = queryOf('one')
  for (const { path } of Object.values(PAGES)) {
    const { browser } = subject
    const { body } = await browser.get(`${path}${query}`)
    const [, url = ''] = / formaction="(\?[^"]*ui_locales=de)"/.exec(body) ?? []
    t.ok(url, `${path} has the choice`)
    const reply = await browser.submit(`${path}${url.replaceAll('&amp;', '&')}`, {
      username: 'typed@example.com',
      password: 'not read',
      decision: 'carry'
    })
    const shown = await browser.get(String(reply.headers.location))
    t.match(shown, { statusCode: 200, body: 'value="typed@example.com"' }, path)
    t.match(shown.body, '<html lang="de"', path)
    t.match(shown.body, /ui_locales=de/, 'the form goes on in this language')
  }
  const waits = await send(t, subject.browser, 'forgot', 'two')
  t.match(waits.body, BOB)
  for (const lang of ['de', 'ja']) {
    const { body } = await subject.browser.get(`/auth/check-email${queryOf('two')}&ui_locales=${lang}`)
    t.match(body, `<html lang="${lang}"`)
    t.match(body, BOB, 'the page still waits')
  }
  const { url } = await press(subject.browser, await subject.link(), { password: NEXT })
  t.match(url, /[?&]state=two/, 'and the link leads to the client')
})
