import { Type } from '@sinclair/typebox'
import { Errors } from '@sinclair/typebox/errors'
import { UpstreamError } from '../../../errors.ts'
import type { Assertion, Provider } from '../../../ports/provider.ts'
import type { UpstreamResult } from '../../../ports/upstream.ts'
import { MAX_CLAIM, STORABLE } from '../../../protocol/bounds.ts'
import * as oauth from 'oauth4webapi'
import { type AppTokenRules, checkAppIdToken } from '../../../protocol/upstream-answer.ts'
import { failing, otherIssuer } from './engine.ts'
import type { kept } from '../../../adapters/upstream/ask-provider.ts'

type Claims = Readonly<Record<string, unknown>>

const MAX_SUBJECT = 255
const MAX_ISSUER = 2048
const MAX_EMAIL = 254

/** Merges the claims. The ID token wins, but `email` and `email_verified` are always both taken from one source. */
export function mergedClaims(idToken: Claims, userinfo: Claims): Record<string, unknown> {
  const { email: _email, email_verified: _verified, ...others } = { ...userinfo, ...idToken }
  // An address and `email_verified` come from the same source, because one source does not verify the other's address.
  const source =
    idToken['email'] === undefined ||
    (idToken['email_verified'] === undefined && userinfo['email'] === idToken['email'])
      ? userinfo
      : idToken
  return {
    ...others,
    ...Object.fromEntries(
      ['email', 'email_verified'].filter((name) => source[name] !== undefined).map((name) => [name, source[name]])
    )
  }
}

/** The types of an assertion's fields. `resultOf` drops an unverified address and profile values that are not plain. */
const AssertionSchema = Type.Object({
  subject: Type.RegExp(STORABLE, {
    minLength: 1,
    maxLength: MAX_SUBJECT,
    description: `a text of 1 to ${MAX_SUBJECT} characters that can be stored`
  }),
  issuer: Type.Optional(
    Type.RegExp(STORABLE, {
      minLength: 1,
      maxLength: MAX_ISSUER,
      description: `a text of 1 to ${MAX_ISSUER} characters that can be stored, or nothing`
    })
  ),
  email: Type.Optional(Type.Union([Type.String(), Type.Null()], { description: 'a text, or nothing' })),
  profile: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'an object, or nothing' })),
  authenticatedAt: Type.Optional(Type.Number({ minimum: 0, description: 'milliseconds since the epoch, or nothing' })),
  claims: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'an object, or nothing' }))
})

/** @throws UpstreamError `userinfo` */
function checkAssertion(assertion: unknown): asserts assertion is Assertion {
  const wrong = Errors(AssertionSchema, assertion).First()
  if (wrong === undefined) return
  const field = wrong.path.split('/')[1] ?? ''
  throw new UpstreamError(
    'userinfo',
    field === '' || wrong.schema.description === undefined
      ? "The provider's word on who the person is has no subject: it is no object of an assertion."
      : `The provider's word on who the person is does not fit: ${field} has to be ${wrong.schema.description}.`
  )
}

/**
 * Converts an assertion to the form that the use cases take. Drops an address that the provider has not verified.
 * @throws UpstreamError `userinfo` for an assertion that does not fit
 */
export function resultOf(
  { assertion, claims }: { assertion: Assertion; claims: Claims },
  issuer: string
): Omit<UpstreamResult, 'tokens'> {
  checkAssertion(assertion)
  const { subject, issuer: own = issuer, email, emailVerified, emailAuthoritative, authenticatedAt } = assertion
  const verified = emailVerified === true && typeof email === 'string' && email !== '' && email.length <= MAX_EMAIL
  const profile = Object.fromEntries(Object.entries(assertion.profile ?? {}).filter(([, value]) => isPlain(value)))
  return {
    assertion: {
      issuer: own,
      subject,
      ...(verified ? { email } : {}),
      emailAuthoritative: verified && emailAuthoritative === true,
      profile,
      ...(authenticatedAt === undefined ? {} : { authenticatedAt })
    },
    claims: { ...claims, ...profile }
  }
}

function isPlain(value: unknown): boolean {
  return typeof value === 'string' ? value.length <= MAX_CLAIM : typeof value === 'boolean' || typeof value === 'number'
}

type Keys = ReturnType<typeof kept<{ keys: unknown[] }>>

/**
 * Makes the check of an ID token's signature in a response that the engine has read. If no cached key fits, fetches the
 * provider's key set again, unless it did so just before, and repeats the check.
 * @see OpenID Connect Core 1.0 §10.1.1
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
  metadata(): Promise<oauth.AuthorizationServer>
  /** Returns the client to which a token with this audience belongs. */
  clientFor(audience: string): oauth.Client
  verify: ReturnType<typeof signatureCheck>
}

/**
 * Checks an ID token that an app sent, and returns its claims. Checks issuer and audience before the signature, so that
 * a token with a wrong one causes no request to the provider.
 * @throws UpstreamError
 */
export async function appTokenClaims({
  token,
  rules,
  provider,
  metadata,
  clientFor,
  verify
}: AppToken): Promise<Readonly<Record<string, unknown>>> {
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
  // Wraps the ID token as the answer of a token endpoint, because the engine takes nothing else.
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
  return oauth.getValidatedIdTokenClaims(body) as Record<string, unknown>
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
