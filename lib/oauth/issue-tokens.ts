import { isContent, isPublic } from '../clients/rights.ts'
import { OAuthError } from '../errors.ts'
import type { User } from '../ports/user-store.ts'
import { type AuthenticationContext, type AuthenticationProof, contextOf } from '../protocol/authentication.ts'
import type { Client } from '../ports/client-store.ts'
import { digest } from '../protocol/digest.ts'
import { missingProof } from '../protocol/dpop.ts'
import { formatCredential, newCredentialId, sidOf } from '../protocol/credential.ts'
import { formatAuthorizationDetails, readAuthorizationDetails } from '../protocol/authorization-request.ts'
import type { Resource } from '../protocol/resource.ts'
import { scopeMember, type AdmittedScopes, isReservedScope } from '../protocol/scope.ts'
import { hostClaims } from '../tokens/disclosure.ts'
import type { GrantDeps, Origin, TokenResponse } from './deps.ts'
import type { RefreshTokenFamily } from '../ports/token-store.ts'
import type { FirstFactorKind } from '../events.ts'
import { admitted, type Granted, scopesFor, targetOf } from './target.ts'

interface Issue extends Granted {
  user: User
  client: Client | null
  /** The key that the client proved. `null`: none. */
  jkt: string | null
  /** How the user was authenticated just now. */
  methods: AuthenticationProof[]
  origin: Origin
  grantType: string
  /** Set to issue an ID token too, as an authorization code does. `nonce`: the nonce that the ID token repeats. */
  idToken?: { nonce?: string | undefined } | undefined
}

/** Tokens that are committed, and the family they belong to. */
interface IssuedTokens {
  sid: string
  /** The granted scopes. */
  scopes: string[]
  response: TokenResponse
}

/**
 * Starts a refresh token family and makes its first tokens. The tokens are signed before the commit, so a failure to
 * sign leaves no family behind. The caller calls `reportIssued` once it is sure that the tokens are handed out.
 */
export async function issueTokens(
  { user, client, jkt, methods, scopes: asked, resources, origin, idToken }: Issue,
  deps: GrantDeps
): Promise<IssuedTokens> {
  const { clock, random } = deps.accounts
  const now = clock.now()
  const id = newCredentialId(user.id, random.id())
  const secret = random.secret()
  const sid = sidOf(id)
  const authentication = contextOf({ methods, authenticatedAt: now })
  const target = targetOf({}, { resources }, client, deps)
  const access = await accessAnswer({ user, client, jkt, scopes: asked, sid, authentication, target }, deps)
  const refused = asked.filter((scope) => isReservedScope(scope) && !access.scopes.includes(scope))
  const scopes = asked.filter((scope) => !refused.includes(scope))
  const boundTo = refreshKeyOf(client, jkt)
  const expiresAt = now + deps.refreshToken.expiresInMs
  const family = {
    sid,
    userId: user.id,
    clientId: client?.clientId ?? null,
    scope: scopes.join(' '),
    ...authentication,
    createdAt: now,
    lastUsedAt: now,
    expiresAt,
    idleExpiresAt: Math.min(expiresAt, now + deps.refreshToken.idleTimeoutMs),
    userAgent: origin.userAgent ?? null,
    sessionSid: null,
    offline: true,
    // Without an ID token now (`null`, or `idToken: false`), the refreshes of this family give none either.
    authorization:
      idToken === undefined && resources.length === 0 && boundTo === undefined
        ? null
        : formatAuthorizationDetails({
            ...(resources.length === 0 ? {} : { resources }),
            ...(boundTo === undefined ? {} : { jkt: boundTo }),
            ...(idToken === undefined ? { idToken: false } : {})
          }),
    tokenDigest: digest(secret)
  }
  const signed =
    client === null
      ? {}
      : await signIdToken(
          { user, client, scopes, family, accessToken: access.answer.access_token, nonce: idToken?.nonce },
          deps
        )
  await deps.tokens.createFamily(family)
  return {
    sid,
    scopes,
    response: { ...access.answer, refresh_token: formatCredential(id, secret), ...signed }
  }
}

/** Emits `token_issued`. Call it when the tokens are sure to be handed out. */
export function reportIssued(
  { user, client, scopes, origin, grantType }: Omit<Issue, 'methods' | 'resources' | 'jkt'>,
  sid: string,
  deps: GrantDeps
): void {
  deps.accounts.events.emit(
    'token_issued',
    { userId: user.id, sid, clientId: client?.clientId ?? null, scope: scopes.join(' '), grantType },
    origin
  )
}

/** @see RFC 9449 §5 */
export const tokenTypeOf = (jkt: string | null): 'Bearer' | 'DPoP' => (jkt === null ? 'Bearer' : 'DPoP')

/**
 * Refuses a request without a DPoP proof if the client gets only tokens that are bound to its key.
 * @throws OAuthError `invalid_dpop_proof`
 * @see RFC 9449 §5.2
 */
