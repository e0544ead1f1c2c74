import { hash } from 'node:crypto'
import t from '../../support/tap.ts'
import { appIdTokenEnd, type AppTokenRules, checkAppIdToken } from '../../../lib/protocol/upstream-answer.ts'

const SECONDS = 1_800_000_000
const RULES: AppTokenRules = { audiences: ['ios', 'android'], nonce: 'n-1', nonceRequired: true, now: SECONDS * 1000 }
const CLAIMS = { aud: 'ios', iat: SECONDS, nonce: 'n-1' }
const HASHED = hash('sha256', 'n-1', 'hex')

/** The claim that is refused, or `null`. */
function refused(claims: Record<string, unknown>, rules: Partial<AppTokenRules> = {}): string | null {
  try {
    checkAppIdToken({ ...CLAIMS, ...claims }, { ...RULES, ...rules })
    return null
  } catch (error) {
    const { reason, message } = error as { reason: string; message: string }
    return reason === 'id_token'
      ? (/^The ID token was refused \((\w+)\)\.$/.exec(message)?.[1] ?? message)
      : String(error)
  }
}

t.test('requires each audience of the token to be a registered app', async (t) => {
  for (const aud of ['ios', 'android', ['ios'], ['android']]) t.equal(refused({ aud }), null, JSON.stringify(aud))
  for (const aud of ['web', '', undefined, null, 7, {}, [], ['web'], ['ios', 'web'], [['ios']]])
    t.equal(refused({ aud }), 'aud', JSON.stringify(aud))
})

t.test('requires azp to be a registered app if there are several audiences', async (t) => {
  const aud = ['ios', 'android']
  t.equal(refused({ aud, azp: 'ios' }), null)
  for (const azp of ['web', undefined, 7, ['ios']]) t.equal(refused({ aud, azp }), 'azp', JSON.stringify(azp))
  for (const one of ['ios', ['ios']])
    t.equal(refused({ aud: one, azp: 'web' }), null, 'with one audience it is not compared')
})

t.test('accepts iat up to 300 seconds in the past and 60 in the future', async (t) => {
  for (const [iat, claim] of [
    [SECONDS - 300, null],
    [SECONDS - 301, 'iat'],
    [SECONDS + 60, null],
    [SECONDS + 61, 'iat'],
    [NaN, 'iat'],
    [Infinity, 'iat'],
    [-Infinity, 'iat'],
    [String(SECONDS), 'iat'],
    [[SECONDS], 'iat'],
    [undefined, 'iat'],
    [null, 'iat']
  ] as const)
    t.equal(refused({ iat }), claim, String(iat))
  t.equal(appIdTokenEnd(SECONDS), (SECONDS + 360) * 1000)
  t.equal(appIdTokenEnd(SECONDS + 0.0001), (SECONDS + 360) * 1000 + 1, 'never before its end')
})

t.test('requires the nonce of the app, or its SHA-256 hash', async (t) => {
  for (const nonce of ['n-1', HASHED]) t.equal(refused({ nonce }), null)
  for (const nonce of ['n-2', HASHED.toUpperCase(), hash('sha256', 'n-2', 'hex'), '', undefined, null, 7]) {
    t.equal(refused({ nonce }), 'nonce', String(nonce))
    t.equal(refused({ nonce }, { nonceRequired: false }), 'nonce', 'where one is said, it must be there')
  }
  for (const nonce of [null, ''])
    for (const nonceRequired of [true, false])
      t.equal(refused({}, { nonce, nonceRequired }), 'nonce', 'one that nobody said')
  t.equal(refused({ nonce: undefined }, { nonce: null }), 'nonce')
  t.equal(
    refused({ nonce: undefined }, { nonce: null, nonceRequired: false }),
    null,
    'where there need be none, and there is none'
  )
  t.equal(refused({ nonce: '' }, { nonce: '' }), 'nonce', 'an empty one is none')
  t.equal(refused({ nonce: hash('sha256', '', 'hex') }, { nonce: '' }), 'nonce')
})
