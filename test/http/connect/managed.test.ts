/**
 * A connection with `enforce` is the only way into its domains: every other sign-in is refused, for the account and for
 * the address.
 */
import t, { type Test } from '../../support/tap.ts'
import { Type } from '@sinclair/typebox'
import { linkIdOf } from '../../../lib/accounts/identities.ts'
import { memoryFactorStore, memoryUserStore, type LinkedIdentity, type User } from '../../../lib/index.ts'
import { TOKEN_EXCHANGE_GRANT } from '../../../lib/protocol/request-params.ts'
import { authAs, softPasskey } from '../../../lib/testing/index.ts'
import { fastHasher } from '../../../lib/testing/doubles.ts'
import { ISSUER, PASSWORD, signIn } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { fakeConnection, fakeUpstream, PROVIDER } from '../../support/fake-upstream.ts'
import { connectApp, type ConnectApp, onward } from './support.ts'

const OTHER = 'https://other.example.com'
const WORK = 'ann@acme.example'
const HOME = 'ann@home.example'
const APP = 'com.example.app'

const linkTo = (connection: 'acme' | 'other', fields: Partial<LinkedIdentity> = {}): LinkedIdentity => ({
  issuer: connection === 'acme' ? PROVIDER : OTHER,
  subject: 'ann-1',
  connection,
  linkedAt: 0,
  lastUsedAt: 0,
  ...fields
})

interface Scene extends ConnectApp {
  users: ReturnType<typeof memoryUserStore>
  ann: User
}

/** Acme manages `acme.example`; the other connection takes anybody. */
async function scene(
  t: Test,
  {
    username,
    email = username,
    says = WORK,
    links = []
  }: {
    username: string
    email?: string
    /** The address that both providers verified. */
    says?: string | null
    links?: LinkedIdentity[]
  }
): Promise<Scene> {
  const users = memoryUserStore()
  const hash = await fastHasher().hash(PASSWORD, { memoryCost: 64, timeCost: 1, parallelism: 1 })
  const ann = await users.create({ username, email, emailVerified: true, passwordHash: hash })
  for (const link of links) await users.linkIdentity(ann.id, link)
  const fake = fakeUpstream({ subject: 'ann-1', ...(says === null ? {} : { email: says }) })
  const other = fakeUpstream({
    subject: 'ann-1',
    issuer: OTHER,
    ...(says === null ? {} : { email: says }),
    emailAuthoritative: true
  })
  const test = await connectApp(t, {
    users,
    fake,
    factors: memoryFactorStore(),
    emailSignIn: {},
    registration: { username: 'any', fields: Type.Object({ email: Type.Optional(Type.String({ format: 'email' })) }) },
    clients: [{ clientId: 'phone', grantTypes: [TOKEN_EXCHANGE_GRANT] }],
    connections: [
      fakeConnection(fake, { domains: ['acme.example'], enforce: true, audiences: [APP] }),
      fakeConnection(other, { id: 'other', name: 'Other', issuer: OTHER, linking: 'verified-email', audiences: [APP] })
    ]
  })
  return { ...test, users, ann }
}

/** Signs in through the connection in a new browser, and returns the id of the signed-in user. */
async function through(test: Scene, id: 'acme' | 'other'): Promise<string | null> {
  const browser = testBrowser(test.app)
  const { reply } = await test.start('', browser, id)
  const state = new URL(reply.headers.location ?? '').searchParams.get('state') ?? ''
  await test.back(state, { code: 'good' }, browser, id)
  return await test.who(browser)
}

const exchange = async (test: Scene, connection: 'acme' | 'other') =>
  await test.app.inject({
    method: 'POST',
    url: '/auth/token',
    payload: {
      grant_type: TOKEN_EXCHANGE_GRANT,
      client_id: 'phone',
      subject_token: `good ${connection}`,
      subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
      connection,
      nonce: 'a nonce'
    }
  })

