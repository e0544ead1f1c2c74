/** Proofs of an account's address, and the sign-ins that the owner of the mailbox ends. */
import t from '../../support/tap.ts'
import { memoryFactorStore, memoryUserStore } from '../../../lib/index.ts'
import { fastHasher } from '../../../lib/testing/doubles.ts'
import { bearer, PASSWORD } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { PROVIDER } from '../../support/fake-upstream.ts'
import { secondFactorOf } from '../../support/second-factor.ts'
import { connectApp, type ConnectApp, onward } from './support.ts'

const ANN = 'ann@example.com'
const NEXT_PASSWORD = 'a quite different phrase'
const EVE = { issuer: 'https://eve.example', subject: 'eve', connection: 'acme', linkedAt: 0, lastUsedAt: 0 }

async function scene(t: Parameters<typeof connectApp>[0], options: Parameters<typeof connectApp>[1] = {}) {
  const users = memoryUserStore()
  const factors = memoryFactorStore()
  const test = await connectApp(t, { users, factors, registration: { username: 'any' }, ...options })
  return { ...test, users, factors }
}

async function reset(test: ConnectApp, password = NEXT_PASSWORD): Promise<number> {
  await test.app.inject({ method: 'POST', url: '/auth/password-reset', payload: { username: ANN } })
  const { token } = await test.messages.next('password_reset')
  const payload = { token, password }
  return (await test.app.inject({ method: 'POST', url: '/auth/password-reset/confirm', payload })).statusCode
}

for (const emailAuthoritative of [false, true])
  t.test(
    `keeps links and factors at a reset only if the provider is authoritative for the email: ${emailAuthoritative}`,
    async (t) => {
      const test = await scene(t)
      test.fake.person = { subject: 'ann-1', email: ANN, emailAuthoritative }
      await test.through()
      const id = (await test.who()) ?? ''
      t.match(await test.users.findById(id), { email: ANN, emailVerified: true })
      const { kind } = await secondFactorOf(test, test.browser)
      const count = async (): Promise<number> => (await test.app.authority.factors(id)).factors.length
      t.equal(await count(), 1)
      t.equal(await reset(test), 204)
      const links = await test.users.listIdentities(id)
      t.strictSame([links.length, await count()], emailAuthoritative ? [1, 1] : [0, 0])
      t.match(
        test.payloads('factor_removed').map(({ by }) => by),
        emailAuthoritative ? [] : ['mailbox']
      )
      if (!emailAuthoritative)
        t.match(await test.messages.next('factor_removed'), { factor: kind, user: { email: ANN } })
      const stranger = testBrowser(test.app)
      await test.through('', stranger)
      t.equal(await test.who(stranger), null)
      // The address is proved now, so a second reset ends nothing that was set up meanwhile.
      await test.users.linkIdentity(id, { ...EVE, linkedAt: test.clock.now() })
      test.clock.step(400_000)
      t.equal(await reset(test, `${NEXT_PASSWORD} again`), 204)
      t.equal((await test.users.listIdentities(id)).length, emailAuthoritative ? 2 : 1)
    }
  )

const hash = async (): Promise<string> =>
  await fastHasher().hash(PASSWORD, { memoryCost: 64, timeCost: 1, parallelism: 1 })

for (const { proof, at, outcome, password } of [
  { proof: 'a claim', at: 0, outcome: 'confirm', password: true },
  { proof: 'a proof after the password', at: 1, outcome: 'linked', password: false },
  { proof: 'the word of the host', at: undefined, outcome: 'linked', password: true }
] as const)
  t.test(`with an authoritative provider, links an account only by an address that is proved: ${proof}`, async (t) => {
    const test = await scene(t, { connection: { linking: 'verified-email' } })
    const ann = await test.users.create({
      username: ANN,
      email: ANN,
      emailVerified: true,
      passwordHash: await hash(),
      ...(at === undefined ? {} : { emailProvedAt: at })
    })
    await test.users.linkIdentity(ann.id, { ...EVE, provisional: true })
    await test.factors.addTotp({
      userId: ann.id,
      limit: 10,
      factor: {
        id: 'eve',
        sealedSecret: 'sealed',
        lastStep: 0,
        failures: 0,
        knownFailures: 0,
        disabled: false,
        name: null,
        createdAt: 0,
        lastUsedAt: null,
        provisional: true
      }
    })
    const { access_token: token } = await test.app.authority.issueTokens(ann.id)
    test.fake.person = { subject: 'ann-1', email: ANN, emailAuthoritative: true }
    if (outcome === 'linked') await test.factors.removeProvisional(ann.id)
    const back = await test.through()
    if (outcome === 'confirm') {
      t.equal(onward(back), '/auth/connect/confirm')
      t.equal((await test.users.listIdentities(ann.id)).length, 1)
      return
    }
    t.equal(await test.who(), ann.id)
    t.match(await test.users.listIdentities(ann.id), [{ issuer: PROVIDER, subject: 'ann-1' }])
    t.equal((await test.users.listIdentities(ann.id)).length, 1, 'the provisional link is gone')
    t.equal((await test.app.inject({ url: '/me', headers: bearer(token) })).statusCode, 401, 'tokens end')
    const signIn = { username: ANN, password: PASSWORD, grant_type: 'password' }
    const reply = await test.app.inject({ method: 'POST', url: '/auth/token', payload: signIn })
    t.equal(reply.statusCode, password ? 200 : 400, 'a password from before the proof ends')
  })
