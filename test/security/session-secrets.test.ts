/**
 * A proof of a second factor counts only for the session secret with which it was given, not for older copies of the
 * cookie.
 */
import t from '../support/tap.ts'
import { softPasskey } from '../../lib/testing/index.ts'
import { ISSUER } from '../support/app.ts'
import { type TestBrowser, testBrowser } from '../support/browser.ts'
import { enrol, factorApp, type FactorApp, formOf, logIn, signedInAnywhere } from '../support/factors.ts'
import { answer } from '../support/passkey-pages.ts'
import { acrOf, copyOf, whoRoute } from './support/session-copies.ts'

const SECONDS = 1000

/** Finds a cookie by the start of its name. */
function cookieOf(browser: TestBrowser, what: string): [name: string, value: string] {
  const found = [...browser.cookies].find(([name]) => name.startsWith(`authority_${what}`))
  if (found === undefined) throw new Error(`no ${what} in ${[...browser.cookies.keys()].join()}`)
  return found
}
async function rowsOf({ app, sub }: Pick<FactorApp, 'app' | 'sub'>): Promise<number> {
  return (await app.authority.sessions(sub)).length
}

// covers ASVS-7.2.4
t.test(
  'starts a separate session for a sign-in with an old cookie, without the second factor of the owner',
  async (t) => {
    const subject = await factorApp(t, { mfa: { rememberDevice: {} } }, whoRoute)
    const { app, browser: owner, clock } = subject
    await logIn(owner)
    const page = await owner.get('/auth/second-factor')
    await owner.submit(formOf(page.body).action, { code: subject.code(), remember: 'on' })
    const thief = testBrowser(app)
    thief.cookies.set(...cookieOf(owner, 'session'))
    thief.cookies.set(...cookieOf(owner, 'trusted'))
    clock.step(60 * SECONDS)
    // Another sign-in replaces the secret that the thief has.
    await logIn(owner)
    clock.step(10 * SECONDS)
    t.equal(await acrOf(thief), undefined, 'the old cookie is dead')
    t.equal((await logIn(thief)).headers.location?.toString().startsWith('/auth/second-factor'), false)
    t.equal(await rowsOf(subject), 2, 'the owner sees another sign-in')
    // The owner adds the second factor to the owner's own session.
    const step = await owner.get('/auth/second-factor?prompt=login')
    clock.step(30 * SECONDS)
    await owner.submit(formOf(step.body).action, { code: subject.code() })
    t.equal(await acrOf(owner), 'mfa')
    t.equal(await acrOf(thief), 'password')
    const { body } = await thief.get('/auth/security/passkeys')
    t.notMatch(body, /name="credential"/, 'no passkey can be made')
  }
)

t.test('ends sessions that began with an old cookie when the owner adds an authenticator app', async (t) => {
  const subject = await factorApp(t, {}, { enrolled: false, ...whoRoute })
  const { app, browser: owner, clock } = subject
  await logIn(owner)
  const thief = testBrowser(app)
  thief.cookies.set(...cookieOf(owner, 'session'))
  clock.step(SECONDS)
  await logIn(owner)
  clock.step(10 * SECONDS)
  await logIn(thief)
  t.equal(await acrOf(thief), 'password')
  await enrol(subject, owner)
  t.equal(await acrOf(owner), 'mfa')
  t.equal(await acrOf(thief), undefined)
  t.same(await signedInAnywhere(thief), [])
})

t.test('accepts a replaced cookie for ten seconds with its former acr, and does not renew it', async (t) => {
  const subject = await factorApp(t, {}, { ...whoRoute })
  const { app, clock, sub } = subject
  const owner = testBrowser(app)
  await owner.get(`/vouch?sub=${sub}`)
  const thief = copyOf(app, owner)
  const page = await owner.get('/auth/second-factor')
  const stepped = formOf(page.body).action
  t.equal((await owner.submit(stepped, { code: subject.code() })).statusCode, 303)
  t.equal(await acrOf(owner), 'mfa')
  t.equal(await acrOf(thief), 'password', 'a request of another tab is answered')
  clock.step(30 * SECONDS)
  const late = testBrowser(app)
  await late.get(`/vouch?sub=${sub}`)
  const other = copyOf(app, late)
  await late.get(`/vouch?sub=${sub}`)
  const reply = await other.submit(stepped, { code: subject.code() })
  t.match(reply.headers.location, /^\/auth\/login/)
  t.equal(await acrOf(other), 'password')
  clock.step(10 * SECONDS)
  t.equal(await acrOf(other), undefined)
  t.equal(await acrOf(late), 'password')
})

t.test('starts a separate session when the host signs in a browser with a replaced cookie', async (t) => {
  const subject = await factorApp(t, {}, whoRoute)
  const { app, browser: owner, clock, sub } = subject
  const thief = copyOf(app, owner)
  await logIn(owner)
  await owner.submit(formOf((await owner.get('/auth/second-factor')).body).action, { code: subject.code() })
  clock.step(10 * SECONDS)
  const rows = await rowsOf(subject)
  t.equal((await thief.get(`/vouch?sub=${sub}`)).statusCode, 200)
  t.equal(await acrOf(thief), 'password')
  t.equal(await acrOf(owner), 'mfa')
  t.equal(await rowsOf(subject), rows + 1)
  t.not(cookieOf(thief, 'session')[1].split('.')[0], cookieOf(owner, 'session')[1].split('.')[0])
})

t.test('keeps the second-factor sign-in of one tab when an older tab adds a passkey', async (t) => {
  const subject = await factorApp(t, {}, whoRoute)
  const { app, browser: owner, clock } = subject
  const tab = copyOf(app, owner)
  const page = await tab.get('/auth/security/passkeys')
  await logIn(owner)
  await owner.submit(formOf((await owner.get('/auth/second-factor')).body).action, { code: subject.code() })
  const since = ((await owner.get('/who')).json() as { authenticatedAt: string }).authenticatedAt
  clock.step(5 * SECONDS)
  await answer(tab, page.body, softPasskey({ origin: ISSUER }))
  t.equal(await acrOf(owner), 'mfa')
  t.equal(((await owner.get('/who')).json() as { authenticatedAt: string }).authenticatedAt, since)
  clock.step(5 * SECONDS)
  t.equal(await acrOf(tab), undefined, 'the other tab got no new secret')
})
