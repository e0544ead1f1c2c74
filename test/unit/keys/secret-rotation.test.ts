/**
 * The rotation of the option `secret` in docs/deployment.md while instances run: its steps, and the days to wait.
 */
import { readFileSync } from 'node:fs'
import t from '../../support/tap.ts'
import { jwtEngine } from '../../../lib/adapters/jwt/jwt-engine.ts'
import { memoryState } from '../../../lib/adapters/memory/record-store.ts'
import { aesSealer } from '../../../lib/adapters/node/sealer.ts'
import type { KeyRing } from '../../../lib/keys/key-ring.ts'
import { managedKeyRing } from '../../../lib/keys/managed-key-ring.ts'
import type { JsonWebKeyObject } from '../../../lib/ports/cryptography.ts'
import type { KeyStore } from '../../../lib/ports/state.ts'
import { steppedClock, type SteppedClock } from '../../../lib/testing/index.ts'

const DAY = 86_400_000
const OLD = 'o'.repeat(32)
const NEW = 'n'.repeat(32)

// Generate keys in advance, because a thread of the pool finishes a key some time after a step of the clock.
const made: JsonWebKeyObject[] = await Promise.all(
  Array.from({ length: 40 }, async () => await jwtEngine.generate('ES256'))
)

interface Fleet {
  clock: SteppedClock
  store: KeyStore
}
interface Instance {
  ring: KeyRing
  errors: unknown[]
}

async function instance(secrets: [string, ...string[]], { clock, store }: Fleet): Promise<Instance> {
  const errors: unknown[] = []
  const ring = managedKeyRing(
    {
      algs: ['ES256'],
      rotateEveryMs: 90 * DAY,
      announceMs: DAY,
      tokenLifetimeMs: DAY,
      hintLifetimeMs: 365 * 86_400_000,
      pollMs: 60_000
    },
    {
      clock,
      store,
      engine: { ...jwtEngine, generate: async () => made.pop() ?? (await jwtEngine.generate('ES256')) },
      sealer: aesSealer(secrets),
      onChange() {},
      onError: (error) => {
        errors.push(error)
      }
    }
  )
  ring.begin()
  await ring.ready()
  return { ring, errors }
}

async function pass(days: number, { clock }: Fleet): Promise<void> {
  for (let day = 0; day < days; day++) {
    clock.step(DAY)
    for (let turn = 0; turn < 20; turn++)
      await new Promise((resolve) => {
        setImmediate(resolve)
      })
  }
}

const fleet = (): Fleet => ({ clock: steppedClock(), store: memoryState().keys })

/** A store that refuses keys after the first, so that only other instances add them. */
const secondTo = (all: Fleet): Fleet => ({
  ...all,
  store: {
    ...all.store,
    addIfAbsent: async (key) => (await all.store.list()).length === 0 && (await all.store.addIfAbsent(key))
  }
})

/** The errors of an instance with the older and one with the newer secrets that run together for 92 days. */
async function complaints(older: [string, ...string[]], newer: [string, ...string[]]): Promise<unknown[]> {
  const all = fleet()
  const one = await instance(older, secondTo(all))
  const other = await instance(newer, all)
  await pass(92, all)
  t.ok(
    (await all.store.list()).some(({ sequence }) => sequence > 1),
    'a key was made meanwhile'
  )
  for (const { ring } of [one, other]) ring.close()
  return [...one.errors, ...other.errors]
}

// covers ASVS-13.3.4
t.test('keeps all keys readable for parallel instances in each step of a secret rotation', async (t) => {
  t.same(await complaints([OLD], [OLD, NEW]), [])
  t.same(await complaints([OLD, NEW], [NEW, OLD]), [])
  t.same(await complaints([NEW, OLD], [NEW]), [])
})

// covers ASVS-13.3.4
t.test('reports an unreadable key when the secret is rotated in a single step', async (t) => {
  t.match(String((await complaints([OLD], [NEW, OLD]))[0]), "can't be opened")
})

// covers ASVS-13.3.4
t.test('opens all keys without the old secret after the documented days, but not five days earlier', async (t) => {
  const [, days = ''] =
    /^3\. after (\d+) days, `secret: \[new\]`/m.exec(
      readFileSync(new URL('../../../docs/deployment.md', import.meta.url), 'utf8')
    ) ?? []
  const complaintsAfter = async (passed: number): Promise<number> => {
    const all = fleet()
    const before = await instance([OLD], all)
    // The worst case: a key is new, and no instance signs with it yet.
    await pass(90, all)
    before.ring.close()
    const between = await instance([NEW, OLD], all)
    await pass(passed, all)
    between.ring.close()
    const after = await instance([NEW], all)
    after.ring.close()
    return after.errors.length
  }
  t.equal(await complaintsAfter(Number(days)), 0)
  t.ok((await complaintsAfter(Number(days) - 5)) > 0)
})
