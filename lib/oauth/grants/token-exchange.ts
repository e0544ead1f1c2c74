import { personOf } from '../../accounts/federated-account.ts'
import { federatedUser, noteFederatedUse, stillFederated } from '../../accounts/federated-user.ts'
import { factorsOf } from '../../accounts/ways-in.ts'
import { settled } from '../../accounts/sign-in-writes.ts'
import { isFirstParty } from '../../clients/rights.ts'
import { OAuthError, UpstreamError, type UpstreamFailure } from '../../errors.ts'
import type { Connection } from '../../ports/upstream.ts'
import { appIdTokenEnd } from '../../protocol/upstream-answer.ts'
import { invalidClient } from '../../protocol/client-authentication.ts'
import { grantScope, parseScope } from '../../protocol/scope.ts'
import {
  ACCESS_TOKEN,
  assertionDigest,
  readTokenExchange,
  TOKEN_EXCHANGE_GRANT,
  type TokenExchangeParams
} from '../../protocol/request-params.ts'
import { allowedScopes } from '../../tokens/disclosure.ts'
import { type GrantCall, type GrantContext, type GrantDeps, type TokenResponse, grant } from '../deps.ts'
import { commitTokens } from './commit-tokens.ts'

/**
 * The app's text for each failure. The only remedy for a refused token is another sign-in at the provider, so the wire
 * does not say the reason; the event and the log do.
 */
const SAID: Partial<Record<UpstreamFailure, string>> = {
  email: 'The connection does not take this person, or their address.',
  disabled: 'The account can not sign in by this connection.',
  closed: 'There is no account for this person, and this connection makes none.',
  other_way: 'An account has the address of this person already: they sign in to it the way they did before.',
  taken: 'Another request was faster. Sign in once more.'
}
const REFUSED = 'The subject_token is invalid, expired or used, or is not for this connection.'

/**
 * Exchanges an ID token, which an app got from another provider, for tokens of this service. The rules of the
 * connection's callback decide on the person, and a user with a second factor is asked for it. The token counts once,
 * whatever the outcome. A refused token or person is `invalid_grant`. RFC 8693 has `invalid_request` there, which does
 * not distinguish a bad request from one that needs another sign-in.
 * @see RFC 8693 §2.1, §2.2
 */
export const TOKEN_EXCHANGE = grant({
  type: TOKEN_EXCHANGE_GRANT,
  isOn: ({ exchange }) => exchange !== null,
  params: {
    // Another issuer made it, so that only the limit of the body bounds its length.
    subject_token: { bytes: 16384, what: 'An ID token that an app got from the provider of `connection`.' },
    subject_token_type: { bytes: 256, what: '`urn:ietf:params:oauth:token-type:id_token`.' },
    requested_token_type: { bytes: 256, what: '`urn:ietf:params:oauth:token-type:access_token`, or absent.' },
    actor_token: { bytes: 16384, what: null },
    actor_token_type: { bytes: 256, what: null },
    connection: { bytes: 32, what: 'The `id` of a connection with `audiences`.' },
    nonce: {
      bytes: 512,
      what: 'The `nonce` that the app put into the ID token, or the value whose SHA-256 that is, in hexadecimal.'
    }
  },
  errors: ['invalid_grant', 'invalid_scope', 'mfa_enrollment_required', 'mfa_required'],
  what:
    "(RFC 8693): tokens for an ID token that an app got by the provider's own library, for first-party clients" +
    ' that list the grant. `connection` is a connection whose `audiences` name the app. `subject_token` is the' +
    ' ID token, `subject_token_type` is always `urn:ietf:params:oauth:token-type:id_token`, and `nonce` is the' +
    ' value that the app put into it, or the value whose SHA-256 that is in hexadecimal. The server checks ' +
    'signature, `iss`, `aud` (all of several, and `azp`), `exp` and `nonce`. `iat` is at most 300 seconds ago,' +
    ' and the token counts once, whatever the outcome. The person is [decided as at the ' +
    'callback](../guides/connections/README.md#linking). The answer has a refresh token, ' +
    '`issued_token_type`, and an `id_token` if `openid` was granted and redirect sign-in is on. There is no ' +
    '`actor_token`. Exists with a connection that has `audiences`; [the guide](../guides/connections/apps.md) ' +
    'shows it.',
  guess: () => ({ rule: 'connect' }),
  handle: tokenExchangeGrant
})

