/** The links of an account end when the account changes hands. */
import t from '../../support/tap.ts'
import { memoryAudit, memoryFactorStore, memoryState, memoryUserStore } from '../../../lib/index.ts'
import { bearer, signIn, testApp } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { logIn } from '../../support/factors.ts'
import { PROVIDER } from '../../support/fake-upstream.ts'
import { secondFactorOf } from '../../support/second-factor.ts'
import { linkOf, scene as thiefScene, THIEF, ANN as OWNER } from '../support/undo.ts'
import { turns } from '../../unit/accounts/world.ts'
import { connectApp } from './support.ts'

type ConnectionOptions = NonNullable<NonNullable<Parameters<typeof connectApp>[1]>['connection']>

const ANN = 'ann@acme.example'
const PASSWORD = 'a quite different phrase'

for (const [name, connection] of [
  ['an authoritative provider', { linking: 'verified-email' }],
  ['the provider that manages the domain', { domains: ['acme.example'], enforce: true }]
] as Array<[string, ConnectionOptions]>)
  t.test(`ends invitations, enrolment links and reset links when ${name} links the account`, async (t) => {
    const users = memoryUserStore()
    const test = await connectApp(t, { users, factors: memoryFactorStore(), connection })
    const { app, messages } = test
    const { id } = await users.create({ username: ANN, email: ANN, emailVerified: true, passwordHash: null })
    await app.authority.users.invite(id)
    const invitation = (await messages.next('invitation')).token
    const { url } = await app.authority.startEnrolment(id)
    const links: Array<[page: string, token: string | null]> = [
      ['/auth/accept-invitation', invitation],
      ['/auth/second-factor/link', new URL(url).searchParams.get('token')]
    ]
    if (connection.enforce === true)
      await t.rejects(app.authority.startPasswordReset(id), /through a connection alone/, 'no password would open it')
    else {
      await app.authority.startPasswordReset(id)
      links.push(['/auth/reset-password', (await messages.next('password_reset')).token])
    }
    const open = async () =>
      await Promise.all(
        links.map(async ([page, token]) => (await testBrowser(app).get(`${page}?token=${token}`)).statusCode)
      )
    t.ok((await open()).every((status) => status === 200))

    test.fake.person = { subject: 'ann-1', email: ANN, emailAuthoritative: true }
    await test.through()
    t.equal(await test.who(), id)

    t.ok((await open()).every((status) => status === 400))
    await testBrowser(app).submit('/auth/accept-invitation', { token: invitation, password: PASSWORD })
    t.match(await users.findById(id), { passwordHash: null })
    t.equal(await test.who(), id, 'the sign-in through the provider stays')
  })

t.test('drops the enrolment of an opened link when the provider of the domain takes over the account', async (t) => {
  const users = memoryUserStore()
  const connection = { domains: ['acme.example'], enforce: true }
  const test = await connectApp(t, { users, factors: memoryFactorStore(), connection })
  const { id } = await users.create({ username: ANN, email: ANN, emailVerified: true, passwordHash: null })
  const { url } = await test.app.authority.startEnrolment(id)
  const invited = testBrowser(test.app)
  const token = new URL(url).searchParams.get('token') ?? ''
  t.equal((await invited.submit('/auth/second-factor/link', { token })).statusCode, 303)
  test.fake.person = { subject: 'ann-1', email: ANN, emailAuthoritative: true }
  await test.through()
  t.equal(await test.who(), id)
  await test.through('', invited)
  t.equal(await test.who(invited), id, 'a sign-in as any other')
})

