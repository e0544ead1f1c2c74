/** Key management by an operator while a key ring runs. */
import t from '../../support/tap.ts'
import { jwtEngine } from '../../../lib/adapters/jwt/jwt-engine.ts'
import { memoryState } from '../../../lib/adapters/memory/record-store.ts'
import { aesSealer } from '../../../lib/adapters/node/sealer.ts'
import { type KeyManagement, manageKeys } from '../../../lib/keys/manage-keys.ts'
import { managedKeyRing } from '../../../lib/keys/managed-key-ring.ts'
import type { KeyRing } from '../../../lib/keys/key-ring.ts'
import type { KeyStore, StoredKey } from '../../../lib/ports/state.ts'
import { steppedClock } from '../../../lib/testing/index.ts'
import { settled, watchKeys } from '../../support/settled.ts'

const MINUTE = 60_000
const DAY = 1440 * MINUTE
const OPTIONS = {
  algs: ['ES256'] as [string, ...string[]],
  rotateEveryMs: 90 * DAY,
  announceMs: DAY,
  tokenLifetimeMs: 15 * MINUTE,
  hintLifetimeMs: 365 * DAY,
  pollMs: MINUTE
}

t.before(() => {
  t.teardown(watchKeys())
})

interface World {
  store: KeyStore
  ring: KeyRing
  keys: KeyManagement
  /** The changes that the management told of. */
  changes: string[]
  step(ms: number): Promise<void>
  /** Management over a store with some calls replaced. */
  over(changes: Partial<KeyStore>, secret?: string): KeyManagement
}

async function world(t: { teardown(work: () => void): void }): Promise<World> {
  const clock = steppedClock()
  const store = memoryState().keys
  const changes: string[] = []
  const deps = {
    clock,
    engine: jwtEngine,
    store,
    sealer: aesSealer(['s'.repeat(32)]),
    onChange: (change: string, { sequence }: StoredKey) => {
      changes.push(`${change} ${sequence}`)
    }
  }
  const ring = managedKeyRing(OPTIONS, { ...deps, onChange() {}, onError() {} })
  t.teardown(() => {
    ring.close()
  })
  ring.begin()
  await ring.ready()
  return {
    store,
    ring,
    keys: manageKeys(OPTIONS, deps),
    changes,
    async step(ms) {
      clock.step(ms)
      await settled()
    },
    over: (changes, secret = 's') =>
      manageKeys(OPTIONS, { ...deps, sealer: aesSealer([secret.repeat(32)]), store: { ...store, ...changes } })
  }
}

const states = async (keys: KeyManagement): Promise<string[]> => (await keys.list()).map(({ state }) => state)

t.test('reports the state of each key from its announcement to its end', async (t) => {
  const { keys, step, over } = await world(t)
  t.strictSame(await states(keys), ['signs'])
  t.strictSame(await states(over({}, 'x')), ['unreadable'])
  const [next] = await keys.rotate()
  t.strictSame(await states(keys), ['signs', 'announced'])
  await step(DAY)
  t.strictSame(await states(keys), ['published', 'signs'])
  const [former, signing] = await keys.list()
  t.equal(signing?.kid, next?.kid)
  t.equal(former?.leavesAt, (next?.signsFrom ?? 0) + 25 * MINUTE, 'the life of a token and ten minutes later')
  await step(26 * MINUTE)
  t.strictSame(await states(keys), ['former', 'signs'])
})

t.test('announces one key for parallel calls of rotate', async (t) => {
  const { keys } = await world(t)
  const rotated = await Promise.all([keys.rotate(), keys.rotate(), keys.rotate()])
  t.equal(new Set(rotated.flat().map(({ kid }) => kid)).size, 1)
  t.strictSame(await keys.rotate(), rotated[0])
  t.equal((await keys.list()).length, 2)
})

t.test('replaces a retired signing key by the announced key, which signs before its planned time', async (t) => {
  const { keys, ring, step } = await world(t)
  const { kid } = ring.signingKey()
  const [next] = await keys.rotate()
  t.strictSame(await Promise.all([keys.retire(kid), keys.retire(kid)]), [true, true], 'twice at once')
  t.strictSame(await states(keys), ['signs'], 'no key is left unused')
  t.equal(await keys.retire(kid), false)
  await step(MINUTE)
  t.equal(ring.signingKey().kid, next?.kid)
  await step(DAY)
  t.equal(ring.signingKey().kid, next?.kid, 'also after its time came')
  t.equal(ring.find(kid), undefined)
  t.notOk(ring.publicJwks().some((key) => key.kid === kid))
})

