import t from '../../support/tap.ts'
import { insufficientAuthentication, isEnough } from '../../../lib/protocol/bearer.ts'

const NOW = 1_800_000_000_000

t.test('accepts a sign-in only if it meets the required age and acr, as far as they are set', async (t) => {
  const rows: Array<
    [
      signIn: { acr: unknown; authenticatedAt: unknown },
      required: { maxAge: number | null; acr: string | null },
      enough: boolean
    ]
  > = [
    [{ acr: undefined, authenticatedAt: undefined }, { maxAge: null, acr: null }, true],
    [{ acr: 'mfa', authenticatedAt: undefined }, { maxAge: null, acr: 'mfa' }, true],
    [{ acr: 'phr', authenticatedAt: undefined }, { maxAge: null, acr: 'mfa' }, true],
    [{ acr: 'password', authenticatedAt: NOW }, { maxAge: null, acr: 'mfa' }, false],
    [{ acr: undefined, authenticatedAt: NOW }, { maxAge: null, acr: 'mfa' }, false],
    [{ acr: ['mfa'], authenticatedAt: NOW }, { maxAge: null, acr: 'mfa' }, false],
    [{ acr: undefined, authenticatedAt: NOW - 60_000 }, { maxAge: 60, acr: null }, true],
    [{ acr: undefined, authenticatedAt: NOW - 60_001 }, { maxAge: 60, acr: null }, false],
    [{ acr: undefined, authenticatedAt: NOW }, { maxAge: 0, acr: null }, true],
    [{ acr: undefined, authenticatedAt: undefined }, { maxAge: 60, acr: null }, false],
    [{ acr: undefined, authenticatedAt: String(NOW) }, { maxAge: 60, acr: null }, false],
    [{ acr: undefined, authenticatedAt: null }, { maxAge: 60, acr: null }, false],
    [{ acr: 'mfa', authenticatedAt: NOW }, { maxAge: 60, acr: 'mfa' }, true],
    [{ acr: 'mfa', authenticatedAt: NOW - 60_001 }, { maxAge: 60, acr: 'mfa' }, false],
    [{ acr: 'password', authenticatedAt: NOW }, { maxAge: 60, acr: 'mfa' }, false]
  ]
  for (const [signIn, required, enough] of rows)
    t.equal(isEnough(signIn, required, NOW), enough, JSON.stringify([signIn, required]))
})

t.test('names the required acr values and age in the challenge', async (t) => {
  const values = ['password', 'mfa', 'phr']
  const refusal = (required: { maxAge: number | null; acr: string | null }) =>
    insufficientAuthentication(required, values)
  const challenge = (required: { maxAge: number | null; acr: string | null }) =>
    refusal(required).headers?.['www-authenticate']
  t.match(refusal({ maxAge: 60, acr: 'mfa' }), {
    error: 'insufficient_user_authentication',
    message: 'Another sign-in is needed.'
  })
  t.equal(
    challenge({ maxAge: 60, acr: 'mfa' }),
    'Bearer error="insufficient_user_authentication", error_description="Another sign-in is ' +
      'needed.", acr_values="mfa phr", max_age="60"'
  )
  t.equal(
    challenge({ maxAge: null, acr: 'phr' }),
    'Bearer error="insufficient_user_authentication", error_description="Another sign-in is needed.", acr_values="phr"'
  )
  t.equal(
    challenge({ maxAge: 0, acr: null }),
    'Bearer error="insufficient_user_authentication", error_description="A more recent sign-in is needed.", max_age="0"'
  )
  t.equal(
    challenge({ maxAge: null, acr: 'unknown' }),
    'Bearer error="insufficient_user_authentication", error_description="Another sign-in is needed."',
    'where none of what there is would do'
  )
})
