import { MAX_CODE_FAILURES, type OneTimeToken } from '../../../lib/ports/state.ts'
import {
  consumeToken,
  discardToken,
  findToken,
  putToken,
  redeemSignInCode
} from '../../../lib/records/one-time-token-rules.ts'
import t from '../../support/tap.ts'
import { type TestView, viewOf } from './support/view.ts'

const PURPOSE = 'sign_in_code'
const token = (fields: Partial<OneTimeToken> = {}): OneTimeToken => ({
  purpose: PURPOSE,
  digest: 'right',
  userId: 'ann',
  expiresAt: 100,
  ...fields
})
const held = (fields: Partial<OneTimeToken> = {}): TestView => {
  const view = viewOf()
  putToken(view, token(fields))
  return view
}

t.test('finds a token by its digest until it expires, and consumes it once', async (t) => {
  for (const [digest, now, isFound] of [
    ['right', 99, true],
    ['right', 100, false],
    ['wrong', 0, false]
  ] as const) {
    const view = held()
    t.strictSame(findToken(view, PURPOSE, digest, now), isFound ? token() : null)
    t.strictSame(consumeToken(view, PURPOSE, digest, now), isFound ? token() : null)
    t.equal(consumeToken(view, PURPOSE, digest, now), null)
    t.equal(view.records.size, isFound ? 0 : 1)
  }
  t.equal(findToken(held(), 'password_reset', 'right', 0), null, 'a token of another purpose')
})

t.test('replaces the former token, and lets only its user discard it', async (t) => {
  const view = held()
  putToken(view, token({ digest: 'second' }))
  t.equal(findToken(view, PURPOSE, 'right', 0), null)
  discardToken(view, PURPOSE, 'bob')
  t.match(findToken(view, PURPOSE, 'second', 0), { digest: 'second' })
  discardToken(view, PURPOSE, 'ann')
  t.strictSame(view.kinds(), [])
})

t.test('blocks the sign-in code of a user after five wrong codes, also a new code', async (t) => {
  const guess = (view: TestView, codeDigest: string, now: number, owner = 'ann'): string =>
    redeemSignInCode(view, { purpose: PURPOSE, owner, codeDigest, now })
  const view = held()
  t.equal(guess(view, 'right', 1, 'bob'), 'unknown')
  for (let wrong = 1; wrong < MAX_CODE_FAILURES; wrong++) t.equal(guess(view, 'wrong', 1), 'wrong')
  putToken(view, token({ digest: 'second', expiresAt: 300 }))
  t.equal(guess(view, 'right', 99), 'wrong', 'the fifth, of a code that was replaced')
  t.equal(guess(view, 'second', 99), 'spent')
  t.equal(guess(view, 'wrong', 100), 'wrong', 'the failures end with the code that they began at')
  t.equal(guess(view, 'second', 299), 'redeemed')
  t.equal(guess(view, 'second', 299), 'unknown')
  t.equal(guess(held(), 'right', 100), 'unknown', 'at its end')
})

t.test('keeps the record until its failures expire', async (t) => {
  const view = held()
  redeemSignInCode(view, { purpose: PURPOSE, owner: 'ann', codeDigest: 'wrong', now: 1 })
  putToken(view, token({ expiresAt: 50 }))
  t.match(view.records.get(`t:${PURPOSE}`), { kind: 'one_time_token', userId: 'ann', expiresAt: 100 })
})
