/** A sign-in through a connection changes nothing of an account before its last factor was proved. */
import t, { type Test } from '../../support/tap.ts'
import { type AuthorityOptions, memoryFactorStore, memoryUserStore, renderMessage } from '../../../lib/index.ts'
import { fastHasher } from '../../../lib/testing/doubles.ts'
import { PASSWORD } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { PROVIDER } from '../../support/fake-upstream.ts'
import { giveSecondFactor } from '../../support/second-factor.ts'
import { connectApp, onward } from './support.ts'

const ANN = 'ann@example.com'

const PASSKEY = {
  id: 'key',
  credentialId: 'bGF0ZQ',
  publicKey: 'a2V5',
  alg: -7,
  signCount: 0,
  transports: [],
  backupEligible: false,
  backedUp: false,
  uvInitialized: true,
  rpId: 'auth.example.com',
  aaguid: null,
  name: null,
  lastUsedAt: null,
  provisional: false
}
const OLD = { issuer: 'https://old.example', subject: 'x', connection: 'old', linkedAt: 0, lastUsedAt: 0 }

async function scene(
  t: Test,
  {
    hasFactor = false,
    emailProvedAt,
    ...options
  }: { hasFactor?: boolean; emailProvedAt?: number } & Partial<AuthorityOptions> & Parameters<typeof connectApp>[1]
) {
  const store = memoryUserStore()
  const writes: string[] = []
  const users = {
    ...store,
    ...Object.fromEntries(
      (['linkIdentity', 'unlinkIdentity', 'update', 'setPasswordHash', 'createWithIdentity'] as const).map((name) => [
        name,
        async (...args: never[]) => {
          writes.push(name)
          return await (store[name] as (...given: never[]) => Promise<unknown>)(...args)
        }
      ])
    )
  } as typeof store
  const hash = await fastHasher().hash(PASSWORD, { memoryCost: 64, timeCost: 1, parallelism: 1 })
  const ann = await store.create({
    username: ANN,
    email: ANN,
    emailVerified: true,
    passwordHash: hash,
    name: 'Ann',
    ...(emailProvedAt === undefined ? {} : { emailProvedAt })
  })
  const test = await connectApp(t, { users, factors: memoryFactorStore(), ...options })
  const factor = hasFactor ? await giveSecondFactor(test, ann.id) : null
  test.fake.person = { subject: 'ann-1', email: ANN, emailAuthoritative: true }
  return {
    ...test,
    users: store,
    ann,
    writes,
    async step(query = '') {
      return await factor?.give(test.browser, query)
    }
  }
}

t.test('links an account by an address only after the second factor', async (t) => {
  const test = await scene(t, { hasFactor: true, connection: { linking: 'verified-email' } })
  const { app, ann, users, writes } = test
  const reply = await test.through('?return_to=/cart')
  t.match(onward(reply), /^\/auth\/second-factor/)
  t.strictSame(writes, [], 'nothing is written before')
  t.strictSame(await users.listIdentities(ann.id), [])
  t.strictSame(test.payloads('identity_linked'), [])
  t.match(await test.step('?return_to=/cart'), { statusCode: 303 })
  t.equal(await test.who(), ann.id)
  t.match(await users.listIdentities(ann.id), [{ issuer: PROVIDER, subject: 'ann-1' }])
  const again = testBrowser(app)
  await test.through('', again)
  t.match(test.payloads('identity_linked').length, 1)
})

t.test("updates the user from the provider's profile only after the second factor", async (t) => {
  const test = await scene(t, { hasFactor: true, connection: { sync: 'always', profile: () => ({ name: 'Mallory' }) } })
  const { ann, users, writes } = test
  await users.linkIdentity(ann.id, {
    issuer: PROVIDER,
    subject: 'ann-1',
    connection: 'acme',
    linkedAt: 0,
    lastUsedAt: 0
  })
  await test.through()
  t.strictSame(writes, [])
  t.equal((await users.findById(ann.id))?.name, 'Ann')
  await test.step()
  t.equal(await test.who(), ann.id)
  t.equal((await users.findById(ann.id))?.name, 'Mallory')
})

