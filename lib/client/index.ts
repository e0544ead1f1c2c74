/** `fastify-authority/client`: the browser client. Touches nothing global until it is used. */
import { AuthClientError, asError } from './errors.ts'
import { discover, type Metadata, once, request, type TokenAnswer, withParams } from './http.ts'
import { type Claims, profileOf, readIdToken } from './id-token.ts'
import { locked, sleep } from './locks.ts'
import type { AuthClient, AuthClientOptions, AuthStorage, UserProfile } from './options.ts'
import { challengeOf, random } from './pkce.ts'
import { createKeeper, type Session } from './session.ts'
import { cookieStorage, webStorage } from './storage.ts'

export { AuthClientError } from './errors.ts'
export type { AuthClient, AuthClientEvents, AuthClientOptions, AuthStorage, LoginOptions, LogoutOptions, UserProfile } from './options.ts'

/** A sign-in under way, kept for the page that its answer comes to. */
type Transaction = [at: number, verifier: string, nonce: string, redirectUri: string, appState?: unknown]

/** No operation takes longer. */
const DEADLINE_MS = 14_000
const ANSWER_PARAMS = ['code', 'state', 'iss', 'session_state', 'error', 'error_description', 'error_uri']

/** By the client's key, what the last answer in the page's address came to: whatever instance asks, now or later. */
const answered: Record<string, Promise<{ appState: unknown }>> = {}

const assign = (url: string): void => { location.assign(url) }
/** All tabs see it, for an answer may come to another one than it was asked from. */
const transactions = (): AuthStorage => webStorage('localStorage') ?? cookieStorage
/** A clock that was set back says nothing of how old a token is. The clocks of two tabs may differ by a little. */
const isFresh = ({ at, until }: Session): boolean => Date.now() > at - 1000 && Date.now() < until
const loginRequired = (cause?: unknown): AuthClientError => new AuthClientError('login_required', undefined, false, cause)

function sessionOf (tokens: TokenAnswer, user: Claims, former?: Session): Session {
  const { expires_in: seconds = 3600 } = tokens
  const at = Date.now()
  // Replaced half a minute before it ends; a short-lived one, a tenth of its life.
  return { ...former, ...tokens, user, at, until: at + (seconds - Math.min(30, seconds / 10)) * 1000 }
}

