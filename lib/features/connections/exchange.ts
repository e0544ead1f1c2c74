import { personOf } from './person.ts'
import { type FederatedArrival, federatedUser, stillFederated } from './user.ts'
import { factorsOf } from '../../accounts/ways-in.ts'
import { settled } from '../../accounts/sign-in-writes.ts'
import { isFirstParty } from '../../clients/rights.ts'
import { OAuthError, UpstreamError, type UpstreamFailure } from '../../errors.ts'
import type { AssertionStore } from '../../ports/state.ts'
import type { Connection } from '../../ports/upstream.ts'
import { appIdTokenEnd } from '../../protocol/upstream-answer.ts'
import { invalidClient } from '../../protocol/client-authentication.ts'
import {
  ACCESS_TOKEN,
  assertionDigest,
  readTokenExchange,
  type TokenExchangeParams
} from '../../protocol/request-params.ts'
import {
  type Grant,
  grant,
  type GrantCall,
  type GrantContext,
  type GrantDeps,
  type TokenResponse
} from '../../oauth/deps.ts'
import { commitTokens } from '../../oauth/issue-tokens.ts'
import { type Granted, grantedBy } from '../../oauth/target.ts'
import { TOKEN_EXCHANGE } from './grants.ts'

/**
 * The error texts for refused people and accounts. Refused tokens all have the text `REFUSED`, because the only remedy
 * is another sign-in at the provider. The event and the log contain the reason.
 */
const SAID: Partial<Record<UpstreamFailure, string>> = {
  email: 'The connection does not take this person, or their address.',
  disabled: 'The account can not sign in by this connection.',
  closed: 'There is no account for this person, and this connection makes none.',
  other_way: 'An account has the address of this person already: they sign in to it the way they did before.',
  taken: 'Another request was faster. Sign in once more.'
}
const REFUSED = 'The subject_token is invalid, expired or used, or is not for this connection.'

interface ExchangeDeps {
  /** Only the connections that take ID tokens of apps, by id. */
  connections: ReadonlyMap<string, Connection>
  assertions: AssertionStore
  complete: FederatedArrival['complete']
}
type Deps = GrantDeps & { takes: ExchangeDeps }

/** The grant that exchanges ID tokens. Empty if no connection takes ID tokens of apps. */
export function tokenExchange(
  connections: ReadonlyMap<string, Connection>,
  { assertions, complete }: Pick<ExchangeDeps, 'assertions' | 'complete'>
): Grant[] {
  const taking = new Map([...connections].filter(([, { audiences }]) => audiences.length > 0))
  if (taking.size === 0) return []
  const takes: ExchangeDeps = {
    connections: taking,
    assertions,
    complete
  }
  return [
    grant({
      ...TOKEN_EXCHANGE,
      guess: () => ({ rule: 'connect' }),
      handle: async (params, call, deps) => await exchangeToken(params, call, { ...deps, takes })
    })
  ]
}

/**
 * Exchanges an ID token, which an app got from another provider, for tokens of this service. The rules of the
 * connection's callback decide which user signs in. A user with two-step sign-in must use a second factor. A valid
 * token is used up before its user is looked up, so a later failure does not make it valid again. A refused token or
 * person is `invalid_grant`, not `invalid_request` as in RFC 8693, so that an app can distinguish a bad request from
 * one that needs another sign-in.
 * @see RFC 8693 §2.1, §2.2
 */
async function exchangeToken(
  params: TokenExchangeParams,
  context: GrantCall,
  deps: Deps
): Promise<TokenResponse | OAuthError> {
  const { client } = context
  if (client === null) throw invalidClient(undefined)
  if (!isFirstParty(client))
    throw new OAuthError('unauthorized_client', 'The token exchange is for first-party clients.')
  const { subjectToken, connection: id, nonce } = readTokenExchange(params)
  const connection = deps.takes.connections.get(id)
  if (connection === undefined)
    throw new OAuthError('invalid_request', 'There is no such connection, or it takes no ID tokens of apps.')
  if (nonce === null && connection.appNonce) throw new OAuthError('invalid_request', 'nonce is missing.')
  const granted = grantedBy(params, client, deps)
  try {
    return await exchange({ token: subjectToken, nonce, connection, granted }, context, deps)
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    throw refusal(error, connection, context, deps)
  }
}

interface Exchange {
  token: string
  nonce: string | null
  connection: Connection
  granted: Granted
}

/**
 * Checks the ID token and issues tokens for its user. Returns an error if the person must take another step first.
 * @throws UpstreamError for a refused token or person
 */
async function exchange(
  { token, nonce, connection, granted }: Exchange,
  context: GrantCall,
  deps: Deps
): Promise<TokenResponse | OAuthError> {
  const { client, jkt, origin } = context
  const { accounts, takes: parts } = deps
  if (!(await connection.enabled())) throw new UpstreamError('disabled', 'The connection is turned off.')
  // Waits for the signing keys before the token is used up, so that a failure here costs no token.
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
    isNew,
    by: 'connection' as const,
    connection: connection.id,
    identity: { issuer: person.issuer, subject: person.subject, email: person.email },
    writes,
    methods: [person.proof]
  }
  const asked = { ...first, ...granted, nonce: nonce ?? undefined }
  const needed = await deps.beforeTokens({ ...asked, factors: await factorsOf(user, accounts) }, context, 'sign_in')
  if (needed !== null) return needed
  const done = await settled(first, { locale: undefined, origin }, accounts)
  if (done === null) throw new UpstreamError('disabled', 'The account was changed meanwhile.')
  const response = await commitTokens(
    { ...done, client, jkt, ...granted, origin, grantType: 'token_exchange', idToken: { nonce: nonce ?? undefined } },
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
  return { ...response, issued_token_type: ACCESS_TOKEN }
}

function refusal(
  error: UpstreamError,
  { id }: Connection,
  { origin }: GrantContext,
  { accounts: { events } }: Deps
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
