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
import type { SignInPageKind, AuthorizeDeps, AuthorizeSlots, StepTowards, RequiredAcr } from './deps.ts'

/**
 * The `acr` values that satisfy an authorization request. An essential claim is a requirement. `acr_values` are a
 * requirement too. Otherwise the client would come back from the step-up challenge of an API with the same level again
 * and again. `acr_values` that this server does not know are ignored. The client's own `acr` is always the minimum,
 * because the user can change the address of the request.
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
 * The level that the code and its tokens state: the strongest required value that this session reaches. Without a
 * requirement, it is the strongest requested value that the session reaches, otherwise the session's own level. `null`:
 * the session reaches no required value.
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

/**
 * The `acr` values that the `claims` parameter requests for the ID token, without values that are no strings. `null`:
 * it requests none.
 */
function claimedAcr({ id_token: idToken }: AuthorizationRequest['claims']): string[] | null {
  const acr = idToken?.acr
  if (acr === undefined || acr === null || (acr.value === undefined && acr.values === undefined)) return null
  return [...(acr.value === undefined ? (acr.values ?? []) : [acr.value])].filter((value) => typeof value === 'string')
}

type ReachDeps = Pick<AuthorizeDeps, 'accounts' | 'slots'>

async function reaches(
  acr: string,
  user: User,
  asking: SignInPageKind,
  { accounts, slots }: ReachDeps
): Promise<boolean> {
  for (const slot of slots) if ((await slot.reaches?.(acr, user, asking)) === true) return true
  return acr === PASSWORD_ACR && (!asking.hostedSignIn || (await waysIn(user, accounts)).password)
}

/**
 * True if a new sign-in of this account can reach one of these levels. Always true if they include a level other than
 * `password`, `mfa` and `phr`, because this service cannot predict such a level before the sign-in.
 */
export async function reachesOne(
  values: readonly string[],
  user: User,
  asking: SignInPageKind,
  deps: ReachDeps
): Promise<boolean> {
  if (values.some((value) => !isOwnLevel(value))) return true
  for (const value of values) if (await reaches(value, user, asking, deps)) return true
  // A new sign-in through a link may reach `password`, because the provider may ask for more than the last time.
  return values.includes(PASSWORD_ACR) && (await waysIn(user, deps.accounts)).links.length > 0
}

const isOwnLevel = (acr: string): boolean => acr === PASSWORD_ACR || acr === MFA_ACR || acr === PASSKEY_ACR

/**
 * Returns the hosted page that raises a session to `acr`. If second factors are on, that feature decides. `null`: the
 * user only needs to sign in again.
 */
export async function stepTowards(
  acr: string,
  person: SignedInPerson,
  asking: Parameters<NonNullable<AuthorizeSlots['towards']>>[2],
  deps: ReachDeps
): Promise<StepTowards | null> {
  if (!isOwnLevel(acr)) return null
  for (const { towards } of deps.slots) if (towards !== undefined) return await towards(acr, person, asking)
  if (!(await reaches(acr, person.user, asking, deps))) return 'never'
  return asking.hostedSignIn ? 'reauthenticate' : null
}
