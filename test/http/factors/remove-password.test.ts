/** Who has passkeys takes the password of the account away, and nobody is locked out by that. */
import t from 'tap'
import { type AuthorityOptions, type FactorStore, memoryFactorStore, memoryState, memoryUserStore, type UserStore } from '../../../lib/index.ts'
import { softPasskey, type SoftPasskey } from '../../../lib/testing/index.ts'
import { bearer, ISSUER, PASSWORD, signIn, signUp, type TestApp, testApp } from '../../support/app.ts'
import { formAction, testBrowser, type TestBrowser } from '../../support/browser.ts'
import { codeFor, logIn } from '../../support/factors.ts'
import { hooked } from '../../support/hooked.ts'
import { answerOn } from '../../support/passkey-pages.ts'
import { addWith, asked, finish } from '../../support/passkeys.ts'

const PAGE = '/auth/account/password'
const MAIL = 'ann@mail.example'
const KEY = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'
const OFFERED = /name="decision" value="remove"/
const tokenIn = (url: string): string => new URL(url).searchParams.get('token') ?? ''

interface Subject extends TestApp {
  sub: string
  passkey: SoftPasskey
  users: ReturnType<typeof hooked<UserStore>>
  store: ReturnType<typeof hooked<FactorStore>>
  /** Which method of which store fails. */
  broken: Set<string>
  token: string
  ids: string[]
  hash(): Promise<string | null | undefined>
}

type Soft = Partial<Parameters<typeof softPasskey>[0]>

/** Ann with a password, and with these passkeys, the first of which signs her in. */
async function annWith (t: { teardown(close: () => Promise<void>): void }, keys: Array<Soft & { kind?: 'security_key' }> = [{ synced: true }], options: Partial<AuthorityOptions> = {}): Promise<Subject> {
  const broken = new Set<string>()
  const breaking = <Store extends object>(store: Store): Store => new Proxy(store, {
    get (target, name) {
      const act = Reflect.get(target, name) as unknown
      if (typeof act !== 'function') return act
      return async (...given: unknown[]) => {
        if (broken.has(String(name))) throw Object.assign(new Error('the server is gone'), { code: 'ECONNREFUSED' })
        return await (act as (...of: unknown[]) => Promise<unknown>).apply(target, given)
      }
    }
  })
  const users = hooked<UserStore>(breaking(memoryUserStore() as UserStore))
  const store = hooked<FactorStore>(breaking(memoryFactorStore()))
  const state = memoryState()
  const subject = await testApp({ users: users.store, factors: store.store, state: { ...state, tokens: breaking(state.tokens), browserSessions: breaking(state.browserSessions), oneTimeTokens: breaking(state.oneTimeTokens) }, ...options })
  t.teardown(subject.close)
  const { sub } = await signUp(subject.app)
  let passkey: SoftPasskey | undefined
  let token = ''
  const ids: string[] = []
  for (const { kind, ...soft } of keys) {
    const made = softPasskey({ origin: ISSUER, ...soft })
    if (passkey === undefined) token = (await signIn(subject.app)).access_token
    else token = await byPasskey(subject, passkey)
    ids.push((await addWith(subject, made, token, kind)).id)
    passkey ??= made
  }
  if (passkey === undefined) throw new Error('at least one')
  return { ...subject, sub, passkey, users, store, broken, token, ids, hash: async () => (await users.store.findById(sub))?.passwordHash }
}

/** An access token of a sign-in by the passkey. */
async function byPasskey ({ app }: Pick<TestApp, 'app'>, passkey: SoftPasskey): Promise<string> {
  const { options } = (await app.inject('/auth/passkey-challenge')).json<{ options: Parameters<SoftPasskey['get']>[0] }>()
  const reply = await app.inject({ method: 'POST', url: '/auth/token', payload: { grant_type: 'urn:fastify-authority:grant-type:passkey', credential: JSON.stringify(passkey.get(options)) } })
  return reply.json<{ access_token: string }>().access_token
}

/** Signed in by the passkey, with the form before them. */
async function prepared (subject: Subject): Promise<{ browser: TestBrowser, body: string, remove(): ReturnType<TestBrowser['submit']> }> {
  const browser = testBrowser(subject.app)
  await answerOn(browser, '/auth/login', subject.passkey)
  const { body } = await browser.get(PAGE)
  return { browser, body, remove: async () => await browser.submit(formAction(body), { decision: 'remove' }) }
}

