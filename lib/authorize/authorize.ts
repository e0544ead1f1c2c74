import { passwordChangedAt, userOf } from '../sessions/active-user.ts'
import { admitted, askableScopes, namedResources, scopesWithin } from '../oauth/target.ts'
import type { SignedInPerson } from '../sessions/browser-sessions.ts'
import { isFirstParty, mayUse, unknownOf } from '../clients/rights.ts'
import { OAuthError } from '../errors.ts'
import { NO_REQUEST } from '../events.ts'
import type { Client } from '../ports/client-store.ts'
import type { Consent } from '../ports/state.ts'
import type { OpenSession } from '../sessions/browser-sessions.ts'
import type { AuthenticationContext } from '../protocol/authentication.ts'
import {
  type AuthorizationRequest,
  type AuthorizationResponse,
  authorizationResponse,
  formatAuthorizationDetails,
  parseAuthorizationRequest
} from '../protocol/authorization-request.ts'
import { type AuthorizationParams, responseModeOf, satisfied, wordsOf } from '../protocol/authorization-params.ts'
import { digest } from '../protocol/digest.ts'
import { formatCredential, newCredentialId, sidOf } from '../protocol/credential.ts'
import { type Facts, firstObstacle, staysSignedIn } from './checks.ts'
import { type ClientRequest, clientRequest } from './client-request.ts'
import { type AuthorizeDeps, type BrowserContext, missingStepOf } from './deps.ts'
import { contextFor, reachesOne, requiredAcr } from './requested-context.ts'

export interface AnswerToClient {
  to: 'client'
  client: Client
  response: AuthorizationResponse
}

export type AuthorizeOutcome =
  | AnswerToClient
  /** The user must take this step first. The consent page shows the `facts`. */
  | { to: 'sign_in' | 'sign_up' | 'second_factor' | 'enrolment' }
  | { to: 'consent'; facts: Facts }

/**
 * Refuses a request that would be an error for every user, signed in or not.
 * @throws OAuthError
 * @see RFC 9126 §2.1
 */
export async function checkRequest(params: AuthorizationParams, deps: AuthorizeDeps): Promise<void> {
  const facts = await gatherFacts(await clientRequest(params, deps), { session: null, origin: NO_REQUEST }, deps)
  const obstacle = firstObstacle(facts)
  if (obstacle instanceof OAuthError && obstacle.error !== 'login_required') throw obstacle
}

/**
 * Decides an authorization request: a code, an error for the client, or a step that the person must take first.
 * @see RFC 6749 §4.1, OpenID Connect Core 1.0 §3.1.2
 */
export async function authorize(
  asked: ClientRequest,
  context: BrowserContext,
  deps: AuthorizeDeps
): Promise<AuthorizeOutcome> {
  try {
    const facts = await gatherFacts(asked, context, deps)
    const obstacle = firstObstacle(facts)
    if (obstacle instanceof OAuthError) throw obstacle
    const { signedIn, authentication } = facts
    if (obstacle !== null || signedIn === null || authentication === null) return { to: obstacle ?? 'sign_in', facts }
    const issued = await issueCode({ ...facts, authentication }, signedIn, context, deps)
    // The session or the consent has just ended, for example in another tab. So the request is decided again.
    if (typeof issued !== 'string') return await authorize(asked, { ...context, ...issued }, deps)
    return answer(asked, { code: issued }, deps)
  } catch (error) {
    if (error instanceof OAuthError && signsInBeforeAnError(asked, context)) return { to: 'sign_in' }
    return answer(asked, errorParams(error, deps), deps)
  }
}

/**
 * True if the client gets the error only after a sign-in. A faulty request that redirects at once would let a link to
 * this server lead straight to a phisher's site. So a third-party client gets its error only after a sign-in, unless it
 * asked with `prompt=none`.
 * @see RFC 9700 §4.11.2
 */