export function checkBinding(client: Pick<Client, 'dpopBoundAccessTokens'> | null, jkt: string | null): void {
  if (client?.dpopBoundAccessTokens === true && jkt === null) throw missingProof()
}

/**
 * The key to which the refresh tokens of this client are bound. `undefined` without a proved key, and for a
 * confidential client, because it authenticates at each refresh. @see RFC 9449 §5
 */
export const refreshKeyOf = (client: Client | null, jkt: string | null): string | undefined =>
  jkt === null || (client !== null && !isPublic(client)) ? undefined : jkt

/** The members of a token response that describe its access token. */
export type AccessAnswer = Pick<TokenResponse, 'access_token' | 'token_type' | 'expires_in' | 'scope'>

interface AccessTokenOf {
  user: User
  client: Client | null
  /** The key that the client proved. `null`: none. */
  jkt: string | null
  /** Granted scope. The token has the part that belongs to its API. */
  scopes: readonly string[]
  sid: string
  authentication: AuthenticationContext
  target: Resource | null
}

/**
 * Makes an access token for a family, with the host's claims.
 * @throws OAuthError `unmet_authentication_requirements` if the level of the sign-in is below the client's `acr`;
 * `invalid_dpop_proof`; `invalid_scope`
 */
export async function accessAnswer(
  { user, client, jkt, scopes: granted, sid, authentication, target }: AccessTokenOf,
  deps: GrantDeps
): Promise<{ answer: AccessAnswer; scopes: AdmittedScopes }> {
  if (!isContent(client, authentication.acr))
    throw new OAuthError('unmet_authentication_requirements', 'This client needs a stronger sign-in.')
  checkBinding(client, jkt)
  await deps.accessTokens.ready(target)
  const scopes = await admitted(scopesFor(target, granted, deps), { user, client }, deps)
  const extra = deps.claims === null ? undefined : await hostClaims({ user, client, scopes: [...scopes] }, deps)
  const token = deps.accessTokens.mint({
    sub: user.id,
    sid,
    authentication,
    jkt,
    extra,
    target,
    scopes,
    ...(client === null ? {} : { client_id: client.clientId })
  })
  return {
    scopes,
    answer: {
      access_token: token,
      token_type: tokenTypeOf(jkt),
      expires_in: deps.accessTokens.secondsFor(target),
      ...scopeMember(scopes)
    }
  }
}

/**
 * Makes an ID token if the family began with one, `scopes` contains `openid` and OpenID Connect is on. Otherwise
 * returns `{}`. Families begin with an ID token by an authorization code or a token exchange.
 * @see OpenID Connect Core 1.0 §3.1.3.3, §12.2
 */
export async function signIdToken(
  {
    user,
    client,
    scopes,
    family,
    accessToken,
    nonce
  }: {
    user: User
    client: Client
    scopes: string[]
    family: RefreshTokenFamily
    accessToken: string
    nonce?: string | undefined
  },
  deps: GrantDeps
): Promise<{ id_token?: string }> {
  if (family.authorization === null || deps.idTokens === null || !scopes.includes('openid')) return {}
  const { claims, idToken } = readAuthorizationDetails(family.authorization)
  if (idToken === false) return {}
  return {
    id_token: await deps.idTokens.mint({
      user,
      client,
      scopes,
      authentication: family,
      sid: family.sessionSid,
      nonce,
      claims,
      accessToken
    })
  }
}

/** The first factor of a sign-in, and its connection. */
interface By {
  by: FirstFactorKind
  connection?: string | undefined
}

/**
 * Issues the tokens of a user who has just proved their identity, and hands them out after `confirm` resolves to
 * `null`. `confirm` runs after the commit, because an event between the check and the commit (another password, a
 * disabled account, a second factor) could not end this family. The family ends if `confirm` rejects, or resolves to an
 * error to answer instead.
 */
export async function commitTokens<Instead extends OAuthError | null>(
  issue: Issue & By,
  confirm: () => Promise<Instead>,
  deps: GrantDeps
): Promise<TokenResponse | NonNullable<Instead>> {
  const { user, client, methods, origin, by, connection } = issue
  const { sid, scopes, response } = await issueTokens(issue, deps)
  const held = { good: false }
  try {
    const instead = await confirm()
    if (instead !== null) return instead
    held.good = true
  } finally {
    if (!held.good) await deps.sessions.revoke(user.id, sid, 'undone', origin)
  }
  deps.accounts.events.emit(
    'authenticated',
    {
      userId: user.id,
      sid,
      clientId: client?.clientId ?? null,
      method: by,
      methods: methods.map(({ method }) => method),
      ...(connection === undefined ? {} : { connection })
    },
    origin
  )
  reportIssued({ ...issue, scopes }, sid, deps)
  return response
}