const without = async ({ app }: Subject, id: string, token: string): Promise<number> => (await app.inject({ method: 'DELETE', url: `/auth/factors/${id}`, headers: bearer(token) })).statusCode

t.test('who has two passkeys, or a synced one and another way back', async (t) => {
  const noCodes = { mfa: { methods: ['totp', 'passkey'] } } as const
  const cases: Array<{ what: string, keys: Parameters<typeof annWith>[1], options?: Partial<AuthorityOptions>, mail?: boolean, may: boolean }> = [
    { what: 'two', keys: [{}, {}], may: true },
    { what: 'two without anything else', keys: [{}, {}], options: noCodes, may: true },
    { what: 'a synced one and codes', keys: [{ synced: true }], may: true },
    { what: 'one on one device, and codes and a mailbox', keys: [{}], mail: true, may: false },
    { what: 'a synced one alone', keys: [{ synced: true }], options: noCodes, may: false },
    { what: 'a synced one and a confirmed mailbox', keys: [{ synced: true }], options: noCodes, mail: true, may: true },
    { what: 'a synced one and a mailbox that nobody confirmed', keys: [{ synced: true }], options: noCodes, mail: false, may: false },
    { what: 'a synced one and a mailbox, and no mail is sent', keys: [{ synced: true }], options: { ...noCodes, sendMessage: undefined }, mail: true, may: false },
    { what: 'a key that never signs in alone beside one on one device', keys: [{}, { kind: 'security_key', verifiesUser: false }], may: false }
  ]
  for (const { what, keys, options, mail, may } of cases) {
    const subject = await annWith(t, keys, options)
    if (mail !== undefined) await subject.users.store.update?.(subject.sub, { email: MAIL, emailVerified: mail })
    const other = await prepared(subject)
    const { body, remove } = await prepared(subject)
    t.equal(OFFERED.test(body), may, what)
    t.equal(body.includes('you need two passkeys, or a synced one'), !may, what)
    const reply = await remove()
    t.equal(reply.statusCode, may ? 303 : 409, what)
    t.equal(await subject.hash() === null, may, what)
    if (!may) t.match(reply.body, 'you need two passkeys, or a synced one')
    t.equal((await other.browser.get('/auth/session')).statusCode === 401, may, `${what}: a refusal ends nothing`)
  }
})

t.test('it is not there without a passkey, nor where passkeys are off', async (t) => {
  for (const options of [{ factors: memoryFactorStore() }, { factors: memoryFactorStore(), passkeys: false as const }, {}]) {
    const { app, close } = await testApp(options)
    t.teardown(close)
    await signUp(app)
    const browser = testBrowser(app)
    await logIn(browser)
    const { body } = await browser.get(PAGE)
    t.notMatch(body, /decision|Sign in without a password/)
    t.equal((await browser.submit(formAction(body), { decision: 'remove' })).statusCode, 'factors' in options && !('passkeys' in options) ? 401 : 400)
    t.equal((await logIn(testBrowser(app))).statusCode, 303)
  }
})

t.test('it takes a sign-in by a passkey of the last five minutes, from a page of ours', async (t) => {
  const subject = await annWith(t, [{ synced: true }, {}], { mfa: { rememberDevice: {} } })
  const { app, clock, sub, passkey, hash } = subject
  await app.authority.importTotp(sub, { secret: KEY })
  const refused = async (browser: TestBrowser, what: string, status = 401): Promise<void> => {
    const { body } = await browser.get(PAGE)
    t.notMatch(body, OFFERED, what)
    t.match(body, /href="\/auth\/reauthenticate\?return_to=%2Fauth%2Faccount%2Fpassword"/, what)
    t.equal((await browser.submit(formAction(body), { decision: 'remove' })).statusCode, status, what)
    t.equal(typeof await hash(), 'string', what)
  }
  const byCode = testBrowser(app)
  await logIn(byCode)
  await byCode.submit('/auth/second-factor', { code: codeFor(KEY, clock.now()), remember: 'on' })
  await refused(byCode, 'a password and a code')
  byCode.cookies.delete('authority_session')
  await logIn(byCode)
  await refused(byCode, 'a password in a browser that is remembered')

  const { browser, body } = await prepared(subject)
  t.match(body, OFFERED)
  clock.step(301_000)
  await refused(browser, 'a passkey long ago')
  await browser.follow(await answerOn(browser, `/auth/reauthenticate?return_to=${encodeURIComponent(PAGE)}`, passkey))
  t.equal((await browser.submit(formAction(body).replace(/session=[^&]*/, 'session=another'), { decision: 'remove' })).headers.location, `${PAGE}?done=nothing`, 'the form of another sign-in')
  const again = formAction((await browser.get(PAGE)).body)
  for (const headers of [{ 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }, { 'sec-fetch-site': 'same-site', origin: 'https://evil.example' }]) {
    t.equal((await browser.submit(again, { decision: 'remove' }, headers)).statusCode, 403)
  }
  t.match((await testBrowser(app).submit(again, { decision: 'remove' })).headers.location, '/auth/login')
  t.equal(typeof await hash(), 'string')
  t.equal((await browser.submit(again, { decision: 'remove', current_password: '', password: '' })).statusCode, 303)
  t.equal(await hash(), null)
})