for (const username of [WORK, HOME, 'ann'])
  for (const email of [WORK, HOME])
    for (const says of [WORK, HOME, null])
      for (const isLinked of [true, false]) {
        // A username that is an address is also the email.
        if (username !== 'ann' && email !== username) continue
        const isManaged = username === WORK || email === WORK
        t.test(
          `lets only Acme sign in accounts that it manages: ${JSON.stringify({ username, email, says, isLinked })}`,
          async (t) => {
            const test = await scene(t, {
              username,
              email,
              says,
              links: isLinked ? [linkTo('acme'), linkTo('other')] : []
            })
            const count = async (): Promise<number> => (await test.users.listIdentities(test.ann.id)).length
            const linked = await count()
            const byOther = await through(test, 'other')
            if ((isLinked && isManaged) || says === WORK) {
              t.equal(byOther, null, 'not the other connection')
              t.equal((await exchange(test, 'other')).statusCode, 400, 'nor its ID token')
              t.equal(await count(), linked, 'nor does it link anything')
              t.match(
                test.payloads('connection_failed').map(({ reason }) => reason),
                ['email', 'email']
              )
            } else {
              t.not(byOther, null, 'the other connection')
              t.equal(byOther === test.ann.id && isManaged, false, 'as another user than the one whom Acme manages')
            }
            if (isLinked && says === WORK) t.equal(await through(test, 'acme'), test.ann.id, 'Acme does')
            const isIn = await signIn(test.app, username).then(
              () => true,
              () => false
            )
            t.equal(isIn, !isManaged, 'the password')
          }
        )
      }

t.test('rejects a passkey for an account that has an address of a domain that Acme manages', async (t) => {
  const test = await scene(t, { username: 'ann', email: HOME, links: [linkTo('acme')] })
  const { app, ann } = test
  const soft = softPasskey({ origin: ISSUER })
  const headers = await authAs(app, { id: ann.id }, { acr: 'phr' })
  const { options } = (
    await app.inject({ method: 'POST', url: '/auth/factors/passkeys/options', headers, payload: {} })
  ).json()
  await app.inject({
    method: 'POST',
    url: '/auth/factors/passkeys',
    headers,
    payload: { credential: soft.create(options) }
  })
  const byPasskey = async (): Promise<number> => {
    const { options: challenge } = (await app.inject({ url: '/auth/passkey-challenge' })).json()
    const browser = testBrowser(app)
    return (await browser.submit('/auth/login', { credential: JSON.stringify(soft.get(challenge)) })).statusCode
  }
  t.equal(await byPasskey(), 303, 'before')
  await test.users.update(ann.id, { email: WORK })
  t.not(await byPasskey(), 303, 'after the account has an address of the domain')
})

t.test('does not count a link to a former issuer as a way to sign in', async (t) => {
  const test = await scene(t, {
    username: HOME,
    links: [linkTo('other', { issuer: 'https://former.example.com' }), linkTo('other', { subject: 'ann-2' })]
  })
  await test.users.setPasswordHash(test.ann.id, 'not set')
  const users = test.users
  const { app, ann } = test
  const dead = linkIdOf(linkTo('other', { issuer: 'https://former.example.com' }))
  const live = linkIdOf(linkTo('other', { subject: 'ann-2' }))
  await users.update(ann.id, { email: 'nobody', emailVerified: false })
  t.equal(await app.authority.unlinkIdentity(ann.id, live), 'unlinked', 'beside a password')
  await users.linkIdentity(ann.id, linkTo('other', { subject: 'ann-2' }))
  const bob = await users.create({ username: 'bob', passwordHash: null })
  await users.linkIdentity(bob.id, linkTo('other', { issuer: 'https://former.example.com', subject: 'bob' }))
  await users.linkIdentity(bob.id, linkTo('other', { subject: 'bob' }))
  t.equal(
    await app.authority.unlinkIdentity(bob.id, linkIdOf(linkTo('other', { subject: 'bob' }))),
    'last_sign_in_method'
  )
  t.equal(
    await app.authority.unlinkIdentity(
      bob.id,
      linkIdOf(linkTo('other', { issuer: 'https://former.example.com', subject: 'bob' }))
    ),
    'unlinked'
  )
  t.equal(await app.authority.unlinkIdentity(ann.id, dead), 'unlinked')
})