/** Synchronous; nothing happens before the first call of a method. */
export function createAuthClient<Profile extends UserProfile = UserProfile, AppState = unknown> (options: AuthClientOptions): AuthClient<Profile, AppState> {
  const { clientId, domain, audience, scope = 'openid profile email', prefix = '/auth', allowedOrigins = [] } = options
  const inCookie = options.mode === 'cookie'
  const issuer = `${domain.includes('://') ? '' : 'https://'}${domain}`.replace(/\/$/, '')
  const key = `authority.${clientId}.${issuer}`
  /** Of the session in a cookie. */
  const endpoint = `${issuer}${prefix}/session`
  const keeper = createKeeper<Profile>(key, options.storage)

  let told: AuthClientError | undefined

  /** Every rejection is an `AuthClientError`, and the event tells of it too. `ends: false`: the caller has a signal to end it by. */
  async function guarded<T> (run: () => Promise<T>, ends = true): Promise<T> {
    try {
      return await (ends ? Promise.race([run(), sleep(DEADLINE_MS).then(() => { throw new AuthClientError('timeout', undefined, true) })]) : run())
    } catch (cause) {
      const error = asError(cause)
      // One failure may be the answer to several calls.
      if (error !== told) keeper.emit('error', error)
      throw told = error
    }
  }

  /** `undefined`: the session is in a cookie, and there is nothing to discover. */
  const provider = (): Promise<Metadata> | undefined => inCookie ? undefined : discover(issuer)

  /** Tokens, and what they say of their user; in a cookie, that alone. */
  async function exchange (metadata: Metadata | undefined, params: Record<string, string | undefined>, expected: { nonce?: string, sub?: string }): Promise<{ tokens: TokenAnswer, user?: Claims | undefined }> {
    const tokens = await request<TokenAnswer & { user?: Claims }>(metadata?.token_endpoint ?? endpoint, { client_id: clientId, ...params })
    // Only an answer to a code must have an ID token.
    return { tokens, user: metadata && (tokens.id_token || expected.nonce) ? profileOf(readIdToken(tokens.id_token, { issuer: metadata.issuer, clientId, ...expected })) : tokens.user }
  }

  async function finish (url: string): Promise<{ appState: AppState | undefined }> {
    const answer = new URL(url)
    const { code, state, iss, error, error_description: description } = Object.fromEntries(answer.searchParams)
    const store = transactions()
    const text = (code ?? error) && await store.getItem(`${key}.${state}`)
    if (!text) throw new AuthClientError(state ? 'state_mismatch' : 'missing_transaction', 'Invalid state')
    // Before anything is asked: a reload, or a link from this page, must not bring the code a second time.
    store.removeItem(`${key}.${state}`)
    if (url === location.href) {
      for (const name of ANSWER_PARAMS) answer.searchParams.delete(name)
      history.replaceState(history.state, '', answer)
    }
    const [, verifier, nonce, redirectUri, appState] = JSON.parse(text) as Transaction
    try {
      const metadata = await provider()
      if (metadata && (iss ? iss !== metadata.issuer : metadata.authorization_response_iss_parameter_supported)) throw new AuthClientError('issuer_mismatch', iss)
      if (error) throw new AuthClientError(error, description)
      const { tokens, user } = await exchange(metadata, { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier }, { nonce })
      // Many providers keep the profile out of the ID token. Without an answer the sign-in is good all the same.
      const userinfo = metadata?.userinfo_endpoint
      const info = userinfo && await request<Claims>(userinfo, undefined, { signal: AbortSignal.timeout(3000), headers: { authorization: `Bearer ${tokens.access_token}` } }).catch(() => {})
      await keeper.save('authenticated', sessionOf(tokens, { ...user as Claims, ...(info && info.sub === user?.sub && info) }))
    } catch (cause) {
      throw Object.assign(asError(cause), { appState })
    }
    return { appState: appState as AppState | undefined }
  }

  /** Runs under the lock, so what is stored is read again before a refresh token is spent. */
  async function refresh (former: Session): Promise<string> {
    await keeper.hearTabs()
    const session = await keeper.read()
    if (!session) throw loginRequired()
    // Another tab was faster.
    if (session.at !== former.at && isFresh(session)) return session.access_token
    const { refresh_token: token, user } = session
    if (!token && !inCookie) throw new AuthClientError('missing_refresh_token')
    let next: Session | AuthClientError
    try {
      const { tokens, user: told } = await exchange(await provider(), { grant_type: 'refresh_token', refresh_token: token }, { sub: user.sub })
      // A refresh may say less of a person than the sign-in did; the cookie is whoever's it is by now.
      next = sessionOf(tokens, { ...(!inCookie && user), ...told } as Claims, session)
    } catch (cause) {
      next = asError(cause)
      // Nothing but the server's word ends a session, by one of these codes.
      if (!['invalid_grant', 'login_required'].includes(next.error) || next.retryable) throw next
    }
    // Signed out, signed in anew, or refreshed by a tab that went without the lock: that is what counts.
    if ((await keeper.read())?.at !== session.at) return await refresh(session)
    if (next instanceof AuthClientError) {
      await keeper.save('unauthenticated', null)
      throw loginRequired(next)
    }
    await keeper.save(next.user.sub === user.sub ? 'token_refreshed' : 'authenticated', next)
    return next.access_token
  }

  const client: AuthClient<Profile, AppState> = {
    loginWithRedirect: ({ appState, loginHint, redirectUri, authorizationParams, openUrl = assign } = {}) => guarded(async () => {
      const state = random()
      const nonce = random()
      const verifier = random()
      const uri = redirectUri ?? options.redirectUri ?? location.origin + location.pathname
      const store = transactions()
      // A sign-in page may be left open for a day.
      for (const name of Object.keys(store)) {
        if (name.startsWith(`${key}.`) && Date.now() - (JSON.parse(store.getItem(name) as string) as Transaction)[0] > 86_400_000) store.removeItem(name)
      }
      store.setItem(`${key}.${state}`, JSON.stringify([Date.now(), verifier, nonce, uri, appState] satisfies Transaction))
      const metadata = await provider()
      await openUrl(!metadata ? withParams(`${issuer}${prefix}/login`, { return_to: withParams(new URL(uri).pathname, { state, code: state }), login_hint: loginHint }) : withParams(metadata.authorization_endpoint, {
        client_id: clientId,
        response_type: 'code',
        redirect_uri: uri,
        scope: [...new Set(`${scope} offline_access`.split(' '))].join(' '),
        audience,
        state,
        nonce,
        code_challenge: await challengeOf(verifier),
        code_challenge_method: 'S256',
        login_hint: loginHint,
        ...authorizationParams
      }))
    }),

    handleRedirectCallback: (url = globalThis.location?.href) => guarded(async () => {
      const state = new URL(url).searchParams.get('state')
      // The first call took the answer out of the address.
      if (state) answered[key] = once(`${key} ${state}`, () => finish(url), true)
      return await (answered[key] ?? finish(url)) as { appState: AppState | undefined }
    }),

    async getUser () {
      const session = await keeper.read()
      return session && keeper.profile(session)
    },

    async getAccessToken ({ force } = {}) {
      const session = await keeper.read()
      if (!session) throw loginRequired()
      if (!force && isFresh(session)) return session.access_token
      return await once(`${key} refresh`, () => guarded(() => locked(`${key} lock`, webStorage('localStorage'), () => refresh(session))))
    },

    logout: ({ returnTo, openUrl = assign } = {}) => guarded(async () => {
      const session = await keeper.read()
      await keeper.save('unauthenticated', null)
      const metadata = await provider()
      if (!metadata) {
        await request(endpoint, undefined, { method: 'DELETE' })
        if (returnTo) await openUrl(returnTo)
        return
      }
      const { revocation_endpoint: revoke, end_session_endpoint: end } = metadata
      if (revoke && session?.refresh_token) await request(revoke, { client_id: clientId, token: session.refresh_token }, { keepalive: true }).catch(() => {})
      if (end && returnTo !== false) await openUrl(withParams(end, { client_id: clientId, id_token_hint: session?.id_token, post_logout_redirect_uri: returnTo }))
    }),

    fetch: (input, init) => guarded(async () => {
      const original = new Request(input, init)
      const own = [location.origin, ...allowedOrigins].includes(new URL(original.url).origin)
      const send = async (force: boolean): Promise<Response> => {
        const copy = original.clone()
        if (own) {
          try {
            const token = await client.getAccessToken({ force })
            if (token) copy.headers.set('authorization', `Bearer ${token}`)
          } catch (error) {
            // Whoever is not signed in asks without a token.
            if (force || (error as AuthClientError).error !== 'login_required') throw error
          }
        }
        return await fetch(copy)
      }
      const response = await send(false)
      return own && response.status === 401 ? await send(true).catch(() => response) : response
    }, !init?.signal),

    on: keeper.on as AuthClient<Profile>['on'],
    off: keeper.off as AuthClient<Profile>['off']
  }
  return client
}
