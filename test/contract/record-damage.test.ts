/**
 * An unreadable record in a state over any store: it does not count, every revocation succeeds and ends everything
 * else, and the next write replaces the record.
 */
import t from '../support/tap.ts'
import { ANY, NEVER, type RecordStore } from '../../lib/ports/record-store.ts'
import type { State } from '../../lib/ports/state.ts'
import { partitionOf } from '../../lib/protocol/digest.ts'
import { recordState } from '../../lib/records/state.ts'
import { session } from './suites/session-fixtures.ts'
import { code, family, MINUTE, named, redemption, T0, use } from './suites/token-fixtures.ts'
import { recordPlaces } from './support/record-places.ts'

const USER = 'user-19367'
const PARTITION = partitionOf(USER)
const PURPOSE = 'verify_email'
const CLIENT = 'client-1'
const NOW = T0 + 1000

const DAMAGES = ['', '{', 'null', '[]', '{}', '5', '"text"', '[1,2,[]]', '{"a":1,"lineage":[]}', '{"lineage":5}']
const DAMAGED = ['f:family', 's:session', 'f:code', 'c', `t:${PURPOSE}`].map((key) =>
  key.replace(/(?<=:)(?=family|session|code)/, PARTITION)
)

async function signIn({ tokens, browserSessions, consents, oneTimeTokens }: State): Promise<void> {
  await browserSessions.createSession(session({ sid: named('session') }), 'session')
  await browserSessions.createSession(session({ sid: named('other session') }), 'other')
  await tokens.createFamily(family({ sid: named('family'), sessionSid: named('session'), offline: false }))
  await tokens.createFamily(family({ sid: named('other family') }))
  await tokens.createCode(code({ sid: named('code'), sessionSid: named('session'), codeExpiresAt: T0 + MINUTE }))
  await consents.grantConsent({ userId: USER, clientId: CLIENT, scopes: ['a'], grantedAt: T0, expiresAt: T0 + MINUTE })
  await oneTimeTokens.put({ purpose: PURPOSE, digest: named('one'), userId: USER, expiresAt: T0 + MINUTE })
}

/** The sessions, tokens and consents that still count. */
async function alive({ tokens, browserSessions, consents, oneTimeTokens }: State): Promise<string[]> {
  const redeemed = await tokens.redeemCode(redemption({ sid: named('code'), now: NOW }))
  const families = await tokens.listFamiliesOfUser(USER, NOW)
  const sessions = await browserSessions.listSessionsOfUser(USER, NOW)
  return [
    ...families.map(({ sid }) => sid),
    ...sessions.map(({ sid }) => sid),
    ...(redeemed.outcome === 'unknown' ? [] : ['code']),
    ...((await tokens.useToken(use({ sid: named('family'), now: NOW }))).outcome === 'unknown' ? [] : ['token']),
    ...((await consents.findConsent(USER, CLIENT, NOW)) === null ? [] : ['consent']),
    ...((await oneTimeTokens.find(PURPOSE, named('one'), NOW)) === null ? [] : ['one-time token'])
  ]
}

async function revokeAll({ tokens, browserSessions, consents, oneTimeTokens }: State): Promise<void> {
  await tokens.revokeFamily(named('family'), USER)
  await tokens.revokeFamily(named('code'), USER)
  await tokens.revokeSession(USER, named('session'))
  await browserSessions.revokeSessionsOfUser(USER)
  await tokens.revokeFamiliesOfUser(USER)
  await consents.revokeConsent(USER, CLIENT)
  await oneTimeTokens.discard(PURPOSE, USER)
}

async function damage(store: RecordStore, keys: readonly string[], value: string): Promise<void> {
  const writes = keys.map((key) => ({
    key,
    expect: ANY,
    change: { kind: 'family', userId: USER, version: 'damaged-000001', expiresAt: NEVER, value }
  }))
  await store.commit(PARTITION, writes, NOW)
}

/** True if a record is still the damaged one. */
const isLeft = async (store: RecordStore, key: string): Promise<boolean> =>
  (await store.read(PARTITION, [key]))[0]?.version === 'damaged-000001'

for (const place of await recordPlaces()) {
  const damagedState = async (
    keys: readonly string[],
    value: string
  ): Promise<{ store: RecordStore; state: State }> => {
    const [store] = await place.empty()
    await signIn(recordState(store, { remembered: 100 }))
    await damage(store, keys, value)
    return { store, state: recordState(store) }
  }

  t.test(`${place.name}: revokes the sessions, tokens and consents of a user with a damaged record`, async (t) => {
    for (const key of DAMAGED)
      for (const value of DAMAGES) {
        const { store, state } = await damagedState([key], value)
        await revokeAll(state)
        t.strictSame(
          { alive: await alive(state), isLeft: !/^[ct]/.test(key) && (await isLeft(store, key)) },
          { alive: [], isLeft: false },
          `${key} ${value}`
        )
      }
  })

  t.test(`${place.name}: ends all browser sessions in one call, and replaces a damaged record`, async (t) => {
    const { store, state } = await damagedState(DAMAGED, '{')
    const ended = await state.browserSessions.revokeSessionsOfUser(USER)
    t.strictSame(
      ended.map(({ sid }) => sid),
      [named('other session')]
    )
    t.strictSame(await alive(state), [named('other family')])
    await state.tokens.revokeFamily(named('family'))
    await state.tokens.revokeFamily(named('code'))
    await state.consents.grantConsent({
      userId: USER,
      clientId: CLIENT,
      scopes: ['b'],
      grantedAt: NOW,
      expiresAt: NEVER
    })
    await state.oneTimeTokens.put({ purpose: PURPOSE, digest: named('one'), userId: USER, expiresAt: T0 + MINUTE })
    for (const key of DAMAGED) t.equal(await isLeft(store, key), false, key)
    t.strictSame(await alive(state), [named('other family'), 'consent', 'one-time token'])
  })

  t.test(`${place.name}: rejects a revocation when it cannot read the index of the user`, async (t) => {
    const { store, state } = await damagedState(['i'], '{')
    if (!store.evicts) {
      await t.rejects(state.tokens.revokeFamiliesOfUser(USER), { name: 'TypeError', message: /index of a user/ })
      await t.rejects(state.browserSessions.revokeSessionsOfUser(USER), { message: /index of a user/ })
      return
    }
    t.strictSame(await state.tokens.revokeFamiliesOfUser(USER), [])
    t.strictSame(await alive(state), ['consent', 'one-time token'])
  })

  t.test(`${place.name}: rejects damaged owner and key records instead of replacing them`, async (t) => {
    const [store] = await place.empty()
    const state = recordState(store)
    const change = { kind: 'keys', userId: null, version: 'damaged-000001', expiresAt: NEVER, value: '{' }
    for (const key of ['k', 'o']) await store.commit('service', [{ key, expect: ANY, change }], NOW)
    await t.rejects(state.keys.list(), { name: 'TypeError', message: /keys/ })
    await t.rejects(state.claimFor('https://other.example.com'), { name: 'TypeError', message: /owner/ })
  })
}
