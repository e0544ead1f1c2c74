import { isContent } from '../clients/rights.ts'
import { OAuthError } from '../errors.ts'
import type { User } from '../ports/user-store.ts'
import { type AuthenticationContext, type AuthenticationProof, contextOf } from '../protocol/authentication.ts'
import type { Client } from '../ports/client-store.ts'
import { digest } from '../protocol/digest.ts'
import { formatCredential, newCredentialId, sidOf } from '../protocol/credential.ts'
import { scopeMember } from '../protocol/scope.ts'
import { hostClaims } from '../tokens/disclosure.ts'
import type { GrantDeps, Origin, TokenResponse } from './deps.ts'
import type { RefreshTokenFamily } from '../ports/token-store.ts'
import { readAuthorizationDetails } from '../protocol/authorization-request.ts'
import type { FirstFactorKind } from '../events.ts'

interface Issue {
  user: User
  client: Client | null
  /** How the user was authenticated just now. */
  methods: AuthenticationProof[]
  /** Granted scope. */
  scopes: string[]
  origin: Origin
  grantType: string
  /** For an ID token as after a code: the nonce that it repeats. */
  idToken?: { nonce?: string | undefined } | undefined
}

/** Tokens that are committed, and the family they belong to. */
interface IssuedTokens {
  sid: string
  response: TokenResponse
}

/**
 * Starts a refresh token family and makes its first tokens. The tokens are signed before the commit, so a failure to
 * sign leaves no family behind. The caller calls `reportIssued` once it is sure that the tokens are handed out.
 */
export async function issueTokens(
  { user, client, methods, scopes, origin, idToken }: Issue,
  deps: GrantDeps
): Promise<IssuedTokens> {
  const { clock, random } = deps.accounts
  const now = clock.now()
  const id = newCredentialId(user.id, random.id())
  const secret = random.secret()
  const sid = sidOf(id)
  const scope = scopes.join(' ')
  const authentication = contextOf({ methods, authenticatedAt: now })
  const accessToken = await signAccessToken({ user, client, scopes, sid, authentication }, deps)
  const expiresAt = now + deps.refreshToken.expiresInMs
  const family = {
    sid,
    userId: user.id,
    clientId: client?.clientId ?? null,
    scope,
    ...authentication,
    createdAt: now,
    lastUsedAt: now,
    expiresAt,
    idleExpiresAt: Math.min(expiresAt, now + deps.refreshToken.idleTimeoutMs),
    userAgent: origin.userAgent?.slice(0, 256) ?? null,
    sessionSid: null,
    offline: true,
    // A refresh gives another ID token where there is one.
    authorization: idToken === undefined ? null : '{}',
    tokenDigest: digest(secret)
  }
  const signed =
    client === null ? {} : await signIdToken({ user, client, scopes, family, accessToken, nonce: idToken?.nonce }, deps)
  await deps.tokens.createFamily(family)
  return {
    sid,
    response: {
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: deps.accessTokens.expiresInSeconds,
      refresh_token: formatCredential(id, secret),
      ...signed,
      ...scopeMember(scopes)
    }
  }
}

/** Tells that tokens are handed out. */
export function reportIssued(
  { user, client, scopes, origin, grantType }: Omit<Issue, 'methods'>,
  sid: string,
  deps: GrantDeps
): void {
  deps.accounts.events.emit(
    'token_issued',
    { userId: user.id, sid, clientId: client?.clientId ?? null, scope: scopes.join(' '), grantType },
    origin
  )
}

/**
 * An access token for a family, with the host's claims.
 * @throws OAuthError `unmet_authentication_requirements` for a sign-in that is worth less than the client must have
 */
export async function signAccessToken(
  of: { user: User; client: Client | null; scopes: string[]; sid: string; authentication: AuthenticationContext },
  deps: GrantDeps
): Promise<string> {
  if (!isContent(of.client, of.authentication.acr))
    throw new OAuthError('unmet_authentication_requirements', 'This client needs a stronger sign-in.')
  await deps.accessTokens.ready()
  const extra = deps.claims === null ? {} : await hostClaims(of, deps)
  return deps.accessTokens.mint({
    sub: of.user.id,
    sid: of.sid,
    authentication: of.authentication,
    extra,
    ...scopeMember(of.scopes),
    ...(of.client === null ? {} : { client_id: of.client.clientId })
  })
}

/**
 * The ID token of a family that came of an authorization code or a token exchange with `openid`; nothing for others.
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
  const { claims } = readAuthorizationDetails(family.authorization)
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
 * Issues the tokens of a user who has just proved their identity, and hands them out once `confirm` resolves. It is
 * asked after the commit, because an event between the check and the commit that ended sign-ins (another password, a
 * disabled account, a second factor) could not end this family. The family ends if it rejects, or resolves to an answer
 * without tokens.
 */
export async function commitTokens<Instead extends OAuthError | null>(
  issue: Issue & By,
  confirm: () => Promise<Instead>,
  deps: GrantDeps
): Promise<TokenResponse | NonNullable<Instead>> {
  const { user, client, methods, origin, by, connection } = issue
  const { sid, response } = await issueTokens(issue, deps)
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
  reportIssued(issue, sid, deps)
  return response
}