t.test('all that the password opened has ended, and the person is told', async (t) => {
  const subject = await annWith(t, [{ synced: true }], { registration: { username: 'any' } })
  const { app, sub, users, events, messages, passkey } = subject
  await users.store.update?.(sub, { email: MAIL, emailVerified: true })
  const other = await prepared(subject)
  await app.inject({ method: 'POST', url: '/auth/password-reset', payload: { username: 'ann' } })
  const link = await messages.next('password_reset')
  const ticket = await asked(subject)
  const { browser, remove } = await prepared(subject)
  const { location = '' } = (await remove()).headers
  t.equal(location, '/auth/security?done=password_removed')
  const security = await browser.get(location, { 'sec-fetch-site': 'same-origin' })
  t.match(security.body, 'Your password has been removed. You now sign in with a passkey.')
  t.notMatch(security.body, 'your password alone is enough again')
  t.equal((await other.browser.get('/auth/session')).statusCode, 401, 'other sign-ins')
  t.equal((await app.inject({ url: '/auth/profile', headers: bearer(subject.token) })).statusCode, 401)
  t.match(events.filter(({ name }) => name === 'password_changed').map(({ payload }) => payload), [{ userId: sub, by: 'removal', sid: /./ }])
  const told = await messages.next('password_removed')
  t.match(told, { user: { id: sub, email: MAIL }, hasPassword: false })
  t.notOk('passwordHash' in told.user)
  t.match((await logIn(testBrowser(app))).body, 'The username or password is wrong.')
  t.equal((await app.inject({ method: 'POST', url: '/auth/password-reset/confirm', payload: { token: tokenIn(link.url), password: 'a password of the thief' } })).statusCode, 400, 'a link of before')
  t.match((await finish(subject, ticket.mfa_token, passkey.get(ticket.passkey_options))).json(), { error: 'invalid_grant' }, 'a ticket of before')
  t.notMatch((await browser.get('/auth/account')).body, 'sign in first')
  t.match((await browser.get(PAGE)).body, 'Your account has no password.')
  t.equal((await remove()).statusCode, 303, 'again: there is nothing to do')
  t.equal(events.filter(({ name }) => name === 'password_changed').length, 1)

  subject.clock.step(7_200_000)
  const strange = (): number => events.filter(({ name }) => name === 'new_sign_in').length
  const before = strange()
  browser.cookies.delete('authority_session')
  await answerOn(browser, '/auth/login', passkey)
  t.equal(strange(), before, 'the browser is known without the password too')
  await answerOn(testBrowser(app), '/auth/login', passkey)
  t.equal(strange(), before + 1, 'and another is not')

  await app.inject({ method: 'POST', url: '/auth/password-reset', payload: { username: 'ann' } })
  const { url } = await messages.next('password_reset')
  t.equal((await app.inject({ method: 'POST', url: '/auth/password-reset/confirm', payload: { token: tokenIn(url), password: PASSWORD } })).statusCode, 204, 'a reset by mail sets one again')
  t.match((await logIn(testBrowser(app))).headers.location, '/auth/second-factor', 'which is not enough by itself')
  t.equal((await prepared(subject)).body.includes('decision'), true)
})

t.test('twice at once it is done once', async (t) => {
  const subject = await annWith(t)
  const { remove } = await prepared(subject)
  const replies = await Promise.all([remove(), remove(), remove()])
  t.ok(replies.every(({ statusCode }) => [303, 503].includes(statusCode)))
  t.equal(await subject.hash(), null)
  t.equal(subject.events.filter(({ name }) => name === 'password_changed').length, 1)
})