t.test('replaces a retired signing key by a new one if none is announced', async (t) => {
  const { keys, ring, step } = await world(t)
  const { kid } = ring.signingKey()
  await keys.rotate()
  await step(DAY)
  const signing = ring.signingKey().kid
  t.not(signing, kid)
  t.strictSame(await Promise.all([keys.retire(signing), keys.retire(signing)]), [true, true], 'twice at once')
  t.strictSame(await states(keys), ['published', 'signs'], 'the former key signs no more')
  await step(MINUTE)
  t.notOk([kid, signing].includes(ring.signingKey().kid))
})

t.test('replaces a retired signing key by a new one if another former key is still published', async (t) => {
  const { keys, ring, step, changes } = await world(t)
  await keys.rotate()
  await step(DAY)
  const [announced] = await keys.rotate()
  t.strictSame(await states(keys), ['published', 'signs', 'announced'])
  await keys.retire(ring.signingKey().kid)
  t.strictSame(await states(keys), ['published', 'published', 'signs'])
  t.strictSame(changes, ['created 2', 'created 3', 'created 4'], 'tells of each new key')
  await step(MINUTE)
  t.not(ring.signingKey().kid, announced?.kid)
})

t.test('rejects rotate after the store has refused ten new keys', async (t) => {
  const { over, changes } = await world(t)
  const refusing = over({ addIfAbsent: async () => false })
  await t.rejects(refusing.rotate(), { message: /refused 10 new keys of ES256/ })
  t.strictSame(changes, [])
})

t.test('rejects ID token hints of a retired key, even if the instance accepted that key before', async (t) => {
  const { keys, ring, step } = await world(t)
  const { kid } = ring.signingKey()
  await keys.rotate()
  await step(DAY)
  await step(26 * MINUTE)
  t.equal(ring.find(kid), undefined, 'no token of it lives')
  t.ok(await ring.findForHint(kid))
  t.equal(await keys.retire(kid), true)
  await step(MINUTE)
  t.equal(await ring.findForHint(kid), undefined)
})

t.test('keeps a signing key when a retirement crashes at the addition or the removal of a key', async (t) => {
  const { keys, ring, store, over } = await world(t)
  const { kid } = ring.signingKey()
  const crash = async (): Promise<never> => {
    throw new Error('crash')
  }
  await t.rejects(over({ addIfAbsent: crash }).retire(kid))
  t.strictSame(await states(keys), ['signs'])
  await t.rejects(over({ remove: crash }).retire(kid))
  t.strictSame(await states(keys), ['published', 'signs'])
  t.equal(await keys.retire(kid), true)
  t.strictSame(await states(keys), ['signs'])
  t.equal((await store.list()).length, 1)
})

t.test('creates no key when a key of an unused algorithm is retired', async (t) => {
  const { keys, store } = await world(t)
  const [stored] = await store.list()
  await store.addIfAbsent({ ...(stored as StoredKey), kid: 'other', alg: 'ES384' })
  t.strictSame(await states(keys), ['signs', 'published'])
  t.strictSame(await keys.rotate(), [(await keys.list())[1]], 'ES256 alone has a next key')
  const leavesAt = (stored as StoredKey).signsFrom + 91 * DAY + 25 * MINUTE
  t.match((await keys.list())[2], { kid: 'other', leavesAt })
  t.equal(await keys.retire('other'), true)
  t.strictSame(await states(keys), ['signs', 'announced'])
})

t.test('uses the new key of another instance that added its key first', async (t) => {
  const { keys, store, over } = await world(t)
  const [signing] = await store.list()
  let isFirst = true
  const slow = over({
    async addIfAbsent(key: StoredKey) {
      if (isFirst) {
        isFirst = false
        await keys.rotate()
      }
      return await store.addIfAbsent(key)
    }
  })
  await slow.retire(signing?.kid ?? '')
  t.strictSame(
    (await store.list()).map(({ sequence }) => sequence),
    [2]
  )
  t.strictSame(await states(keys), ['signs'])
})