for (const hasFactor of [true, false])
  t.test(`updates lastUsedAt only when the sign-in completes: second factor ${hasFactor}`, async (t) => {
    const test = await scene(t, { hasFactor })
    const { ann, users, clock } = test
    await users.linkIdentity(ann.id, { ...OLD, issuer: PROVIDER, subject: 'ann-1', connection: 'acme' })
    const noted = async () => {
      await new Promise(setImmediate)
      return (await users.listIdentities(ann.id)).map(({ lastUsedAt, email }) => ({ lastUsedAt, email }))
    }
    await test.through()
    if (hasFactor) {
      t.strictSame(await noted(), [{ lastUsedAt: 0, email: undefined }], 'half a sign-in is no use')
      await test.step()
    }
    t.equal(await test.who(), ann.id)
    t.strictSame(await noted(), [{ lastUsedAt: clock.now(), email: ANN }])
  })

t.test('removes the old link, passkey and password at a sign-in through an enforced connection', async (t) => {
  const factors = memoryFactorStore()
  const test = await scene(t, { factors, connection: { domains: ['example.com'], enforce: true } })
  const { ann, users, clock } = test
  await users.linkIdentity(ann.id, OLD)
  await factors.addPasskey({ userId: ann.id, factor: { ...PASSKEY, createdAt: clock.now() }, limit: 10 })
  const before = (await users.findById(ann.id))?.passwordHash
  await test.through()
  t.equal(await test.who(), ann.id)
  t.match(await users.listIdentities(ann.id), [{ subject: 'ann-1', connection: 'acme' }])
  t.equal((await users.listIdentities(ann.id)).length, 1, 'the other link is gone')
  t.not((await users.findById(ann.id))?.passwordHash, before, 'and the password')
  for (const [name, payload] of Object.entries({
    password_changed: { sid: null, by: 'identity_linked' },
    identity_unlinked: { connection: OLD.connection, by: 'identity_linked' },
    factor_removed: { factorId: 'key', kind: 'passkey', by: 'mailbox' }
  })) {
    t.match(test.payloads(name), [{ userId: ann.id, ...payload }])
    t.equal(test.payloads(name).length, 1, name)
  }
  const message = await test.messages.next('identity_linked')
  t.match(message, { user: { email: ANN }, tookOver: true })
  t.match(renderMessage(message, { title: '' }).text, /sign in only through it/)
  t.strictSame(
    test.messages.messages.map(({ kind }) => kind).filter((kind) => /factor|password/.test(kind)),
    [],
    'one message says it all'
  )
})

t.test('replaces the password once when an enforced connection links a proved address', async (t) => {
  const test = await scene(t, { emailProvedAt: 1, connection: { domains: ['example.com'], enforce: true } })
  t.equal(onward(await test.through('?return_to=/cart')), '/cart')
  t.equal(await test.who(), test.ann.id)
  t.equal(test.writes.filter((write) => write === 'setPasswordHash').length, 1)
  t.match(await test.users.listIdentities(test.ann.id), [{ subject: 'ann-1', connection: 'acme' }])
})

t.test('answers 503 and links nothing if the password changes meanwhile, and links at a retry', async (t) => {
  const test = await scene(t, { connection: { domains: ['example.com'], enforce: true } })
  const { users, ann } = test
  const set = users.setPasswordHash.bind(users)
  users.setPasswordHash = async (...given) => {
    users.setPasswordHash = set
    await set(ann.id, 'the hash of another password')
    return await set(...given)
  }
  t.equal((await test.through()).statusCode, 503)
  t.equal(await test.who(), null)
  t.strictSame(await users.listIdentities(ann.id), [])
  await test.through()
  t.equal(await test.who(), ann.id)
  t.not((await users.findById(ann.id))?.passwordHash, 'the hash of another password')
})

t.test('removes a passkey that an earlier session adds during the take-over', async (t) => {
  const factors = memoryFactorStore()
  const test = await scene(t, { factors, connection: { domains: ['example.com'], enforce: true } })
  const { users, ann, clock } = test
  const link = users.linkIdentity.bind(users)
  users.linkIdentity = async (...given) => {
    const added = await factors.addPasskey({
      userId: ann.id,
      factor: { ...PASSKEY, createdAt: clock.now() },
      limit: 10
    })
    t.equal(added.outcome, 'added')
    return await link(...given)
  }
  await test.through()
  t.equal(await test.who(), ann.id)
  t.strictSame((await factors.findFactors(ann.id)).passkeys, [])
})