t.test('a passkey that is removed at the same moment: one of the two fails', async (t) => {
  for (const when of ['before', 'after']) {
    const subject = await annWith(t, [{}, {}])
    const { browser, remove } = await prepared(subject)
    const security = formAction((await browser.get('/auth/security')).body)
    subject.users.on(`${when} setPasswordHash`, async () => {
      t.equal((await browser.submit(security, { factor: subject.ids[1] ?? '', decision: 'remove' })).statusCode, 303, 'in another tab')
    })
    t.equal((await remove()).statusCode, 409, when)
    t.equal(typeof await subject.hash(), 'string', `${when}: the password is back`)
    t.equal((await logIn(testBrowser(subject.app))).headers.location?.startsWith('/auth/second-factor'), true)
    t.same(subject.events.filter(({ name }) => name === 'password_changed'), [])
    t.notOk(subject.messages.messages.some(({ kind }) => kind === 'password_removed'))
  }
  for (const when of ['before', 'after']) {
    const subject = await annWith(t, [{ synced: true }])
    const { remove } = await prepared(subject)
    const token = await byPasskey(subject, subject.passkey)
    let removed = 0
    subject.store.on(`${when} removeFactor`, async () => { removed = (await remove()).statusCode })
    const status = await without(subject, subject.ids[0] ?? '', token)
    const found = await subject.store.store.findFactors(subject.sub)
    t.same([removed, status, found.passkeys.length, await subject.hash() === null], when === 'before' ? [303, 409, 1, true] : [409, 204, 0, false], when)
  }
})

t.test('a sign-in that has ended meanwhile takes nothing away', async (t) => {
  const subject = await annWith(t, [{}, {}])
  const before = await subject.hash()
  const { remove } = await prepared(subject)
  subject.users.on('after setPasswordHash', async () => { await subject.app.authority.revokeUser(subject.sub) })
  t.equal((await remove()).statusCode, 401)
  t.equal(await subject.hash(), before)
  const again = await prepared(subject)
  subject.users.on('before setPasswordHash', async () => { await subject.app.authority.changePassword(subject.sub, 'correct horse battery staple') })
  t.equal((await again.remove()).statusCode, 503, 'a password that was set meanwhile')
  t.ok(typeof await subject.hash() === 'string' && await subject.hash() !== before)
})

t.test('where a store is down nothing is half done for good', async (t) => {
  for (const { method, when } of [
    { method: 'revokeFamiliesOfUser', when: 'at first' }, { method: 'put', when: 'at first' }, { method: 'findFactors', when: 'at first' }, { method: 'setPasswordHash', when: 'at first' },
    { method: 'findFactors', when: 'after setPasswordHash' }, { method: 'findById', when: 'after setPasswordHash' }
  ]) {
    const subject = await annWith(t, [{}, {}])
    const before = await subject.hash()
    const { remove } = await prepared(subject)
    if (when === 'at first') subject.broken.add(method)
    else subject.users.on(when, async () => { subject.broken.add(method) })
    t.equal((await remove()).statusCode, 503, `${method} ${when}`)
    subject.broken.clear()
    await subject.close()
    t.equal(await subject.hash(), before, `${method} ${when}`)
    t.notOk(subject.events.some(({ name }) => name === 'password_changed'))
  }
  const subject = await annWith(t, [{}, {}])
  const { remove } = await prepared(subject)
  const other = testBrowser(subject.app)
  subject.users.on('after setPasswordHash', async () => {
    await answerOn(other, '/auth/login', subject.passkey)
    subject.broken.add('revokeFamiliesOfUser')
    subject.broken.add('revokeSessionsOfUser')
  })
  t.equal((await remove()).statusCode, 503, 'what comes after')
  t.equal(await subject.hash(), null)
  subject.broken.clear()
  t.equal((await other.get('/auth/session')).statusCode, 200, 'a sign-in of that moment')
  t.equal((await remove()).statusCode, 303, 'the same form finishes it')
  t.equal((await other.get('/auth/session')).statusCode, 401)
})

t.test('where a store is down when it is looked whether a way in is left, the passkey is put back once it is up', async (t) => {
  const subject = await annWith(t)
  const { remove } = await prepared(subject)
  const token = await byPasskey(subject, subject.passkey)
  subject.store.on('before removeFactor', async () => { t.equal((await remove()).statusCode, 303) })
  subject.store.on('after removeFactor', async () => {
    subject.broken.add('findById')
    setImmediate(() => { subject.broken.clear() })
  })
  await without(subject, subject.ids[0] ?? '', token)
  await subject.close()
  t.equal((await subject.store.store.findFactors(subject.sub)).passkeys.length, 1)
})