function signsInBeforeAnError({ params, client }: ClientRequest, { session }: BrowserContext): boolean {
  return !isFirstParty(client) && session === null && !wordsOf(params.prompt).includes('none')
}

/** The answer to the client if the user denies access. @see RFC 6749 §4.1.2.1 */
export function denyAuthorization(asked: ClientRequest, deps: AuthorizeDeps): AnswerToClient {
  return answer(asked, errorParams(new OAuthError('access_denied', 'The user did not allow it.'), deps), deps)
}

async function gatherFacts(
  { params, client, redirectUri }: ClientRequest,
  { session, answered, remembered }: BrowserContext,
  deps: AuthorizeDeps
): Promise<Facts> {
  // Nothing can remove `prompt=login` from a pushed request, so a sign-in after the push satisfies it.
  const isAnswered = params.pushed !== undefined && session !== null && session.authenticatedAt >= params.pushed.at
  const { dpop_jkt: key, ...others } = isAnswered ? satisfied(params, 'login') : params
  const request = parseAuthorizationRequest(
    deps.possession === null || key === undefined ? others : { ...others, dpop_jkt: key }
  )
  const {
    accounts: { clock, users },
    sessions
  } = deps
  const now = clock.now()
  const user = session === null ? null : await userOf(session, { users, sessions })
  const signedIn = session === null || user === null ? null : { session, user }
  const resources = namedResources(params, client, deps)
  const consent = await findConsent(client, signedIn, now, deps)
  const asked = scopesWithin(grantableScopes(request, client, consent, deps), resources, deps)
  const required = requiredAcr(request, client)
  const possible = required?.filter((value) => deps.acrValues.includes(value)) ?? null
  const authentication = session === null || user === null ? null : contextFor(request, possible, session)
  return {
    request,
    client,
    redirectUri,
    resources,
    scopes: signedIn === null ? asked : [...(await admitted(asked, { user: signedIn.user, client }, deps))],
    signedIn,
    required,
    authentication,
    acrValues: deps.acrValues,
    missing:
      signedIn === null
        ? null
        : await missingStepOf(signedIn, { request, client, possible, authentication, remembered, now }, deps.slots),
    canProveMore:
      user === null || authentication !== null || possible === null || (await reachesOne(possible, user, deps, deps)),
    hostedSignIn: deps.hostedSignIn,
    hint: request.idTokenHint === undefined ? null : await deps.idTokens.readHint(request.idTokenHint),
    consent,
    canSignUp: deps.canSignUp,
    mustPush: deps.pushed?.isRequired === true,
    answered: answered ?? null,
    now
  }
}

/**
 * The requested scopes that can be granted, or `openid` if the request has no `scope`. Unknown and forbidden ones are
 * left out, and the token answer says so. `offline_access` is for clients that may refresh. A third-party client also
 * needs the person's consent to it: the consent page asks for it like any other scope, and `prompt=none` leaves it out
 * unless the person has allowed it before.
 * @see RFC 6749 §3.3, OpenID Connect Core 1.0 §3.1.2.1, §11
 */
export function grantableScopes(
  request: Pick<AuthorizationRequest, 'scopes' | 'prompt'>,
  client: Client,
  consent: Consent | null,
  deps: Pick<AuthorizeDeps, 'scopes' | 'administration'>
): string[] {
  const allowed = askableScopes(client, deps)
  const scopes = (request.scopes ?? ['openid']).filter((scope) => allowed.includes(scope))
  const offline =
    mayUse(client, 'refresh_token') &&
    (isFirstParty(client) || !request.prompt.includes('none') || consent?.scopes.includes('offline_access') === true)
  return scopes.filter((scope) => scope !== 'offline_access' || offline)
}

/**
 * Issues the code, and counts a use of the session in the same store operation. Reads the consent again afterwards, so
 * that no code outlives a sign-out or a revoked consent. Uses up a pushed request last, so that only one of several
 * parallel codes stays. Resolves to the code. If the session or the consent ended meanwhile, resolves to the session
 * with which to decide the request again (`session: null` if the session has ended).
 */