t.test('rejects an email change link after the owner of the old address disowned the account', async (t) => {
  const users = memoryUserStore()
  const test = await connectApp(t, { users, registration: { username: 'email' } })
  const { app, messages } = test
  const { id } = await users.create({ username: ANN, email: ANN, emailVerified: false, passwordHash: null })
  const eve = { issuer: PROVIDER, subject: 'eve', connection: 'acme', linkedAt: 0, lastUsedAt: 0 }
  await users.linkIdentity(id, eve)
  const { access_token: token } = await app.authority.issueTokens(id)
  const post = async (url: string, payload: Record<string, string>) =>
    (await app.inject({ method: 'POST', url, headers: bearer(token), payload })).statusCode
  t.equal(await post('/auth/email', { email: 'eve@evil.example' }), 202)
  const change = await messages.next('email_change')
  t.equal((await app.inject({ method: 'POST', url: '/auth/email/resend', headers: bearer(token) })).statusCode, 202)
  const verification = await messages.next('verify_email')
  await testBrowser(app).submit('/auth/verify-email', { token: verification.token, decision: 'not_me' })
  t.equal(await post('/auth/email/verify', { token: change.token }), 400)
  t.match(await users.findById(id), { username: ANN, email: ANN })
})

t.test('rejects an email change link after the owner undid the second factor of a thief', async (t) => {
  const test = await thiefScene(t)
  const { app, sub, users, thief, messages, press } = test
  const { access_token: accessToken } = await signIn(app, OWNER)
  const payload = { email: THIEF }
  await app.inject({ method: 'POST', url: '/auth/email', headers: bearer(accessToken), payload })
  const { token } = await messages.next('email_change')
  await logIn(thief, OWNER)
  await secondFactorOf(test, thief)
  t.match(await press(await linkOf(test, 'factor_added')), { statusCode: 200, body: /The change is undone/ })
  t.equal((await app.inject({ method: 'POST', url: '/auth/email/verify', payload: { token } })).statusCode, 400)
  t.match(await users.findById(sub), { username: OWNER, email: OWNER })
})

t.test('sends a reset link, not a verification, to an account registered twice, also after a disable', async (t) => {
  const users = memoryUserStore()
  const test = await connectApp(t, { users, registration: { username: 'email', verifyEmail: true } })
  const { app, messages, clock } = test
  const register = async (password: string) =>
    await app.inject({ method: 'POST', url: '/auth/register', payload: { username: ANN, password } })
  await register(PASSWORD)
  await messages.next('verify_email')
  await register(`${PASSWORD} of the owner`)
  await messages.next('already_registered')
  const { id } = (await users.findByUsername(ANN)) ?? { id: '' }
  await app.authority.users.disable(id)
  await app.authority.users.enable(id)
  clock.step(400_000)
  const { access_token: token } = await app.authority.issueTokens(id)
  await app.inject({ method: 'POST', url: '/auth/email/resend', headers: bearer(token) })
  t.match(await messages.next('password_reset'), { user: { id } })
})

t.test('sends no email change link that the store saves only after requireReset ended all links', async (t) => {
  const state = memoryState()
  let open = (): void => {}
  const held = new Promise<void>((resolve) => {
    open = resolve
  })
  let stored = (): void => {}
  const isStored = new Promise<void>((resolve) => {
    stored = resolve
  })
  const { put } = state.oneTimeTokens
  const oneTimeTokens: typeof state.oneTimeTokens = {
    ...state.oneTimeTokens,
    async put(token) {
      if (token.purpose === 'email_change') await held
      await put(token)
      if (token.purpose === 'email_change') stored()
    }
  }
  const users = memoryUserStore()
  const { app, close, messages } = await testApp({
    users,
    state: { ...state, oneTimeTokens },
    secret: 'a secret of the deployment, at least 32 long',
    audit: memoryAudit()
  })
  t.teardown(close)
  const { id } = await users.create({ username: ANN, email: ANN, emailVerified: true, passwordHash: null })
  const { access_token: token } = await app.authority.issueTokens(id)
  const payload = { email: 'thief@acme.example' }
  const asked = await app.inject({ method: 'POST', url: '/auth/email', headers: bearer(token), payload })
  t.equal(asked.statusCode, 202)
  await app.authority.users.requireReset(id)
  open()
  await isStored
  await turns(50)
  t.strictSame(
    messages.messages.filter(({ kind }) => kind === 'email_change'),
    []
  )
})
