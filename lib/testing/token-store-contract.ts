import { deepEqual, equal, ok } from 'node:assert/strict'
import type { State } from '../ports/state.ts'
import type { NewRefreshTokenFamily, RefreshTokenFamily, Successor, TokenStore, TokenUse } from '../ports/token-store.ts'
import { HOSTILE_STRINGS, caseOf, parallel, tally } from './contract.ts'
import type { Closable, ContractCase } from './contract.ts'

export interface StateSubject extends Closable {
  state: State
}

const T0 = Date.UTC(2026, 0, 1)
const MINUTE = 60_000
const GRACE = 10_000

const family = (fields: Partial<NewRefreshTokenFamily> = {}): NewRefreshTokenFamily => ({
  sid: 'sid-1',
  userId: 'user-1',
  clientId: 'client-1',
  scope: 'read write',
  authenticatedAt: T0 - 5,
  createdAt: T0,
  lastUsedAt: T0,
  expiresAt: T0 + 60 * MINUTE,
  idleExpiresAt: T0 + 30 * MINUTE,
  userAgent: 'Mozilla/5.0',
  tokenDigest: 'digest-0',
  ...fields
})
const use = (fields: Partial<TokenUse> = {}): TokenUse => ({
  sid: 'sid-1', digest: 'digest-0', now: T0 + MINUTE, graceMs: GRACE, idleExpiresAt: T0 + 31 * MINUTE, ...fields
})
const next = (index: number): Successor => ({ digest: `digest-${index}`, sealed: `sealed-${index}` })

function publicPart (created: NewRefreshTokenFamily): RefreshTokenFamily {
  const { tokenDigest, ...rest } = created
  ok(tokenDigest)
  return rest
}

