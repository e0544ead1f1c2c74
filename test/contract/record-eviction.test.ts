/** The state over a store that evicts single records. It may forget a sign-in, but never a revocation. */
import t from '../support/tap.ts'
import { memoryRecords } from '../../lib/adapters/memory/record-store.ts'
import { ANY, type RecordStore } from '../../lib/ports/record-store.ts'
import type { State } from '../../lib/ports/state.ts'
import { partitionOf } from '../../lib/protocol/digest.ts'
import { recordState } from '../../lib/records/state.ts'
import { runContract } from '../../lib/testing/contract.ts'
import { stateContract } from './suites/state-contract.ts'
import { session } from './suites/session-fixtures.ts'
import { code, family, named, redemption, T0, use } from './suites/token-fixtures.ts'

const USER = 'user-19367'
const NOW = T0 + 1000
const PURPOSE = 'verify_email'

function evicting(): { store: RecordStore; keys: Set<string>; evict(keys: readonly string[]): Promise<void> } {
  const records = memoryRecords()
  const keys = new Set<string>()
  return {
    keys,
    store: {
      ...records,
      evicts: true,
      async commit(partition, writes, now) {
        for (const { key } of writes) keys.add(key)
        return await records.commit(partition, writes, now)
      }
    },
    async evict(evicted) {
      const writes = evicted.map((key) => ({ key, expect: ANY, change: 'delete' as const }))
      await records.commit(partitionOf(USER), writes, NOW)
    }
  }
}

runContract(
  stateContract(async () => ({ state: recordState(evicting().store, { remembered: 0 }) })),
  (name, run) => t.test(`evicting memory: ${name}`, run)
)

/** One record of each kind. */
async function signIn({ tokens, browserSessions, oneTimeTokens }: State): Promise<void> {
  await tokens.createFamily(family({ sid: named('family'), tokenDigest: 'token' }))
  await browserSessions.createSession(session({ sid: named('session') }), 'session')
  await tokens.createCode(code({ sid: named('code'), codeDigest: 'code', codeExpiresAt: NOW + 1 }))
  await oneTimeTokens.put({ purpose: PURPOSE, digest: named('one'), userId: USER, expiresAt: NOW + 1 })
}

/** The sessions and tokens that still count. */
async function alive({ tokens, browserSessions, oneTimeTokens }: State): Promise<string[]> {
  const redeemed = await tokens.redeemCode(redemption({ sid: named('code'), digest: 'code', now: NOW }))
  const counts = {
    family: (await tokens.peekToken(use({ sid: named('family'), digest: 'token', now: NOW }))) !== null,
    session: (await browserSessions.listSessionsOfUser(USER, NOW)).length > 0,
    code: redeemed.outcome === 'redeemed',
    'one-time token': (await oneTimeTokens.find(PURPOSE, named('one'), NOW)) !== null
  }
  return Object.entries(counts).flatMap(([name, does]) => (does ? [name] : []))
}

/** Every subset of these. */
const choices = (keys: readonly string[]): string[][] =>
  Array.from({ length: 2 ** keys.length }, (_, bits) => keys.filter((_key, at) => (bits & (2 ** at)) !== 0))

t.test('finds every session and token while no record is evicted', async (t) => {
  const { store } = evicting()
  const state = recordState(store, { remembered: 0 })
  await signIn(state)
  t.strictSame(await alive(state), ['family', 'session', 'code', 'one-time token'])
})

t.test('keeps a revocation in force whichever records are evicted', async (t) => {
  const names = evicting()
  await signIn(recordState(names.store, { remembered: 0 }))
  const all = [...names.keys]
  t.ok(all.length >= 5, all.join())
  const back: unknown[] = []
  for (const before of choices(all))
    for (const after of [[], ...all.map((key) => [key]), all]) {
      const { store, evict } = evicting()
      // Another process with a memory of its own signed the user in.
      const [other, state] = [recordState(store, { remembered: 100 }), recordState(store, { remembered: 100 })]
      await signIn(other)
      await evict(before)
      await state.tokens.revokeFamiliesOfUser(USER)
      await state.browserSessions.revokeSessionsOfUser(USER)
      await state.oneTimeTokens.discard(PURPOSE, USER)
      await evict(after)
      for (const asked of [other, state]) {
        const found = await alive(asked)
        if (found.length > 0) back.push({ before, after, found })
      }
    }
  t.strictSame(back, [])
})
