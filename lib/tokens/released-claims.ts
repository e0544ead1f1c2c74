import type { Client } from '../ports/client-store.ts'
import type { User } from '../ports/user-store.ts'
import type { ClaimsRequest } from '../protocol/claims-request.ts'
import { CLAIM_SCOPES, CLAIMS_OF_SCOPE, requestedClaims, standardClaims } from '../protocol/user-claims.ts'

/** The option `claims`. */
export type ClaimsFunction = (user: User, context: { scopes: string[], client: Client | null, use: 'access_token' | 'id_token' | 'userinfo' }) => Record<string, unknown> | Promise<Record<string, unknown>>

export interface ClaimsRelease {
  user: User
  client: Client | null
  /** Granted scope. */
  scopes: string[]
  use: 'id_token' | 'userinfo'
  /** The `claims` parameter of the authorization request. */
  claims: ClaimsRequest | undefined
}

const STANDARD: ReadonlySet<string> = new Set(CLAIM_SCOPES.flatMap((scope) => CLAIMS_OF_SCOPE[scope]))

/**
 * The claims about a user that go into an ID token or a userinfo answer, without `sub`.
 *
 * The host's function says what a claim's value is, before the user's row; `undefined` takes the claim away. A claim of the
 * standard goes out only where it is asked for, whoever knows its value: by a granted scope (at userinfo), or by name in the
 * `claims` parameter. One of the host's own goes wherever the host returns it.
 * @see OpenID Connect Core 1.0 §5.3.2, §5.4, §5.5
 */
export async function releasedClaims ({ user, client, scopes, use, claims }: ClaimsRelease, host: ClaimsFunction | null): Promise<Record<string, unknown>> {
  const ofHost = host === null ? {} : await host(user, { scopes, client, use })
  const all: Record<string, unknown> = { ...standardClaims(user, CLAIM_SCOPES), ...ofHost }
  const asked = new Set<string>(use === 'userinfo' ? CLAIM_SCOPES.filter((scope) => scopes.includes(scope)).flatMap((scope) => CLAIMS_OF_SCOPE[scope]) : [])
  // `name#ja` is a name too.
  const goes = Object.entries(all).filter(([name]) => !STANDARD.has(baseName(name)) || asked.has(baseName(name)))
  const released = { ...Object.fromEntries(goes), ...requestedClaims(all, claims?.[use]) }
  return Object.fromEntries(Object.entries(released).filter(([name, value]) => name !== 'sub' && value !== undefined && value !== null))
}

/** Without the language tag. @see OpenID Connect Core 1.0 §5.2 */
function baseName (name: string): string {
  return name.split('#', 1)[0] ?? name
}