async function issueCode(
  facts: Facts & { authentication: AuthenticationContext },
  signedIn: SignedInPerson,
  { origin }: BrowserContext,
  deps: AuthorizeDeps
): Promise<string | { session: OpenSession | null }> {
  const { request, client, redirectUri, scopes, resources, authentication, now } = facts
  const {
    tokens,
    sessions,
    accounts: { random }
  } = deps
  const { userId, sid: sessionSid } = signedIn.session
  const id = newCredentialId(userId, random.id())
  const secret = random.secret()
  const sid = sidOf(id)
  const isCreated = await tokens.createCode(
    {
      sid,
      userId,
      clientId: client.clientId,
      scope: scopes.join(' '),
      ...authentication,
      createdAt: now,
      sessionSid,
      offline: staysSignedIn(facts),
      authorization: formatAuthorizationDetails({
        redirectUri,
        ...(request.codeChallenge === undefined ? {} : { codeChallenge: request.codeChallenge }),
        ...(request.nonce === undefined ? {} : { nonce: request.nonce }),
        ...(request.dpopJkt === undefined ? {} : { dpopJkt: request.dpopJkt }),
        ...(Object.keys(request.claims).length === 0 ? {} : { claims: request.claims }),
        ...(resources.length === 0 ? {} : { resources: resources.map(({ resource }) => resource) })
      }),
      codeDigest: digest(secret),
      codeExpiresAt: now + deps.authorizationCode.expiresInMs
    },
    deps.browserSessions.useOf(signedIn.session, client.clientId)
  )
  if (!isCreated) return { session: null }
  let stillAllowed = false
  try {
    const isAllowed = firstObstacle({ ...facts, consent: await findConsent(client, signedIn, now, deps) }) === null
    if (isAllowed && request.params.pushed !== undefined) await deps.pushed?.use(request.params.pushed)
    stillAllowed = isAllowed
  } finally {
    if (!stillAllowed) await sessions.revoke(userId, sid, 'undone', origin)
  }
  return stillAllowed ? formatCredential(id, secret) : { session: signedIn.session }
}

/**
 * Returns the valid consent of the user to the client. `null` for a first-party client, which needs none. Ignores a
 * consent from before the last password change, because a thief of the former password may have given it.
 */
async function findConsent(
  client: Client,
  signedIn: SignedInPerson | null,
  now: number,
  { consents }: AuthorizeDeps
): Promise<Consent | null> {
  if (signedIn === null || isFirstParty(client)) return null
  const { user } = signedIn
  const consent = await consents.findConsent(user.id, client.clientId, now)
  return consent === null || consent.grantedAt < (passwordChangedAt(user) ?? 0) ? null : consent
}

/** @see RFC 6749 §4.1.2, §4.1.2.1, RFC 9207 §2 */
function answer(
  { params, client, redirectUri }: ClientRequest,
  result: Record<string, string>,
  { issuer }: AuthorizeDeps
): AnswerToClient {
  const response = authorizationResponse(
    redirectUri,
    responseModeOf(params),
    {
      ...result,
      ...(params.state === undefined ? {} : { state: params.state }),
      iss: issuer
    },
    unknownOf(client)?.redirectSchemes
  )
  return { to: 'client', client, response }
}

/**
 * The error for the client. A redirect has no status, so any failure without an `OAuthError` is reported as
 * `temporarily_unavailable`, and goes to `onError`.
 */
function errorParams(error: unknown, { accounts }: AuthorizeDeps): Record<string, string> {
  if (error instanceof OAuthError) return { error: error.error, error_description: error.message }
  accounts.onError(error, 'an authorization request failed')
  return { error: 'temporarily_unavailable', error_description: 'The service is not available at the moment.' }
}
