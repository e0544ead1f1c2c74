import { deepEqual, equal, ok } from 'node:assert/strict'
import { partitionOf } from '../../../lib/protocol/digest.ts'
import type { CodeOutcome, OneTimeToken, OneTimeTokenStore } from '../../../lib/ports/state.ts'
import { HOSTILE_STRINGS, caseOf, parallel } from '../../../lib/testing/contract.ts'
import type { ContractCase } from '../../../lib/testing/contract.ts'
import { T0, named, timeAt } from './token-fixtures.ts'
import type { StateSubject } from './token-fixtures.ts'

const token = (fields: Partial<OneTimeToken> = {}): OneTimeToken => ({
  purpose: 'password_reset',
  digest: named('sid-1'),
  userId: 'user-19367',
  expiresAt: T0 + 1000,
  ...fields
})

/** One-time tokens. Part of `stateContract`. */
export function oneTimeTokenCases(make: () => Promise<StateSubject>): ContractCase[] {
  const cases: ContractCase[] = []
  const define = (name: string, check: (tokens: OneTimeTokenStore, subject: StateSubject) => Promise<void>): void => {
    cases.push(caseOf(make, `oneTimeTokens: ${name}`, (subject) => check(subject.state.oneTimeTokens, subject)))
  }

  define('finds a token any number of times, and consumes it once', async (tokens) => {
    await tokens.put(token())
    for (let time = 0; time < 2; time++)
      deepEqual({ ...(await tokens.find('password_reset', named('sid-1'), T0)) }, token())
    deepEqual({ ...(await tokens.consume('password_reset', named('sid-1'), T0)) }, token())
    equal(await tokens.consume('password_reset', named('sid-1'), T0), null)
    equal(await tokens.find('password_reset', named('sid-1'), T0), null)
  })

  define('consumes a token in one of 50 parallel calls', async (tokens) => {
    await tokens.put(token())
    const results = await parallel(50, () => tokens.consume('password_reset', named('sid-1'), T0))
    equal(results.filter((result) => result !== null).length, 1)
  })

  define('rejects a token for another purpose', async (tokens) => {
    await tokens.put(token())
    equal(await tokens.find('verify_email', named('sid-1'), T0), null)
    equal(await tokens.consume('verify_email', named('sid-1'), T0), null)
    await tokens.put(token({ purpose: 'verify_email', digest: named('sid-2') }))
    await tokens.discard('verify_email', 'user-19367')
    ok(await tokens.consume('password_reset', named('sid-1'), T0), 'and is not replaced or ended by the other')
  })

  define('replaces only the previous token of the user in put', async (tokens) => {
    await tokens.put(token({ userId: 'user-104981', digest: named('sid-b', 'user-104981') }))
    await tokens.put(token())
    await tokens.put(token({ digest: named('sid-2') }))
    equal(await tokens.find('password_reset', named('sid-1'), T0), null)
    equal(await tokens.consume('password_reset', named('sid-1'), T0), null)
    ok(await tokens.consume('password_reset', named('sid-2'), T0))
    ok(await tokens.consume('password_reset', named('sid-b', 'user-104981'), T0))
  })

  define('accepts one token after 50 parallel puts', async (tokens) => {
    await parallel(50, (index) => tokens.put(token({ digest: named(`sid-${index}`) })))
    const results = await parallel(50, (index) => tokens.consume('password_reset', named(`sid-${index}`), T0))
    equal(results.filter((result) => result !== null).length, 1)
  })

  for (const offset of [-1, 0, 1]) {
    define(`${offset < 0 ? 'finds' : 'does not find'} a token ${timeAt(offset, 'expiresAt')}`, async (tokens) => {
      await tokens.put(token())
      equal((await tokens.find('password_reset', named('sid-1'), T0 + 1000 + offset)) !== null, offset < 0)
      equal((await tokens.consume('password_reset', named('sid-1'), T0 + 1000 + offset)) !== null, offset < 0)
    })
  }

  define('discards only the token of the user, and is idempotent', async (tokens) => {
    await tokens.put(token())
    await tokens.put(token({ userId: 'user-104981', digest: named('sid-2', 'user-104981') }))
    await tokens.discard('password_reset', 'user-19367')
    await tokens.discard('password_reset', 'user-19367')
    equal(await tokens.consume('password_reset', named('sid-1'), T0), null)
    ok(await tokens.consume('password_reset', named('sid-2', 'user-104981'), T0))
  })

  define('leaves no token after a discard that races a consumption', async (tokens) => {
    await tokens.put(token())
    const results = await Promise.all([
      tokens.consume('password_reset', named('sid-1'), T0),
      tokens.discard('password_reset', 'user-19367'),
      tokens.consume('password_reset', named('sid-1'), T0)
    ])
    ok(results.filter(Boolean).length <= 1)
    equal(await tokens.find('password_reset', named('sid-1'), T0), null)
  })

  define('returns copies of tokens', async (tokens) => {
    const given = token()
    await tokens.put(given)
    given.userId = 'user-104981'
    const found = await tokens.find('password_reset', named('sid-1'), T0)
    ok(found)
    found.expiresAt = T0
    deepEqual({ ...(await tokens.consume('password_reset', named('sid-1'), T0)) }, token())
  })

  const OWNER = 'user-19367'
  const code = (fields: Partial<OneTimeToken> = {}): OneTimeToken =>
    token({ purpose: 'sign_in_code', userId: OWNER, ...fields })
  const guess = async (
    tokens: OneTimeTokenStore,
    codeDigest: string,
    now = T0,
    owner = OWNER
  ): Promise<CodeOutcome> => {
    ok(tokens.redeemCode, 'oneTimeTokens.redeemCode is missing')
    return await tokens.redeemCode({ purpose: 'sign_in_code', owner, codeDigest, now })
  }

  define('redeemCode: redeems a code once, for its owner only', async (tokens) => {
    equal(await guess(tokens, named('sid-1')), 'unknown')
    await tokens.put(code())
    equal(await guess(tokens, named('sid-1'), T0, 'user-104981'), 'unknown', "it is another owner's")
    equal(await guess(tokens, named('sid-1')), 'redeemed')
    equal(await guess(tokens, named('sid-1')), 'unknown')
    equal(await tokens.find('sign_in_code', named('sid-1'), T0), null)
  })

  define('redeemCode: refuses the right code after five wrong ones', async (tokens) => {
    await tokens.put(code())
    for (let time = 0; time < 5; time++) equal(await guess(tokens, named(`sid-wrong-${time}`)), 'wrong')
    equal(await guess(tokens, named('sid-1')), 'spent')
    equal(await guess(tokens, named('sid-wrong-0')), 'spent')
  })

  define('redeemCode: accepts the right code after four wrong ones', async (tokens) => {
    await tokens.put(code())
    for (let time = 0; time < 4; time++) equal(await guess(tokens, named(`sid-wrong-${time}`)), 'wrong')
    equal(await guess(tokens, named('sid-1')), 'redeemed')
    await tokens.put(code({ digest: named('sid-2') }))
    equal(await guess(tokens, named('sid-wrong-0')), 'wrong', 'and a code after it begins anew')
    equal(await guess(tokens, named('sid-2')), 'redeemed')
  })

  define('redeemCode: checks five of 50 parallel wrong codes', async (tokens) => {
    await tokens.put(code())
    const outcomes = await parallel(50, (index) => guess(tokens, named(`sid-wrong-${index}`)))
    equal(outcomes.filter((outcome) => outcome === 'wrong').length, 5)
    equal(outcomes.filter((outcome) => outcome === 'spent').length, 45)
    equal(await guess(tokens, named('sid-1')), 'spent')
  })

  define('redeemCode: redeems a code once in 50 parallel calls', async (tokens) => {
    await tokens.put(code())
    const outcomes = await parallel(50, () => guess(tokens, named('sid-1')))
    equal(outcomes.filter((outcome) => outcome === 'redeemed').length, 1)
    equal(outcomes.filter((outcome) => outcome === 'unknown').length, 49)
  })

  define('redeemCode: replaces the old code with a new one, but keeps the count of wrong codes', async (tokens) => {
    await tokens.put(code())
    for (let time = 0; time < 3; time++) await guess(tokens, named(`sid-wrong-${time}`))
    await tokens.put(code({ digest: named('sid-2'), expiresAt: T0 + 1500 }))
    equal(await guess(tokens, named('sid-1'), T0 + 500), 'wrong', 'the former one is no code any more')
    equal(await guess(tokens, named('sid-wrong-3'), T0 + 500), 'wrong')
    equal(await guess(tokens, named('sid-2'), T0 + 999), 'spent')
    equal(
      await guess(tokens, named('sid-2'), T0 + 1000),
      'redeemed',
      'what was counted is forgotten when the first of the codes would have expired'
    )
  })

  define('redeemCode: counts wrong codes per owner', async (tokens) => {
    await tokens.put(code())
    await tokens.put(code({ userId: 'user-104981', digest: named('sid-b', 'user-104981') }))
    for (let time = 0; time < 5; time++) await guess(tokens, named(`sid-wrong-${time}`))
    equal(await guess(tokens, named('sid-b', 'user-104981'), T0, 'user-104981'), 'redeemed')
  })

  for (const offset of [-1, 0, 1]) {
    define(
      `redeemCode: ${offset < 0 ? 'redeems' : 'does not find'} a code ${timeAt(offset, 'expiresAt')}`,
      async (tokens) => {
        await tokens.put(code())
        equal(await guess(tokens, named('sid-1'), T0 + 1000 + offset), offset < 0 ? 'redeemed' : 'unknown')
      }
    )
  }

  define('redeemCode: rejects a discarded code and a token of another purpose', async (tokens) => {
    await tokens.put(code())
    await tokens.put(token({ digest: named('sid-2') }))
    equal(await guess(tokens, named('sid-2')), 'wrong')
    await tokens.discard('sign_in_code', OWNER)
    equal(await guess(tokens, named('sid-1')), 'unknown')
    ok(await tokens.consume('password_reset', named('sid-2'), T0))
  })

  for (const [label, value] of HOSTILE_STRINGS) {
    define(`keeps strings unchanged: ${label}`, async (tokens) => {
      const digest = partitionOf(value) + value
      equal(await tokens.find('password_reset', digest, T0), null)
      await tokens.discard('password_reset', value)
      await tokens.put(token({ digest, userId: value }))
      equal((await tokens.consume('password_reset', digest, T0))?.userId, value)
    })
  }

  define('sweeps expired tokens, and keeps valid ones', async (tokens, { state, expiresByItself }) => {
    await tokens.put(token({ userId: 'user-104981', digest: named('sid-2', 'user-104981'), expiresAt: T0 }))
    await tokens.put(token())
    await state.sweep(T0)
    ok(await tokens.consume('password_reset', named('sid-1'), T0))
    if (!expiresByItself)
      equal(await tokens.find('password_reset', named('sid-2', 'user-104981'), T0 - 1), null, 'and removes what is not')
  })

  return cases
}
