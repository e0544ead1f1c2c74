import { deepEqual, equal, ok } from 'node:assert/strict'
import type { TokenStore } from '../../../lib/ports/token-store.ts'
import { partitionOf } from '../../../lib/protocol/digest.ts'
import { HOSTILE_STRINGS, caseOf, parallel, tally } from '../../../lib/testing/contract.ts'
import type { ContractCase } from '../../../lib/testing/contract.ts'
import { MINUTE, T0, code, family, next, redeemed, redemption, use, named } from './token-fixtures.ts'
import type { StateSubject } from './token-fixtures.ts'

const NOW = T0 + 1000

/** Authorization codes: created, redeemed, replayed. Part of `stateContract`. */
export function authorizationCodeCases(make: () => Promise<StateSubject>): ContractCase[] {
  const cases: ContractCase[] = []
  const define = (name: string, check: (tokens: TokenStore) => Promise<void>): void => {
    cases.push(caseOf(make, `codes: ${name}`, ({ state }) => check(state.tokens)))
  }

  define('creates a family with all fields of the redeemed code', async (tokens) => {
    for (const created of [code(), code({ sid: named('sid-2'), scope: '', sessionSid: null, offline: false })]) {
      const { sid } = created
      await tokens.createCode(created)
      const expected = redeemed(created, redemption())
      deepEqual(await tokens.redeemCode(redemption({ sid })), { outcome: 'redeemed', family: expected })
      deepEqual(await tokens.findFamily(sid, NOW), expected)
      equal((await tokens.useToken(use({ sid }))).outcome, 'used')
      equal((await tokens.rotateToken(use({ sid }), next(1))).outcome, 'rotated')
    }
    deepEqual((await tokens.listFamiliesOfUser('user-19367', NOW)).map(({ sid }) => sid).toSorted(), [
      named('sid-1'),
      named('sid-2')
    ])
  })

  for (const [offline, ends] of [
    [true, T0 + 2 * MINUTE],
    [false, T0 + 4 * MINUTE]
  ] as const) {
    define(`gives ${offline ? 'an offline' : 'an online'} family the lifetime of its redemption`, async (tokens) => {
      await tokens.createCode(code({ offline }))
      await tokens.redeemCode(
        redemption({
          expiresAt: T0 + 3 * MINUTE,
          idleExpiresAt: T0 + 2 * MINUTE,
          onlineExpiresAt: T0 + 4 * MINUTE,
          userAgent: null
        })
      )
      equal((await tokens.findFamily(named('sid-1'), ends - 1))?.userAgent, null)
      equal(await tokens.findFamily(named('sid-1'), ends), null)
      equal((await tokens.redeemCode(redemption({ now: ends }))).outcome, 'unknown', 'and its code with it')
    })
  }

  define('binds the family to the key of the redemption, and keeps the authorization request', async (tokens) => {
    await tokens.createCode(code({ authorization: '{"nonce":"n"}' }))
    const result = await tokens.redeemCode(redemption({ jkt: 'key-1' }))
    ok(result.outcome === 'redeemed')
    deepEqual(JSON.parse(result.family.authorization ?? ''), { nonce: 'n', jkt: 'key-1' })
    const { tokenDigest: digest } = redemption()
    deepEqual(await tokens.useToken(use({ digest, jkt: null, now: NOW })), { outcome: 'unknown' })
    equal((await tokens.useToken(use({ digest, jkt: 'key-1', now: NOW }))).outcome, 'used')
  })

  define('answers unknown to other calls than redeemCode, and keeps the code', async (tokens) => {
    await tokens.createCode(code())
    for (const digest of ['code-digest', 'digest-0', '']) {
      deepEqual(await tokens.useToken(use({ digest, now: NOW })), { outcome: 'unknown' })
      deepEqual(await tokens.rotateToken(use({ digest, now: NOW }), next(1)), { outcome: 'unknown' })
      equal(await tokens.peekToken(use({ digest, now: NOW })), null)
    }
    equal(await tokens.findFamily(named('sid-1'), NOW), null)
    deepEqual(await tokens.listFamiliesOfUser('user-19367', NOW), [])
    equal((await tokens.redeemCode(redemption())).outcome, 'redeemed')
  })

  define('redeems a code once in 50 parallel redemptions, and ends its family on the second', async (tokens) => {
    await tokens.createCode(code())
    const outcomes = await parallel(50, (index) => tokens.redeemCode(redemption({ tokenDigest: `digest-${index}` })))
    deepEqual(tally(outcomes.map(({ outcome }) => outcome)), { redeemed: 1, replayed: 1, unknown: 48 })
    equal(await tokens.findFamily(named('sid-1'), NOW), null)
    for (let index = 0; index < 50; index++)
      equal((await tokens.useToken(use({ digest: `digest-${index}`, now: NOW }))).outcome, 'unknown')
  })

  define('ends only the family of a code that is used twice, however late', async (tokens) => {
    await tokens.createFamily(family({ sid: named('sid-2') }))
    await tokens.createCode(code())
    await tokens.redeemCode(redemption())
    await tokens.rotateToken(use(), next(1))
    await tokens.rotateToken(use({ digest: 'digest-1' }), next(2))
    const now = T0 + 30 * MINUTE
    const replayed = await tokens.redeemCode(redemption({ now, tokenDigest: 'other' }))
    ok(replayed.outcome === 'replayed')
    deepEqual(replayed.family, {
      ...redeemed(code(), redemption()),
      lastUsedAt: T0 + MINUTE,
      idleExpiresAt: T0 + 31 * MINUTE
    })
    equal((await tokens.useToken(use({ digest: 'digest-2', now }))).outcome, 'unknown')
    equal((await tokens.redeemCode(redemption({ now }))).outcome, 'unknown', 'a third use finds nothing')
    deepEqual(
      (await tokens.listFamiliesOfUser('user-19367', T0)).map(({ sid }) => sid),
      [named('sid-2')]
    )
  })

  define('ends a code and its family on a wrong secret', async (tokens) => {
    for (const sid of [named('sid-1'), named('sid-2')]) await tokens.createCode(code({ sid }))
    await tokens.redeemCode(redemption({ sid: named('sid-2') }))
    for (const sid of [named('sid-1'), named('sid-2')]) {
      const replayed = await tokens.redeemCode(redemption({ sid, digest: 'another' }))
      ok(replayed.outcome === 'replayed')
      deepEqual(
        [replayed.family.sid, replayed.family.userId, replayed.family.clientId, replayed.family.sessionSid],
        [sid, 'user-19367', 'client-1', 'session-1']
      )
      deepEqual(await tokens.redeemCode(redemption({ sid })), { outcome: 'unknown' })
      equal(await tokens.findFamily(sid, NOW), null)
    }
  })

  define('neither redeems nor ends a code for another client', async (tokens) => {
    await tokens.createCode(code())
    for (const digest of ['code-digest', 'another'])
      deepEqual(await tokens.redeemCode(redemption({ clientId: 'client-2', digest })), { outcome: 'unknown' })
    equal((await tokens.redeemCode(redemption())).outcome, 'redeemed')
    for (const digest of ['code-digest', 'another'])
      deepEqual(await tokens.redeemCode(redemption({ clientId: 'client-2', digest })), { outcome: 'unknown' })
    equal((await tokens.useToken(use())).outcome, 'used')
  })

  define('answers unknown to the redemption of a family without a code, and keeps the family', async (tokens) => {
    await tokens.createFamily(family())
    for (const digest of ['digest-0', 'code-digest', ''])
      deepEqual(await tokens.redeemCode(redemption({ digest })), { outcome: 'unknown' })
    equal((await tokens.useToken(use())).outcome, 'used')
    deepEqual(await tokens.redeemCode(redemption({ sid: named('sid-x') })), { outcome: 'unknown' })
  })

  define('refuses a second code or family with the sid of a code', async (tokens) => {
    await tokens.createCode(code())
    for (const create of [
      () => tokens.createCode(code({ userId: 'user-104981' })),
      () => tokens.createFamily(family({ userId: 'user-104981' }))
    ]) {
      equal(
        await create().then(
          () => 'created',
          () => 'refused'
        ),
        'refused'
      )
    }
    const given = code({ sid: named('sid-2') })
    await tokens.createCode(given)
    given.scope = 'changed'
    for (const sid of [named('sid-1'), named('sid-2')]) {
      const result = await tokens.redeemCode(redemption({ sid }))
      ok(result.outcome === 'redeemed')
      deepEqual([result.family.scope, result.family.userId], ['openid read', 'user-19367'])
      result.family.scope = 'changed'
      equal((await tokens.findFamily(sid, NOW))?.scope, 'openid read')
    }
  })

  for (const [label, value] of HOSTILE_STRINGS) {
    define(`keeps strings unchanged: ${label}`, async (tokens) => {
      const sid = partitionOf(value) + value
      deepEqual(await tokens.redeemCode(redemption({ sid, clientId: value })), { outcome: 'unknown' })
      deepEqual(await tokens.revokeSession(value, value), { session: null, sids: [] })
      const created = code({
        sid,
        userId: value,
        clientId: value,
        scope: value,
        sessionSid: value,
        authorization: value,
        codeDigest: value
      })
      await tokens.createCode(created)
      const asked = redemption({ sid, clientId: value, digest: value, tokenDigest: value, userAgent: value })
      deepEqual(await tokens.redeemCode(asked), { outcome: 'redeemed', family: redeemed(created, asked) })
      equal((await tokens.useToken(use({ sid, digest: value }))).outcome, 'used')
      deepEqual(await tokens.revokeSession(value, value, value), { session: null, sids: [sid] })
    })
  }

  return cases
}
