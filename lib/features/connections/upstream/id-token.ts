import * as oauth from 'oauth4webapi'
import { UpstreamError } from '../../../errors.ts'
import type { Provider } from '../../../ports/provider.ts'
import { type AppTokenRules, checkAppIdToken } from '../../../protocol/upstream-answer.ts'
import { failing, otherIssuer } from './engine.ts'
import type { kept } from '../../../adapters/upstream/kept.ts'

type Keys = ReturnType<typeof kept<{ keys: unknown[] }>>
type Claims = Readonly<Record<string, unknown>>

/**
 * Checks the signature of the ID token in a response that the engine has read, by a key that the provider has now. @see
 * OpenID Connect Core 1.0 §10.1.1
 */
export function signatureCheck(keys: Keys): (as: oauth.AuthorizationServer, response: Response) => Promise<void> {
  /** The engine caches imported keys by this object, so each key set has its own. */
  const holders = new WeakMap<object, oauth.AuthorizationServer>()

  return async (as, response) => {
    const by = async (jwks: object): Promise<void> => {
      const holder = holders.get(jwks) ?? { ...as }
      holders.set(jwks, holder)
      await failing('id_token', async () => {
        await oauth.validateApplicationLevelSignature(holder, response, {
          [oauth.allowInsecureRequests]: true,
          [oauth.customFetch]: async () => Response.json(jwks)
        })
      })
    }
    try {
      await by(await keys.get())
    } catch (error) {
      if (!(error instanceof UpstreamError) || error.reason !== 'id_token') throw error
      const renewed = await keys.renewed()
      if (renewed === null) throw error
      await by(renewed)
    }
  }
}

interface AppToken {
  token: string
  rules: AppTokenRules
  provider: Provider
  /** The provider's metadata. */
  metadata(): Promise<oauth.AuthorizationServer>
  /** The client that a token of this audience is for. */
  clientFor(audience: string): oauth.Client
  verify: ReturnType<typeof signatureCheck>
}

/**
 * The claims of an ID token that an app sent. Checks its audience before its signature, so that no request goes to the
 * provider for a token that could not count anyway.
 * @throws UpstreamError
 */
export async function appTokenClaims({
  token,
  rules,
  provider,
  metadata,
  clientFor,
  verify
}: AppToken): Promise<Claims> {
  const [header, claims] = token.split('.').map(decoded)
  // Access tokens and logout tokens of a provider name their type, unlike ID tokens. @see RFC 9068 §2.1, OpenID Connect
  // Back-Channel Logout 1.0 §2.4
  const { typ } = header ?? {}
  if (
    header === undefined ||
    claims === undefined ||
    claims['events'] !== undefined ||
    !(typ === undefined || (typeof typ === 'string' && typ.toUpperCase() === 'JWT'))
  )
    throw new UpstreamError('id_token', 'The token is no ID token.')
  const { iss, aud, azp } = claims
  if (typeof iss !== 'string' || !provider.acceptsIssuer(iss))
    throw new UpstreamError('id_token', 'The ID token was refused (iss).', otherIssuer(provider.issuer, iss))
  checkAppIdToken(claims, rules)
  const named = { ...(await metadata()), issuer: iss }
  // As the engine wants it: the answer of a token endpoint to the app.
  const response = Response.json({ access_token: 'none', token_type: 'bearer', id_token: token })
  const { nonce } = claims
  const body = await failing(
    'id_token',
    async () =>
      await oauth.processAuthorizationCodeResponse(
        named,
        clientFor(String(Array.isArray(aud) ? (azp ?? aud[0]) : aud)),
        response,
        { expectedNonce: typeof nonce === 'string' ? nonce : oauth.expectNoNonce, requireIdToken: true }
      )
  )
  await verify(named, response)
  return oauth.getValidatedIdTokenClaims(body) as Claims
}

/** Decodes a part of a token without verifying it. */
export function decoded(part: string | undefined): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part ?? '', 'base64url').toString('utf8'))
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}
