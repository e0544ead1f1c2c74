/** The rules for an ID token that an app got from another provider, besides the rules for every ID token. */
import { hash } from 'node:crypto'
import { UpstreamError } from '../errors.ts'

/** Seconds. An app exchanges its token at once. */
const MAX_AGE = 300
/** Seconds that the provider's clock may be ahead. */
const LEEWAY = 60

export interface AppTokenRules {
  /** The client ids, at the provider, of the apps whose tokens are taken. */
  audiences: readonly string[]
  /** The nonce that the app asked the provider to put into the token. `null`: the app names none. */
  nonce: string | null
  /** True if a token without a nonce is refused. */
  nonceRequired: boolean
  /** Milliseconds since the epoch. */
  now: number
}

type Claims = Readonly<Record<string, unknown>>

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

const CHECKS: ReadonlyArray<{ name: string; see: string; holds(claims: Claims, rules: AppTokenRules): boolean }> = [
  {
    name: 'aud',
    see: 'OpenID Connect Core 1.0 §3.1.3.7 (3)',
    holds: ({ aud }, { audiences }) =>
      Array.isArray(aud)
        ? aud.length > 0 && aud.every((one) => audiences.includes(one as string))
        : audiences.includes(aud as string)
  },
  // With one audience `azp` is not compared: Google names the app there, and in `aud` the server that the app belongs
  // to.
  {
    name: 'azp',
    see: 'OpenID Connect Core 1.0 §3.1.3.7 (4), (5)',
    holds: ({ aud, azp }, { audiences }) => !Array.isArray(aud) || aud.length === 1 || audiences.includes(azp as string)
  },
  {
    name: 'iat',
    see: 'OpenID Connect Core 1.0 §3.1.3.7 (10)',
    holds: ({ iat }, { now }) =>
      typeof iat === 'number' && Number.isFinite(iat) && now / 1000 - iat <= MAX_AGE && iat - now / 1000 <= LEEWAY
  },
  { name: 'nonce', see: 'OpenID Connect Core 1.0 §3.1.3.7 (11)', holds: holdsNonce }
]

/**
 * Equal, or hashed as Apple's and Firebase's libraries send it. A nonce on either side must match even if the
 * connection does not require one.
 */
function holdsNonce({ nonce: claimed }: Claims, { nonce, nonceRequired }: AppTokenRules): boolean {
  if (claimed === undefined && nonce === null) return !nonceRequired
  return isText(claimed) && isText(nonce) && (claimed === nonce || claimed === hash('sha256', nonce, 'hex'))
}

/**
 * Checks an ID token that an app brought, whose signature, issuer and expiry are checked elsewhere.
 * @throws UpstreamError `id_token` that names the claim, and holds nothing of it
 */
export function checkAppIdToken(claims: Claims, rules: AppTokenRules): void {
  const failed = CHECKS.find(({ holds }) => !holds(claims, rules))
  if (failed !== undefined) throw new UpstreamError('id_token', `The ID token was refused (${failed.name}).`)
}

/** Until when a token that was issued at that time is accepted, in milliseconds since the epoch. */
export function appIdTokenEnd(issuedAt: number): number {
  return Math.ceil((issuedAt + MAX_AGE + LEEWAY) * 1000)
}