for (const username of ['ann', HOME])
  t.test(`links the account ${username} with an address of Acme at the first sign-in through Acme`, async (t) => {
    const test = await scene(t, { username, email: WORK })
    const before = testBrowser(test.app)
    await before.submit('/auth/login', { username, password: PASSWORD })
    t.equal(await test.who(before), null, 'the password opens it no more')
    t.equal(await through(test, 'acme'), test.ann.id)
    t.match(await test.users.listIdentities(test.ann.id), [{ connection: 'acme', subject: 'ann-1' }])
    t.match(test.payloads('identity_linked'), [{ userId: test.ann.id, connection: 'acme' }])
    t.equal(await test.users.findByUsername(WORK), null, 'and no second account is made')
    t.equal(await through(test, 'acme'), test.ann.id, 'once more')
  })

t.test('links the account that confirmed a shared address, and neither account if both did', async (t) => {
  const test = await scene(t, { username: 'ann', email: WORK })
  const bob = await test.users.create({ username: 'bob', email: WORK, emailVerified: false, passwordHash: null })
  t.equal(await through(test, 'acme'), test.ann.id)
  t.strictSame(await test.users.listIdentities(bob.id), [])

  const other = await scene(t, { username: 'ann', email: WORK })
  const eve = await other.users.create({ username: 'eve', email: WORK, emailVerified: true, passwordHash: null })
  const made = await through(other, 'acme')
  t.notOk([null, other.ann.id, eve.id].includes(made), 'nobody can tell which is meant')
})

t.test('keeps the managing link of an account with an old password hash', async (t) => {
  const test = await scene(t, { username: WORK, links: [linkTo('acme'), linkTo('other')] })
  const { app, ann } = test
  const headers = await authAs(app, { id: ann.id }, { acr: 'phr' })
  const remove = async (connection: 'acme' | 'other') =>
    await app.inject({ method: 'DELETE', url: `/auth/connections/${linkIdOf(linkTo(connection))}`, headers })
  const kept = await remove('acme')
  t.equal(kept.statusCode, 409)
  t.equal(kept.json().error, 'last_sign_in_method')
  t.equal((await remove('other')).statusCode, 204, 'the link of another connection opens nothing, and goes')
  t.match(await test.users.listIdentities(ann.id), [{ connection: 'acme' }])
})

t.test('rejects linking an identity of another connection to a managed account', async (t) => {
  const test = await scene(t, { username: WORK, says: HOME, links: [linkTo('acme')] })
  test.fake.person = { subject: 'ann-1', email: WORK }
  await test.through()
  t.equal(await test.who(), test.ann.id)
  const page = await test.browser.submit('/auth/connect/other/link')
  const state = new URL(onward(page)).searchParams.get('state') ?? ''
  const reply = await test.back(state, { code: 'good' }, test.browser, 'other')
  t.equal(reply.statusCode, 403)
  t.match(await test.users.listIdentities(test.ann.id), [{ connection: 'acme' }])
})

t.test('rejects a registration with a username or an email that Acme manages', async (t) => {
  const test = await scene(t, { username: HOME })
  for (const payload of [{ username: 'new@acme.example' }, { username: 'new', email: 'new@acme.example' }]) {
    const reply = await test.app.inject({
      method: 'POST',
      url: '/auth/register',
      payload: { ...payload, password: PASSWORD }
    })
    t.equal(reply.statusCode, 400, JSON.stringify(payload))
    t.match(reply.json().error_description, /in through a connection/)
    t.equal(await test.users.findByUsername(payload.username), null)
  }
})

t.test('offers no change of address to a managed account, and rejects the request', async (t) => {
  const test = await scene(t, { username: WORK, links: [linkTo('acme')] })
  await test.through()
  t.equal(await test.who(), test.ann.id)
  const page = await test.browser.get('/auth/account/email')
  t.equal(page.statusCode, 200)
  t.notMatch(page.body, /name="email"/)
  const headers = await authAs(test.app, { id: test.ann.id }, { acr: 'phr' })
  const reply = await test.app.inject({ method: 'POST', url: '/auth/email', headers, payload: { email: HOME } })
  t.equal(reply.statusCode, 400)
  t.equal((await test.users.findById(test.ann.id))?.email, WORK)
})
