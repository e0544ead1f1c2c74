import { deepEqual, equal, ok } from 'node:assert/strict'
import type { TokenStore } from '../../../lib/ports/token-store.ts'
import { partitionOf } from '../../../lib/protocol/digest.ts'
import { HOSTILE_STRINGS, caseOf, parallel, tally } from '../../../lib/testing/contract.ts'
import type { ContractCase } from '../../../lib/testing/contract.ts'
import { GRACE, MINUTE, T0, family, next, publicPart, use, named } from './token-fixtures.ts'
import type { StateSubject } from './token-fixtures.ts'

/** Families and their tokens: created, used, rotated, replayed. Part of `stateContract`. */
export function tokenStoreCases(make: () => Promise<StateSubject>): ContractCase[] {
  const cases: ContractCase[] = []
  const define = (name: string, check: (tokens: TokenStore) => Promise<void>): void => {
    cases.push(caseOf(make, `tokens: ${name}`, ({ state }) => check(state.tokens)))
  }

  define('finds a family as created, without its digest', async (tokens) => {
    for (const created of [
      family(),
      family({ sid: named('sid-2'), clientId: null, userAgent: null, scope: '' }),
      family({ sid: named('sid-4'), sessionSid: 'session-1', offline: false, authorization: '{}' })
    ]) {
      await tokens.createFamily(created)
      const found = await tokens.findFamily(created.sid, T0)
      ok(found)
      deepEqual({ ...found }, publicPart(created))
    }
    equal(await tokens.findFamily(named('sid-3'), T0), null)
  })

  for (const [label, value] of HOSTILE_STRINGS) {
    define(`keeps strings unchanged: ${label}`, async (tokens) => {
      const sid = partitionOf(value) + value
      equal(await tokens.findFamily(sid, T0), null)
      deepEqual(await tokens.revokeFamiliesOfUser(value), [])
      const created = family({
        sid,
        userId: value,
        clientId: value,
        scope: value,
        userAgent: value,
        sessionSid: value,
        authorization: value,
        tokenDigest: value
      })
      await tokens.createFamily(created)
      deepEqual({ ...(await tokens.findFamily(sid, T0)) }, publicPart(created))
      equal((await tokens.useToken(use({ sid, digest: value }))).outcome, 'used')
      equal((await tokens.rotateToken(use({ sid, digest: value }), { digest: 'd', sealed: value })).outcome, 'rotated')
      const repeated = await tokens.rotateToken(use({ sid, digest: value }), next(2))
      equal(repeated.outcome === 'repeated' && repeated.sealed, value)
      deepEqual(
        (await tokens.listFamiliesOfUser(value, T0)).map((listed) => listed.sid),
        [sid]
      )
      deepEqual(await tokens.revokeFamiliesOfUser(value, 'another'), [sid])
    })
  }

  define(
    'accepts a token that is bound to a key only with that key, and keeps its family on other keys',
    async (tokens) => {
      await tokens.createFamily(family({ authorization: '{"jkt":"key-1","idToken":false}' }))
      for (const jkt of [null, 'key-2', '']) {
        deepEqual(await tokens.useToken(use({ jkt })), { outcome: 'unknown' })
        deepEqual(await tokens.rotateToken(use({ jkt }), next(1)), { outcome: 'unknown' })
        deepEqual(await tokens.useToken(use({ jkt, digest: 'never issued' })), { outcome: 'unknown' })
      }
      equal((await tokens.useToken(use({ jkt: 'key-1' }))).outcome, 'used')
      equal((await tokens.useToken(use())).outcome, 'used', 'without the question')
      equal((await tokens.rotateToken(use({ jkt: 'key-1' }), next(1))).outcome, 'rotated')
      deepEqual(
        await tokens.rotateToken(use({ jkt: 'key-2' }), next(2)),
        { outcome: 'unknown' },
        'the replaced token too'
      )
      equal((await tokens.rotateToken(use({ jkt: 'key-1' }), next(2))).outcome, 'repeated')
    }
  )

  define('accepts a token that is bound to no key with any key', async (tokens) => {
    for (const authorization of [null, '{}']) {
      const { sid } = family({ sid: named(`sid-${authorization}`) })
      await tokens.createFamily(family({ sid, authorization }))
      for (const jkt of [null, 'key-1']) equal((await tokens.useToken(use({ sid, jkt }))).outcome, 'used')
    }
  })

  define('returns copies of families', async (tokens) => {
    const created = family()
    await tokens.createFamily(created)
    created.scope = 'changed'
    const used = await tokens.useToken(use())
    const listed = await tokens.listFamiliesOfUser('user-19367', T0)
    const found = await tokens.findFamily(named('sid-1'), T0)
    const peeked = await tokens.peekToken(use())
    for (const copy of [found, peeked, ...listed, used.outcome === 'used' ? used.family : null]) {
      ok(copy)
      copy.scope = 'changed'
      copy.expiresAt = 0
    }
    const again = await tokens.findFamily(named('sid-1'), T0)
    deepEqual([again?.scope, again?.expiresAt], ['read write', T0 + 60 * MINUTE])
  })

  define('moves lastUsedAt and idleExpiresAt on use, but not beyond expiresAt', async (tokens) => {
    await tokens.createFamily(family())
    const used = await tokens.useToken(use())
    deepEqual(used, {
      outcome: 'used',
      family: { ...publicPart(family()), lastUsedAt: T0 + MINUTE, idleExpiresAt: T0 + 31 * MINUTE }
    })
    const later = await tokens.useToken(use({ idleExpiresAt: T0 + 61 * MINUTE }))
    ok(later.outcome === 'used')
    equal(later.family.idleExpiresAt, T0 + 60 * MINUTE)
    deepEqual(await tokens.findFamily(named('sid-1'), T0), later.family)
  })

  define('replaces the token, and moves lastUsedAt and idleExpiresAt, on rotation', async (tokens) => {
    await tokens.createFamily(family())
    const rotated = await tokens.rotateToken(use({ idleExpiresAt: T0 + 99 * MINUTE }), next(1))
    equal(rotated.outcome, 'rotated')
    deepEqual('family' in rotated && rotated.family, {
      ...publicPart(family()),
      lastUsedAt: T0 + MINUTE,
      idleExpiresAt: T0 + 60 * MINUTE
    })
    equal((await tokens.rotateToken(use({ digest: 'digest-1' }), next(2))).outcome, 'rotated')
    equal((await tokens.useToken(use({ digest: 'digest-2' }))).outcome, 'used')
  })

  define('rotates once in 50 parallel rotations, and returns the successor to the other 49', async (tokens) => {
    await tokens.createFamily(family())
    const outcomes = await parallel(50, (index) => tokens.rotateToken(use(), next(index + 1)))
    deepEqual(tally(outcomes.map(({ outcome }) => outcome)), { rotated: 1, repeated: 49 })
    const winner = outcomes.findIndex(({ outcome }) => outcome === 'rotated') + 1
    deepEqual(
      new Set(outcomes.flatMap((result) => (result.outcome === 'repeated' ? [result.sealed] : []))),
      new Set([`sealed-${winner}`])
    )
    equal(
      (await tokens.useToken(use({ digest: `digest-${winner}` }))).outcome,
      'used',
      'the successor of the winner is the current token'
    )
  })

  define(
    'rotates once in 50 parallel rotations without grace time, and ends the family on the second',
    async (tokens) => {
      await tokens.createFamily(family())
      const outcomes = await parallel(50, (index) => tokens.rotateToken(use({ graceMs: 0 }), next(index + 1)))
      deepEqual(tally(outcomes.map(({ outcome }) => outcome)), { rotated: 1, replayed: 1, unknown: 48 })
    }
  )

  // The grace time includes its last millisecond. 0 means none, even in the same millisecond.
  for (const [graceMs, elapsed, rotation, plainUse] of [
    [GRACE, 0, 'repeated', 'used'],
    [GRACE, GRACE - 1, 'repeated', 'used'],
    [GRACE, GRACE, 'repeated', 'used'],
    [GRACE, GRACE + 1, 'replayed', 'replayed'],
    [0, 0, 'replayed', 'replayed'],
    [0, 1, 'replayed', 'replayed']
  ] as const) {
    define(
      `answers ${rotation} to the replaced token ${elapsed} ms later with a grace time of ${graceMs} ms`,
      async (tokens) => {
        for (const sid of [named('sid-1'), named('sid-2')]) {
          await tokens.createFamily(family({ sid }))
          await tokens.rotateToken(use({ sid }), next(1))
        }
        const now = T0 + MINUTE + elapsed
        equal((await tokens.rotateToken(use({ now, graceMs }), next(2))).outcome, rotation)
        equal((await tokens.peekToken(use({ sid: named('sid-2'), now, graceMs }))) !== null, plainUse === 'used')
        equal((await tokens.useToken(use({ sid: named('sid-2'), now, graceMs }))).outcome, plainUse)
        const after = await tokens.useToken(use({ digest: 'digest-1', now, graceMs }))
        equal(
          after.outcome,
          rotation === 'repeated' ? 'used' : 'unknown',
          'a repeat changes nothing, a replay ends the family'
        )
      }
    )
  }

  define('does not extend the grace time on a repeat', async (tokens) => {
    await tokens.createFamily(family())
    await tokens.rotateToken(use(), next(1))
    equal((await tokens.rotateToken(use({ now: T0 + MINUTE + GRACE }), next(2))).outcome, 'repeated')
    equal((await tokens.rotateToken(use({ now: T0 + MINUTE + GRACE + 1 }), next(3))).outcome, 'replayed')
  })

  define('treats a token that was replaced twice as a replay, even within the grace time', async (tokens) => {
    await tokens.createFamily(family())
    await tokens.rotateToken(use(), next(1))
    await tokens.rotateToken(use({ digest: 'digest-1' }), next(2))
    equal((await tokens.rotateToken(use(), next(3))).outcome, 'replayed')
  })

  define('ends only the family of a replayed token', async (tokens) => {
    await tokens.createFamily(family())
    await tokens.createFamily(family({ sid: named('sid-2'), tokenDigest: 'other' }))
    await tokens.rotateToken(use(), next(1))
    const replayed = await tokens.rotateToken(use({ now: T0 + 2 * MINUTE }), next(2))
    ok(replayed.outcome === 'replayed')
    deepEqual(
      [replayed.family.sid, replayed.family.userId, replayed.family.clientId],
      [named('sid-1'), 'user-19367', 'client-1']
    )
    equal(await tokens.findFamily(named('sid-1'), T0 + 2 * MINUTE), null)
    equal(
      (await tokens.rotateToken(use({ digest: 'digest-1', now: T0 + 2 * MINUTE }), next(3))).outcome,
      'unknown',
      'its newest token is dead as well'
    )
    equal(
      (await tokens.rotateToken(use({ now: T0 + 2 * MINUTE }), next(3))).outcome,
      'unknown',
      'a second replay finds nothing'
    )
    deepEqual(
      (await tokens.listFamiliesOfUser('user-19367', T0 + 2 * MINUTE)).map(({ sid }) => sid),
      [named('sid-2')]
    )
  })

  define('changes nothing when it peeks at a token, even a replayed one', async (tokens) => {
    await tokens.createFamily(family())
    deepEqual(await tokens.peekToken(use()), publicPart(family()))
    equal(await tokens.peekToken(use({ digest: 'digest-x' })), null)
    equal(await tokens.peekToken(use({ sid: named('sid-x') })), null)
    await tokens.rotateToken(use(), next(1))
    await tokens.rotateToken(use({ digest: 'digest-1' }), next(2))
    const before = await tokens.findFamily(named('sid-1'), T0)
    for (const digest of ['digest-0', 'digest-1', 'digest-2']) {
      equal((await tokens.peekToken(use({ digest, now: T0 + 20 * MINUTE }))) !== null, digest === 'digest-2')
    }
    deepEqual(await tokens.findFamily(named('sid-1'), T0), before)
  })

  define('answers unknown for an unknown sid, whatever the digest', async (tokens) => {
    await tokens.createFamily(family())
    deepEqual(await tokens.rotateToken(use({ sid: named('sid-x') }), next(1)), { outcome: 'unknown' })
    deepEqual(await tokens.useToken(use({ sid: named('sid-x'), digest: 'digest-x' })), { outcome: 'unknown' })
    equal((await tokens.useToken(use())).outcome, 'used', 'and ends nothing')
  })

  return cases
}