/** The families: what every `TokenStore` must keep. Part of `stateContract`. */
export function tokenStoreCases (make: () => Promise<StateSubject>): ContractCase[] {
  const cases: ContractCase[] = []
  const define = (name: string, check: (tokens: TokenStore, state: State) => Promise<void>): void => {
    cases.push(caseOf(make, `tokens: ${name}`, ({ state }) => check(state.tokens, state)))
  }

  define('a family is found as it was created, without its digest', async (tokens) => {
    for (const created of [family(), family({ sid: 'sid-2', clientId: null, userAgent: null, scope: '' })]) {
      await tokens.createFamily(created)
      const found = await tokens.findFamily(created.sid, T0)
      ok(found)
      deepEqual({ ...found }, publicPart(created))
    }
    equal(await tokens.findFamily('sid-3', T0), null)
  })

  for (const [label, value] of HOSTILE_STRINGS) {
    define(`strings are kept as they are: ${label}`, async (tokens) => {
      equal(await tokens.findFamily(value, T0), null)
      deepEqual(await tokens.revokeFamiliesOfUser(value), [])
      const created = family({ sid: value, userId: value, clientId: value, scope: value, userAgent: value, tokenDigest: value })
      await tokens.createFamily(created)
      deepEqual({ ...await tokens.findFamily(value, T0) }, publicPart(created))
      equal((await tokens.useToken(use({ sid: value, digest: value }))).outcome, 'used')
      equal((await tokens.rotateToken(use({ sid: value, digest: value }), { digest: 'd', sealed: value })).outcome, 'rotated')
      const repeated = await tokens.rotateToken(use({ sid: value, digest: value }), next(2))
      equal(repeated.outcome === 'repeated' && repeated.sealed, value)
      deepEqual((await tokens.listFamiliesOfUser(value, T0)).map(({ sid }) => sid), [value])
      deepEqual(await tokens.revokeFamiliesOfUser(value, 'another'), [value])
    })
  }

  define('families handed out are copies', async (tokens) => {
    const created = family()
    await tokens.createFamily(created)
    created.scope = 'changed'
    const used = await tokens.useToken(use())
    const listed = await tokens.listFamiliesOfUser('user-1', T0)
    const found = await tokens.findFamily('sid-1', T0)
    for (const copy of [found, ...listed, used.outcome === 'used' ? used.family : null]) {
      ok(copy)
      copy.scope = 'changed'
      copy.expiresAt = 0
    }
    const again = await tokens.findFamily('sid-1', T0)
    deepEqual([again?.scope, again?.expiresAt], ['read write', T0 + 60 * MINUTE])
  })

  define('a use moves lastUsedAt and idleExpiresAt, the latter not beyond expiresAt', async (tokens) => {
    await tokens.createFamily(family())
    const used = await tokens.useToken(use())
    deepEqual(used, { outcome: 'used', family: { ...publicPart(family()), lastUsedAt: T0 + MINUTE, idleExpiresAt: T0 + 31 * MINUTE } })
    const later = await tokens.useToken(use({ idleExpiresAt: T0 + 61 * MINUTE }))
    ok(later.outcome === 'used')
    equal(later.family.idleExpiresAt, T0 + 60 * MINUTE)
    deepEqual(await tokens.findFamily('sid-1', T0), later.family)
  })

  define('a rotation replaces the token and moves the same times', async (tokens) => {
    await tokens.createFamily(family())
    const rotated = await tokens.rotateToken(use({ idleExpiresAt: T0 + 99 * MINUTE }), next(1))
    deepEqual(rotated, { outcome: 'rotated', family: { ...publicPart(family()), lastUsedAt: T0 + MINUTE, idleExpiresAt: T0 + 60 * MINUTE } })
    equal((await tokens.rotateToken(use({ digest: 'digest-1' }), next(2))).outcome, 'rotated')
    equal((await tokens.useToken(use({ digest: 'digest-2' }))).outcome, 'used')
  })

  define('of 50 parallel rotations one is rotated, and 49 get its successor', async (tokens) => {
    await tokens.createFamily(family())
    const outcomes = await parallel(50, (index) => tokens.rotateToken(use(), next(index + 1)))
    deepEqual(tally(outcomes.map(({ outcome }) => outcome)), { rotated: 1, repeated: 49 })
    const winner = outcomes.findIndex(({ outcome }) => outcome === 'rotated') + 1
    deepEqual(new Set(outcomes.flatMap((result) => result.outcome === 'repeated' ? [result.sealed] : [])), new Set([`sealed-${winner}`]))
    equal((await tokens.useToken(use({ digest: `digest-${winner}` }))).outcome, 'used', 'the successor of the winner is the current token')
  })

  define('without grace, of 50 parallel rotations one is rotated and a second one ends the family', async (tokens) => {
    await tokens.createFamily(family())
    const outcomes = await parallel(50, (index) => tokens.rotateToken(use({ graceMs: 0 }), next(index + 1)))
    deepEqual(tally(outcomes.map(({ outcome }) => outcome)), { rotated: 1, replayed: 1, unknown: 48 })
  })

  // The grace time holds at its last millisecond; 0 is none at all, in the same millisecond too.
  for (const [graceMs, elapsed, rotation, plainUse] of [
    [GRACE, 0, 'repeated', 'used'],
    [GRACE, GRACE - 1, 'repeated', 'used'],
    [GRACE, GRACE, 'repeated', 'used'],
    [GRACE, GRACE + 1, 'replayed', 'replayed'],
    [0, 0, 'replayed', 'replayed'],
    [0, 1, 'replayed', 'replayed']
  ] as const) {
    define(`the replaced token ${elapsed} ms after, with a grace time of ${graceMs} ms, is ${rotation}`, async (tokens) => {
      for (const sid of ['sid-1', 'sid-2']) {
        await tokens.createFamily(family({ sid }))
        await tokens.rotateToken(use({ sid }), next(1))
      }
      const now = T0 + MINUTE + elapsed
      equal((await tokens.rotateToken(use({ now, graceMs }), next(2))).outcome, rotation)
      equal((await tokens.useToken(use({ sid: 'sid-2', now, graceMs }))).outcome, plainUse)
      const after = await tokens.useToken(use({ digest: 'digest-1', now, graceMs }))
      equal(after.outcome, rotation === 'repeated' ? 'used' : 'unknown', 'a repeat changes nothing, a replay ends the family')
    })
  }

  define('a repeat neither extends the grace time nor moves the successor', async (tokens) => {
    await tokens.createFamily(family())
    await tokens.rotateToken(use(), next(1))
    equal((await tokens.rotateToken(use({ now: T0 + MINUTE + GRACE }), next(2))).outcome, 'repeated')
    equal((await tokens.rotateToken(use({ now: T0 + MINUTE + GRACE + 1 }), next(3))).outcome, 'replayed')
  })

  define('a token replaced twice is a replay, within the grace time too', async (tokens) => {
    await tokens.createFamily(family())
    await tokens.rotateToken(use(), next(1))
    await tokens.rotateToken(use({ digest: 'digest-1' }), next(2))
    equal((await tokens.rotateToken(use(), next(3))).outcome, 'replayed')
  })

  define('a replay ends its family and no other', async (tokens) => {
    await tokens.createFamily(family())
    await tokens.createFamily(family({ sid: 'sid-2', tokenDigest: 'other' }))
    await tokens.rotateToken(use(), next(1))
    const replayed = await tokens.rotateToken(use({ now: T0 + 2 * MINUTE }), next(2))
    ok(replayed.outcome === 'replayed')
    deepEqual([replayed.family.sid, replayed.family.userId, replayed.family.clientId], ['sid-1', 'user-1', 'client-1'])
    equal(await tokens.findFamily('sid-1', T0 + 2 * MINUTE), null)
    equal((await tokens.rotateToken(use({ digest: 'digest-1', now: T0 + 2 * MINUTE }), next(3))).outcome, 'unknown', 'its newest token is dead as well')
    equal((await tokens.rotateToken(use({ now: T0 + 2 * MINUTE }), next(3))).outcome, 'unknown', 'a second replay finds nothing')
    deepEqual((await tokens.listFamiliesOfUser('user-1', T0 + 2 * MINUTE)).map(({ sid }) => sid), ['sid-2'])
  })

  define('the sid of a stranger is unknown, whatever the digest', async (tokens) => {
    await tokens.createFamily(family())
    deepEqual(await tokens.rotateToken(use({ sid: 'sid-x' }), next(1)), { outcome: 'unknown' })
    deepEqual(await tokens.useToken(use({ sid: 'sid-x', digest: 'digest-x' })), { outcome: 'unknown' })
    equal((await tokens.useToken(use())).outcome, 'used', 'and ends nothing')
  })

  for (const [what, ends] of [['idleExpiresAt', 30 * MINUTE], ['expiresAt', 20 * MINUTE]] as const) {
    for (const offset of [-1, 0, 1]) {
      define(`${offset} ms from ${what} a family is ${offset < 0 ? 'alive' : 'as one that never was'}`, async (tokens) => {
        const now = T0 + ends + offset
        const fields = what === 'expiresAt' ? { expiresAt: T0 + ends } : {}
        for (const sid of ['sid-1', 'sid-2', 'sid-3']) await tokens.createFamily(family({ sid, ...fields }))
        equal((await tokens.listFamiliesOfUser('user-1', now)).length, offset < 0 ? 3 : 0)
        equal(await tokens.findFamily('sid-1', now) !== null, offset < 0)
        equal((await tokens.useToken(use({ sid: 'sid-2', now }))).outcome, offset < 0 ? 'used' : 'unknown')
        equal((await tokens.rotateToken(use({ sid: 'sid-3', now }), next(1))).outcome, offset < 0 ? 'rotated' : 'unknown')
      })
    }
  }

  define('a use keeps an idle family alive, but not beyond expiresAt', async (tokens) => {
    await tokens.createFamily(family())
    await tokens.useToken(use({ now: T0 + 29 * MINUTE, idleExpiresAt: T0 + 59 * MINUTE }))
    await tokens.rotateToken(use({ now: T0 + 58 * MINUTE, idleExpiresAt: T0 + 88 * MINUTE }), next(1))
    equal((await tokens.useToken(use({ digest: 'digest-1', now: T0 + 60 * MINUTE - 1, idleExpiresAt: T0 + 99 * MINUTE }))).outcome, 'used')
    equal((await tokens.useToken(use({ digest: 'digest-1', now: T0 + 60 * MINUTE, idleExpiresAt: T0 + 99 * MINUTE }))).outcome, 'unknown')
  })

  define('revokeFamily says whether there was one, of that user where one is given', async (tokens) => {
    await tokens.createFamily(family())
    equal(await tokens.revokeFamily('sid-x'), false)
    equal(await tokens.revokeFamily('sid-1', 'user-2'), false)
    equal((await tokens.useToken(use())).outcome, 'used')
    equal(await tokens.revokeFamily('sid-1', 'user-1'), true)
    equal(await tokens.revokeFamily('sid-1', 'user-1'), false)
    equal(await tokens.revokeFamily('sid-1'), false)
    equal((await tokens.useToken(use())).outcome, 'unknown')
    equal((await tokens.rotateToken(use(), next(1))).outcome, 'unknown')
    deepEqual(await tokens.listFamiliesOfUser('user-1', T0), [])
  })

  define('of 50 parallel revocations one is true', async (tokens) => {
    await tokens.createFamily(family())
    const results = await parallel(50, () => tokens.revokeFamily('sid-1'))
    equal(results.filter(Boolean).length, 1)
  })

  define('after a rotation or a use raced a revocation, the family is gone', async (tokens) => {
    const sids = Array.from({ length: 25 }, (_, index) => `sid-${index}`)
    for (const sid of sids) await tokens.createFamily(family({ sid }))
    await Promise.all(sids.flatMap((sid, index) => {
      const calls: Array<() => Promise<unknown>> = [
        () => tokens.rotateToken(use({ sid }), next(1)),
        () => tokens.useToken(use({ sid })),
        () => tokens.revokeFamily(sid)
      ]
      return [...calls.slice(index % 3), ...calls.slice(0, index % 3)].map(async (call) => await call())
    }))
    for (const sid of sids) {
      equal(await tokens.findFamily(sid, T0), null)
      for (const digest of ['digest-0', 'digest-1']) equal((await tokens.useToken(use({ sid, digest }))).outcome, 'unknown')
    }
    deepEqual(await tokens.listFamiliesOfUser('user-1', T0), [])
  })

  define('revokeFamiliesOfUser ends all of the user but one, and names them', async (tokens) => {
    for (const sid of ['sid-1', 'sid-2', 'sid-3']) await tokens.createFamily(family({ sid }))
    await tokens.createFamily(family({ sid: 'sid-4', userId: 'user-2' }))
    deepEqual((await tokens.revokeFamiliesOfUser('user-1', 'sid-2')).toSorted(), ['sid-1', 'sid-3'])
    deepEqual((await tokens.listFamiliesOfUser('user-1', T0)).map(({ sid }) => sid), ['sid-2'])
    equal((await tokens.useToken(use())).outcome, 'unknown')
    deepEqual(await tokens.revokeFamiliesOfUser('user-1', 'sid-4'), ['sid-2'], 'the exception of another user keeps nothing of this one')
    deepEqual(await tokens.revokeFamiliesOfUser('user-1'), [])
    ok(await tokens.findFamily('sid-4', T0))
  })

  define('families are listed newest first, of that user only', async (tokens) => {
    for (const [sid, age] of [['sid-1', 2], ['sid-2', 0], ['sid-3', 3], ['sid-4', 1]] as const) {
      await tokens.createFamily(family({ sid, createdAt: T0 - age }))
    }
    await tokens.createFamily(family({ sid: 'sid-5', userId: 'user-2' }))
    await tokens.useToken(use({ sid: 'sid-3' }))
    deepEqual((await tokens.listFamiliesOfUser('user-1', T0)).map(({ sid }) => sid), ['sid-2', 'sid-4', 'sid-1', 'sid-3'])
    deepEqual(await tokens.listFamiliesOfUser('user-3', T0), [])
  })

  define('a sweep leaves what is alive, grace time included', async (tokens, state) => {
    await tokens.createFamily(family())
    await tokens.createFamily(family({ sid: 'sid-2', idleExpiresAt: T0 + MINUTE }))
    await tokens.createFamily(family({ sid: 'sid-3', expiresAt: T0 + MINUTE }))
    await tokens.rotateToken(use(), next(1))
    await state.sweep(T0 + MINUTE)
    deepEqual((await tokens.listFamiliesOfUser('user-1', T0 + MINUTE)).map(({ sid }) => sid), ['sid-1'])
    equal((await tokens.rotateToken(use(), next(2))).outcome, 'repeated')
  })

  return cases
}