for (const isStored of [true, false])
  t.test(`completes a take-over although the answer of linkIdentity is lost: stored ${isStored}`, async (t) => {
    const factors = memoryFactorStore()
    const test = await scene(t, { factors, connection: { domains: ['example.com'], enforce: true } })
    const { users, ann, clock } = test
    await factors.addPasskey({ userId: ann.id, factor: { ...PASSKEY, createdAt: clock.now() }, limit: 10 })
    await users.linkIdentity(ann.id, { ...OLD, issuer: PROVIDER, connection: 'acme' })
    await users.linkIdentity(ann.id, OLD)
    const link = users.linkIdentity.bind(users)
    users.linkIdentity = async (...given) => {
      users.linkIdentity = link
      if (isStored) await link(...given)
      throw Object.assign(new Error('the server is gone'), { code: 'ECONNREFUSED' })
    }
    t.equal((await test.through()).statusCode, 503)
    t.equal(await test.who(), null)
    t.strictSame((await factors.findFactors(ann.id)).passkeys, [], 'no passkey of before')
    t.match(
      (await users.listIdentities(ann.id)).map(({ subject }) => subject),
      isStored ? ['ann-1'] : [],
      'no link of before'
    )
    if (isStored) t.match(await test.messages.next('identity_linked'), { tookOver: true })
    clock.step(1)
    await test.through()
    t.equal(await test.who(), ann.id)
    for (const ms of [1_000, 10_000]) {
      clock.step(ms)
      await new Promise(setImmediate)
    }
    await test.app.close()
    t.match(
      (await users.listIdentities(ann.id)).map(({ subject }) => subject),
      ['ann-1']
    )
    t.equal(test.payloads('identity_linked').length, 1, 'the user is told once')
    t.equal(test.messages.messages.filter(({ kind }) => kind === 'identity_linked').length, 1)
  })

t.test('signs 50 browsers in during parallel take-overs', async (t) => {
  const test = await scene(t, { connection: { domains: ['example.com'], enforce: true } })
  const { app, users, ann, writes } = test
  const browsers = Array.from({ length: 50 }, () => testBrowser(app))
  const replies = await Promise.all(browsers.map(async (browser) => await test.through('', browser)))
  t.strictSame([...new Set(replies.map(({ statusCode }) => statusCode))], [303])
  const signedIn = await Promise.all(browsers.map(async (browser) => await test.who(browser)))
  t.strictSame([...new Set(signedIn)], [ann.id])
  t.equal(writes.filter((write) => write === 'setPasswordHash').length, 1)
  t.equal((await users.listIdentities(ann.id)).length, 1)
  t.equal(test.payloads('identity_linked').length, 1)
})

t.test('removes the authenticator app of an earlier owner at a take-over, and does not ask for it', async (t) => {
  const factors = memoryFactorStore()
  const test = await scene(t, {
    emailProvedAt: 0,
    factors,
    connection: { domains: ['example.com'], enforce: true }
  })
  const factor = { id: 'theirs', sealedSecret: 'sealed', lastStep: 0, failures: 0, knownFailures: 0, disabled: false }
  const times = { name: null, createdAt: 0, lastUsedAt: null }
  await factors.addTotp({ userId: test.ann.id, factor: { ...factor, ...times, provisional: true }, limit: 3 })
  await test.through()
  t.equal(await test.who(), test.ann.id)
  t.same((await factors.findFactors(test.ann.id)).totp, [])
  t.match(await test.messages.next('factor_removed'), { user: { email: ANN } })
})

for (const linking of ['confirm', 'never'] as const)
  t.test(`accepts the password of an unlinked account on the sign-in page of a domain: ${linking}`, async (t) => {
    const test = await scene(t, { connection: { domains: ['example.com'], linking } })
    const first = await test.browser.submit('/auth/login', { username: ANN, password: '' })
    t.match(onward(first), '/auth/connect/acme', 'without a password it leads to the connection')
    const back = await test.through()
    if (linking === 'confirm') t.equal(onward(back), '/auth/connect/confirm')
    else t.equal(back.statusCode, 403)
    const reply = await test.browser.submit('/auth/login', { username: ANN, password: PASSWORD })
    t.equal(reply.statusCode, 303)
    t.equal(await test.who(), test.ann.id)
  })
