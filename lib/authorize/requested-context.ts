import { isContent } from '../clients/rights.ts'
import type { Client } from '../ports/client-store.ts'
import type { BrowserSession } from '../ports/session-store.ts'
import {
  ACR_VALUES,
  type AuthenticationContext,
  contextOf,
  MFA_ACR,
  PASSKEY_ACR,
  PASSWORD_ACR
} from '../protocol/authentication.ts'
import type { AuthorizationRequest } from '../protocol/authorization-request.ts'
import { waysIn } from '../accounts/ways-in.ts'
import type { User } from '../ports/user-store.ts'
import type { SignedInPerson } from '../sessions/browser-sessions.ts'
import type { Asking, AuthorizeDeps, AuthorizeSlots, StepTowards, RequiredAcr } from './deps.ts'

/**
 * The level that an authorization request requires. An essential claim must be met. `acr_values` must be met too,
 * because a client that an API sent here for more would otherwise come back with the same level for ever. Values
 * without a meaning for this server are wishes. The client's own requirement is the minimum in any case, because the
 * person can change the address.
 * @see OpenID Connect Core 1.0 §5.5.1.1, §15.1, RFC 9470 §5
 */
export function requiredAcr(
  { acrValues, claims }: Pick<AuthorizationRequest, 'acrValues' | 'claims'>,
  client: Pick<Client, 'acr'>
): RequiredAcr {
  const content = (value: string): boolean => isContent(client, value)
  const essential = claims.id_token?.acr?.essential === true ? claimedAcr(claims) : null
  if (essential !== null) return essential.filter(content)
  const known = acrValues.filter((value) => ACR_VALUES.includes(value) && content(value))
  if (known.length > 0) return known
  return client.acr === undefined ? null : ACR_VALUES.filter(content)
}

/**
 * The level that the code and its tokens state: the strongest required one that this session satisfies, else the
 * strongest wish, else its own. `null`: it satisfies no required one.
 */
export function contextFor(
  { claims }: Pick<AuthorizationRequest, 'claims'>,
  required: RequiredAcr,
  session: BrowserSession
): AuthenticationContext | null {
  if (required !== null) return contextOf(session, required)
  const wished = claimedAcr(claims) ?? []
  return (wished.length === 0 ? null : contextOf(session, wished)) ?? contextOf(session)
}

/** A value that is no string matches nothing. */
function claimedAcr({ id_token: idToken }: AuthorizationRequest['claims']): string[] | null {
  const acr = idToken?.acr
  if (acr === undefined || acr === null || (acr.value === undefined && acr.values === undefined)) return null
  return [...(acr.value === undefined ? (acr.values ?? []) : [acr.value])].filter((value) => typeof value === 'string')
}

type ReachDeps = Pick<AuthorizeDeps, 'accounts' | 'slots'>

async function reaches(acr: string, user: User, asking: Asking, { accounts, slots }: ReachDeps): Promise<boolean> {
  for (const slot of slots) if ((await slot.reaches?.(acr, user, asking)) === true) return true
  return acr === PASSWORD_ACR && (!asking.hostedSignIn || (await waysIn(user, accounts)).password)
}

/**
 * True if a sign-in of this account can reach one of these levels. `email` and `connection` are neither lower nor
 * higher than others, so a request for one is taken literally.
 */
export async function reachesOne(
  values: readonly string[],
  user: User,
  asking: Asking,
  deps: ReachDeps
): Promise<boolean> {
  if (values.some((value) => !isAbove(value))) return true
  for (const value of values) if (await reaches(value, user, asking, deps)) return true
  // The provider may prove more the next time.
  return values.includes(PASSWORD_ACR) && (await waysIn(user, deps.accounts)).links.length > 0
}

const isAbove = (acr: string): boolean => acr === PASSWORD_ACR || acr === MFA_ACR || acr === PASSKEY_ACR

/** See `AuthorizeSlots.towards`. */
export async function stepTowards(
  acr: string,
  person: SignedInPerson,
  asking: Parameters<NonNullable<AuthorizeSlots['towards']>>[2],
  deps: ReachDeps
): Promise<StepTowards | null> {
  if (!isAbove(acr)) return null
  for (const { towards } of deps.slots) if (towards !== undefined) return await towards(acr, person, asking)
  if (!(await reaches(acr, person.user, asking, deps))) return 'never'
  return asking.hostedSignIn ? 'reauthenticate' : null
}