async function tokenExchangeGrant(
  params: TokenExchangeParams,
  context: GrantCall,
  deps: GrantDeps
): Promise<TokenResponse | OAuthError> {
  const { client } = context
  if (client === null) throw invalidClient(undefined)
  if (!isFirstParty(client))
    throw new OAuthError('unauthorized_client', 'The token exchange is for first-party clients.')
  const { subjectToken, connection: id, nonce } = readTokenExchange(params)
  const connection = deps.exchange?.connections.get(id)
  if (connection === undefined)
    throw new OAuthError('invalid_request', 'There is no such connection, or it takes no ID tokens of apps.')
  if (nonce === null && connection.appNonce) throw new OAuthError('invalid_request', 'nonce is missing.')
  const scopes = grantScope(parseScope(params.scope), allowedScopes(client, deps.scopes))
  try {
    return await exchange({ token: subjectToken, nonce, connection, scopes }, context, deps)
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    throw refusal(error, connection, context, deps)
  }
}

interface Exchange {
  token: string
  nonce: string | null
  connection: Connection
  scopes: string[]
}

/** @throws UpstreamError */
async function exchange(
  { token, nonce, connection, scopes }: Exchange,
  context: GrantCall,
  deps: GrantDeps
): Promise<TokenResponse | OAuthError> {
  const { client, origin } = context
  const { accounts, exchange: parts } = deps
  if (parts === null || !(await connection.enabled()))
    throw new UpstreamError('disabled', 'The connection is turned off.')
  // Before the token is used up, for signing keys may not be ready yet.
  await deps.accessTokens.ready()
  const said = await connection.upstream.verifyIdToken(token, {
    audiences: connection.audiences,
    nonce,
    nonceRequired: connection.appNonce
  })
  if ((await parts.assertions.claim(assertionDigest(token), appIdTokenEnd(said.issuedAt))) !== 'fresh')
    throw new UpstreamError('id_token', 'The ID token was used before.')
  const person = personOf(said, connection, { now: accounts.clock.now(), askedFresh: false })
  const found = await federatedUser(
    {
      connection,
      person,
      authoritative: said.assertion.emailAuthoritative,
      origin,
      locale: undefined,
      reserveSignUp: context.reserveSignUp,
      complete: parts.complete
    },
    accounts
  )
  if (found.to === 'confirm')
    return new OAuthError(
      'invalid_grant',
      'An account has the address of this person already: they sign in to it the way they did ' +
        'before, and connect the two on its page.',
      { withoutStack: true }
    )
  if (found.to === 'ask')
    return new OAuthError(
      'invalid_grant',
      'The account needs more than the provider says of this person: they sign up on the page.',
      { withoutStack: true }
    )
  const { user, isNew, writes } = found
  const first = {
    user,
    by: 'connection' as const,
    connection: connection.id,
    identity: { issuer: person.issuer, subject: person.subject },
    writes,
    methods: [person.proof]
  }
  const asked = { ...first, scopes, nonce: nonce ?? undefined }
  const needed = await deps.beforeTokens({ ...asked, factors: await factorsOf(user, accounts) }, context, 'sign_in')
  if (needed !== null) return needed
  const done = await settled(first, { locale: undefined, origin }, accounts)
  if (done === null) throw new UpstreamError('disabled', 'The account was changed meanwhile.')
  const response = await commitTokens(
    { ...done, client, scopes, origin, grantType: 'token_exchange', idToken: { nonce: nonce ?? undefined } },
    async () => {
      const [confirmed, now] = await Promise.all([
        stillFederated({ person, connection }, user, accounts),
        factorsOf(user, accounts)
      ])
      if (confirmed === null)
        throw new UpstreamError('disabled', 'The account was disabled or removed, or the link taken away, meanwhile.')
      return await deps.beforeTokens({ ...asked, factors: now }, context, 'commit')
    },
    deps
  )
  if (response instanceof OAuthError) return response
  if (!isNew) noteFederatedUse(person, user, accounts)
  return { ...response, issued_token_type: ACCESS_TOKEN }
}

function refusal(
  error: UpstreamError,
  { id }: Connection,
  { origin }: GrantContext,
  { accounts: { events } }: GrantDeps
): OAuthError {
  events.emit('connection_failed', { connection: id, reason: error.reason }, origin)
  const detail = `connection ${id}: ${error.reason}`
  if (error.reason === 'outage')
    return new OAuthError(
      'temporarily_unavailable',
      'The provider of this connection can not be reached. Try again soon.',
      { detail, cause: error, headers: { 'retry-after': '5' } }
    )
  return new OAuthError('invalid_grant', SAID[error.reason] ?? REFUSED, { detail, cause: error })
}
