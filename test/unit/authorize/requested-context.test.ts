import t from '../../support/tap.ts'
import { contextFor, requiredAcr } from '../../../lib/authorize/requested-context.ts'
import type { BrowserSession } from '../../../lib/ports/session-store.ts'
import type { AuthenticationMethod } from '../../../lib/protocol/authentication.ts'
import type { AuthorizationRequest } from '../../../lib/protocol/authorization-request.ts'

type Asked = Pick<AuthorizationRequest, 'acrValues' | 'claims'>
const NOW = 1_767_225_600_000
const asks = (acrValues: string[], acr?: object): Asked =>
  ({ acrValues, claims: acr === undefined ? {} : { id_token: { acr } } }) as Asked
const session = (...methods: AuthenticationMethod[]): BrowserSession =>
  ({ methods: methods.map((method) => ({ method, at: NOW })), authenticatedAt: NOW }) as unknown as BrowserSession

// covers SU-01 SU-02
t.test('requires at least the authentication context of the client, whatever the request asks for', async (t) => {
  const rows: Array<[name: string, asked: Asked, least: string | undefined, required: readonly string[] | null]> = [
    ['nothing', asks([]), undefined, null],
    ['nothing', asks([]), 'mfa', ['mfa', 'phr']],
    ['less', asks(['password']), 'mfa', ['mfa', 'phr']],
    ['less and more', asks(['password', 'phr']), 'mfa', ['phr']],
    ['the same', asks(['mfa']), 'mfa', ['mfa']],
    ['more', asks(['phr']), 'password', ['phr']],
    ['what nobody knows', asks(['1', 'MFA']), 'mfa', ['mfa', 'phr']],
    ['another kind', asks(['connection']), 'mfa', ['mfa', 'phr']],
    ['another kind', asks(['mfa', 'connection']), 'connection', ['connection']],
    ['less, as a wish', asks([], { value: 'password' }), 'mfa', ['mfa', 'phr']],
    ['an essential claim of less', asks(['mfa'], { essential: true, value: 'password' }), 'mfa', []],
    ['an essential claim of both', asks([], { essential: true, values: ['password', 'mfa'] }), 'mfa', ['mfa']],
    ['an essential claim of nothing', asks([], { essential: true }), 'mfa', ['mfa', 'phr']],
    ['an essential claim', asks([], { essential: true, values: ['password', 'mfa'] }), undefined, ['password', 'mfa']]
  ]
  for (const [name, asked, acr, required] of rows)
    t.strictSame(requiredAcr(asked, { acr }), required, `${name}, of a client with ${acr ?? 'none'}`)
})

t.test('returns a context class that satisfies the client, or none', async (t) => {
  const asked = asks(['password'])
  const shown = (...methods: AuthenticationMethod[]): string | null | undefined =>
    contextFor(asked, requiredAcr(asked, { acr: 'mfa' }), session(...methods))?.acr
  t.equal(shown('password'), undefined)
  t.equal(shown('connection'), undefined)
  t.equal(shown('connection', 'otp'), 'mfa', 'two factors of different kinds, whichever the first was')
  t.equal(shown('password', 'otp'), 'mfa', 'and the token says so')
  t.equal(shown('passkey'), 'phr')
})
