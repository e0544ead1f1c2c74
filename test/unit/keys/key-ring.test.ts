import t from 'tap'
import { jwtEngine } from '../../../lib/adapters/jwt/jwt-engine.ts'
import { memoryKeyStore } from '../../../lib/adapters/memory/key-store.ts'
import { aesSealer } from '../../../lib/adapters/node/sealer.ts'
import { type KeyRing, managedKeyRing } from '../../../lib/keys/key-ring.ts'
import type { KeyStore } from '../../../lib/ports/key-store.ts'
import { delayed, steppedClock, type SteppedClock } from '../../../lib/testing/index.ts'

const DAY = 86_400_000
const MINUTE = 60_000

function ring (clock: SteppedClock, store: KeyStore, secrets: [string, ...string[]] = ['s'.repeat(32)], errors: unknown[] = []): KeyRing {
  return managedKeyRing(
    { alg: 'ES256', rotateEveryMs: 90 * DAY, announceMs: DAY, tokenLifetimeMs: 15 * MINUTE, pollMs: MINUTE },
    { clock, engine: jwtEngine, store, sealer: aesSealer(secrets), onError: (error) => { errors.push(error) } }
  )
}

/** Steps, and lets the ring finish what its timer started. */
async function step (clock: SteppedClock, ms: number): Promise<void> {
  clock.step(ms)
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => { setImmediate(resolve) })
}

const kids = (one: KeyRing): unknown[] => one.publicJwks().map(({ kid }) => kid)

t.test('ASVS-11.1.1 a key is announced before it signs and kept until its last token is dead', async (t) => {
  const clock = steppedClock()
  const one = ring(clock, memoryKeyStore())
  t.teardown(() => { one.close() })
  await one.ready()
  const first = one.signingKey()
  t.same(kids(one), [first.kid])
  await step(clock, 89 * DAY - MINUTE)
  t.same(kids(one), [first.kid], 'a minute before the announcement')
  await step(clock, MINUTE)
  await step(clock, MINUTE)
  t.equal(kids(one).length, 2, 'announced')
  t.equal(one.signingKey().kid, first.kid, 'but the first still signs')
  await step(clock, DAY - MINUTE - 1)
  t.equal(one.signingKey().kid, first.kid, 'to the last millisecond')
  const lastToken = one.signingKey().sign({ sub: 'u' })
  await step(clock, 1)
  const second = one.signingKey()
  t.not(second.kid, first.kid)
  await step(clock, 15 * MINUTE - 1)
  t.same(one.find(first.kid)?.verify(lastToken) !== undefined, true, 'its last token still verifies')
  await step(clock, 2 * MINUTE)
  t.same(kids(one), [second.kid], 'then it is gone')
})

t.test('ten instances that start together make one key; the next one too', async (t) => {
  const clock = steppedClock()
  const store = delayed(memoryKeyStore())
  const rings = Array.from({ length: 10 }, () => ring(clock, store))
  t.teardown(() => { for (const one of rings) one.close() })
  await Promise.all(rings.map(async (one) => { await one.ready() }))
  t.equal((await store.list()).length, 1)
  t.equal(new Set(rings.map((one) => one.signingKey().kid)).size, 1)
  clock.step(89 * DAY + MINUTE)
  for (let turn = 0; turn < 2000 && rings.some((one) => kids(one).length < 2); turn++) await new Promise((resolve) => { setImmediate(resolve) })
  t.equal((await store.list()).length, 2)
  t.equal(new Set(rings.map((one) => JSON.stringify(kids(one)))).size, 1)
})

t.test('ASVS-13.3.4 ASVS-11.3.3 a restart keeps the key; a rotated secret opens it; a foreign one does not, and says so', async (t) => {
  const clock = steppedClock()
  const store = memoryKeyStore()
  const first = ring(clock, store)
  await first.ready()
  const { kid } = first.signingKey()
  first.close()
  t.notMatch(JSON.stringify(await store.list()), /"d"/, 'the private half is sealed')
  const rotated = ring(clock, store, ['n'.repeat(32), 's'.repeat(32)])
  await rotated.ready()
  t.equal(rotated.signingKey().kid, kid)
  rotated.close()
  const errors: unknown[] = []
  const foreign = ring(clock, store, ['x'.repeat(32)], errors)
  await foreign.ready()
  t.not(foreign.signingKey().kid, kid, 'it makes a key of its own')
  t.match(String(errors[0]), /can't be opened/)
  foreign.close()
})

t.test('a store that is down: no key is 503, and it recovers by itself', async (t) => {
  const clock = steppedClock()
  const store = memoryKeyStore()
  let down = true
  const flaky: KeyStore = { ...store, list: async () => { if (down) throw new Error('down'); return await store.list() } }
  const one = ring(clock, flaky)
  t.teardown(() => { one.close() })
  await t.rejects(one.ready())
  t.throws(() => one.signingKey(), { statusCode: 503 } as unknown as Error)
  down = false
  await step(clock, MINUTE)
  await one.ready()
  t.ok(one.signingKey())
})

t.test('ADV-CVE-2026-48524 DOS-jwks a flood of unknown kids asks the store once in five seconds', async (t) => {
  const clock = steppedClock()
  const store = memoryKeyStore()
  let lists = 0
  const one = ring(clock, { ...store, list: async () => { lists++; return await store.list() } })
  t.teardown(() => { one.close() })
  await one.ready()
  const before = lists
  clock.step(6000)
  await Promise.all(Array.from({ length: 100 }, async () => { await one.refresh() }))
  t.ok(lists - before <= 2, `${lists - before} look-ups`)
})

t.test('ASVS-11.2.3 R8725-3.5 weak and malformed keys are refused', async (t) => {
  for (const jwk of [{}, { kty: 'EC' }, { kty: 'EC', crv: 'P-256', alg: 'ES256', x: 'x', y: 'y' }, { kty: 'oct', k: 'x', alg: 'HS256' }, { ...await jwtEngine.generate('ES256'), alg: 'EdDSA' }, { ...await jwtEngine.generate('ES256'), alg: 'none' }]) {
    await t.rejects(jwtEngine.load(jwk), JSON.stringify(jwk).slice(0, 60))
  }
})
