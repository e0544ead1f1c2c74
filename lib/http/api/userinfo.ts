import { Type } from '@sinclair/typebox'
import { userInfo } from '../../oauth/introspect.ts'
import { tokenOf } from '../edge/caller-guards.ts'
import { endpoint, type Endpoint } from '../edge/endpoint.ts'

const shared = {
  path: 'userinfo',
  callers: { scope: 'openid' },
  isProtocol: true,
  cors: 'ofAccessTokens',
  takes: 'form',
  summary: 'Claims about me',
  answers: {
    200: Type.Object(
      { sub: Type.String({ description: 'The user. The other members are the claims that the token asks for.' }) },
      { additionalProperties: true }
    )
  },
  // Nobody could verify what a shared secret has signed.
  isOn: ({ wellKnown }) => wellKnown.jwks !== null,
  handle: async (request, _reply, { grants, clientsOf }) =>
    await userInfo(tokenOf(request), { ...grants, clients: clientsOf(request) })
} as const satisfies Partial<Endpoint>
const description = 'Needs an access token: Authorization: Bearer. It must grant the scope openid.'

/**
 * `GET` and `POST /auth/userinfo`. A token in the query is never looked at.
 * @see OpenID Connect Core 1.0 §5.3, RFC 6750 §2, §3
 */
export const userinfo = [
  endpoint({
    ...shared,
    method: 'GET',
    description,
    what:
      'The claims about the user of the access token (OpenID Connect Core 1.0 §5.3): `sub`, and what the granted ' +
      'scopes and the `claims` parameter of the authorization request ask for. The session and the user are looked ' +
      'up. A token in the query is not looked at. Does not exist where `keys` is a shared secret.',
    errors: { 403: { insufficient_scope: 'without `openid`' } }
  }),
  endpoint({
    ...shared,
    method: 'POST',
    fromAnyPage: true,
    // There is no schema of the body, because the document would call it required, and the header alone is enough.
    // The guard of the scope reads the token from the header or the form.
    description: `${description} It may also come as access_token in a form.`,
    what: 'The same. The token may be in the form instead of the header, not in both.'
  })
]
