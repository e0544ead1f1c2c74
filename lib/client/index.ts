import { asError, AuthClientError, loginRequired } from './errors.ts'
import { challengeOf, lock, random, sleep, type Transaction, transactions } from './storage.ts'
import { type Claims, readIdToken } from './id-token.ts'
import {
  answered,
  assign,
  discover,
  isAnswer,
  issuerOf,
  type Metadata,
  once,
  request,
  send,
  type TokenAnswer,
  withParams
} from './http.ts'
import { createKeeper, isFresh, type Session, sessionOf } from './session.ts'
import type { AnyAuthClient, AuthClient, AuthClientOptions, CreateAuthClient } from './options.ts'

/** `fastify-authority/client`: the client for browsers. The import calls no browser API. */

export { AuthClientError } from './errors.ts'
export type * from './options.ts'

/** Creates a client. @throws AuthClientError `invalid_options` without a `clientId` or a `domain` */
export const createAuthClient: CreateAuthClient = (options: AuthClientOptions) => {
  const { clientId, domain } = options
  if (!clientId || !domain) throw new AuthClientError('invalid_options', 'clientId, domain')
  const inCookie = options.mode === 'cookie'
  const issuer = issuerOf(domain)
  const key = `authority.${clientId}.${issuer}`
  const base = `${issuer}${options.prefix ?? '/auth'}/`
  const keeper = createKeeper(key, options.storage)

  let told: unknown

  /** Limits the time to `ms` (default: 15 s). Converts a failure to an `AuthClientError`, and emits `error`. */
  async function guarded<T>(run: () => Promise<T>, ms?: number | null): Promise<T> {
    try {
      if (globalThis.isSecureContext === false) throw new AuthClientError('insecure_context', 'https')
      return await Promise.race([
        run(),
        sleep(ms ?? 15_000).then(() => {
          throw new AuthClientError('timeout', undefined, true)
        })
      ])
    } catch (cause) {
      const error = asError(cause)
      // Emits an error only once if several calls in a row share it or its cause.
      if (told !== (told = error.cause ?? error)) keeper.emit('error', error)
      throw error
    }
  }

  /** The provider's metadata. `cookie` mode needs no discovery. */
  const provider = async (): Promise<Metadata> =>
    inCookie ? ({ token_endpoint: `${base}session` } as Metadata) : once(issuer, discover, true)

  /** Gets tokens, and the user's claims if there is an ID token. In `cookie` mode gets the claims only. */
  async function exchange(
    { token_endpoint: endpoint, issuer }: Metadata,
    params: Record<string, string | undefined>,
    expected: { nonce?: string; sub?: string }
  ): Promise<TokenAnswer & { user?: Claims }> {
    const tokens = await request<TokenAnswer & { user?: Claims }>(endpoint, { client_id: clientId, ...params })
    // The answer to a refresh may omit the ID token.
    return issuer && (tokens.id_token || expected.nonce)
      ? { ...tokens, user: readIdToken(tokens.id_token, { issuer, clientId, ...expected }) }
      : tokens
  }

  async function finish(url: string): Promise<{ appState: unknown }> {
    const answer = new URL(url)
    const { code, state, iss, error, error_description: description } = Object.fromEntries(answer.searchParams)
    const store = transactions()
    const text = store.getItem(`${key}.${state}`)
    // Removes the response from the address first, so that no reload repeats it and no `Referer` has it.
    if (url === globalThis.location?.href) {
      for (const name of 'code state iss session_state error error_description error_uri'.split(' '))
        answer.searchParams.delete(name)
      history.replaceState(history.state, '', answer)
    }
    if (!text) throw new AuthClientError('state_mismatch')
    store.removeItem(`${key}.${state}`)
    const [began, verifier, nonce, redirectUri, appState] = JSON.parse(text) as Transaction
    try {
      const metadata = await provider()
      if (iss ? iss !== metadata.issuer : metadata.authorization_response_iss_parameter_supported)
        throw new AuthClientError('issuer_mismatch', iss)
      if (error) throw new AuthClientError(error, description)
      const tokens = await exchange(
        metadata,
        { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier },
        { nonce }
      )
      // Asks userinfo, because many providers leave the profile out of the ID token. A failure is ignored.
      const userinfo = metadata.userinfo_endpoint
      const info =
        userinfo &&
        (await request<Claims>(userinfo, undefined, {
          signal: AbortSignal.timeout(3000),
          headers: { authorization: `Bearer ${tokens.access_token}` }
        }).catch(() => {}))
      if ((keeper.left() as number) > began) throw loginRequired()
      await keeper.save(
        'authenticated',
        sessionOf(tokens, { ...(tokens.user as Claims), ...(info && info.sub === tokens.user?.sub && info) })
      )
    } catch (cause) {
      // A recent sign-out ends a sign-in that began before it.
      throw Object.assign(asError((keeper.left() as number) > began ? loginRequired(cause) : cause), { appState })
    }
    return { appState }
  }

  /** Reads the session again, because another tab may have used the refresh token of `former`. */
  async function refresh(former: Session): Promise<string> {
    await keeper.hearTabs()
    const session = await keeper.read()
    if (!session) throw loginRequired()
    if (session.at !== former.at && isFresh(session)) return session.access_token
    const { refresh_token: token, user } = session
    if (!token && !inCookie) throw new AuthClientError('missing_refresh_token')
    let next: Session | AuthClientError
    try {
      const tokens = await exchange(
        await provider(),
        { grant_type: 'refresh_token', refresh_token: token },
        { sub: user.sub }
      )
      // Keep profile claims from sign-in that a refresh omits. Not in cookie mode: the cookie may belong to another
      // user now.
      next = sessionOf(tokens, { ...(!inCookie && user), ...tokens.user } as Claims, session)
    } catch (cause) {
      next = asError(cause)
      // Only these error codes of the server end a session.
      if (!['invalid_grant', 'login_required'].includes(next.error) || next.retryable) throw next
    }
    // Starts again if a sign-out, a new sign-in, or a tab without the lock changed the session meanwhile.
    if ((await keeper.read())?.at !== session.at) return refresh(session)
    if (next instanceof AuthClientError) {
      await keeper.save('unauthenticated', null)
      throw loginRequired(next)
    }
    await keeper.save(next.user.sub === user.sub ? 'token_refreshed' : 'authenticated', next)
    return next.access_token
  }

  const client: AnyAuthClient = {
    loginWithRedirect: ({ appState, loginHint, screen, redirectUri, authorizationParams, openUrl = assign } = {}) =>
      guarded(async () => {
        const state = random()
        const nonce = random()
        const verifier = random()
        const uri = redirectUri ?? options.redirectUri ?? location.origin + location.pathname
        const metadata = await provider()
        const challenge = await challengeOf(verifier)
        // Waits for a sign-out under way. This is the last wait, so that no sign-out begins before the navigation.
        ;(await lock(`${key} out`))()
        const prompt = screen ? 'create' : keeper.left() && 'login'
        if (prompt && authorizationParams?.prompt === 'none') throw loginRequired()
        const store = transactions()
        // Removes sign-ins that began more than a day ago.
        for (const [name, text] of Object.entries(store as object) as Array<[string, string]>) {
          if (name.startsWith(`${key}.`) && Date.now() - (JSON.parse(text) as Transaction)[0] > 86_400_000)
            store.removeItem(name)
        }
        store.setItem(
          `${key}.${state}`,
          JSON.stringify([Date.now(), verifier, nonce, uri, appState] satisfies Transaction)
        )
        await openUrl(
          inCookie
            ? withParams(`${base}login`, {
                return_to: withParams(new URL(uri).href.slice(location.origin.length), { state, code: state }),
                login_hint: loginHint,
                prompt
              })
            : withParams(metadata.authorization_endpoint, {
                client_id: clientId,
                response_type: 'code',
                redirect_uri: uri,
                scope: (options.scope ?? 'openid profile email')
                  .replace(/ ?offline_access|$/, ' offline_access')
                  .trim(),
                audience: options.audience,
                state,
                nonce,
                code_challenge: challenge,
                code_challenge_method: 'S256',
                login_hint: loginHint,
                prompt,
                ...authorizationParams
              })
        )
      }),

    handleRedirectCallback: (url) =>
      guarded(async () => {
        const given = url ?? location.href
        if (isAnswer(given)) answered[key] = once(key + given, () => finish(given), true)
        else if (url || !answered[key]) throw new AuthClientError('missing_transaction')
        // A later call gets the result of the first, which removed the response.
        return answered[key]
      }),

    getUser: async () => (await keeper.read())?.user ?? null,

    async getAccessToken({ force } = {}) {
      const session = await keeper.read()
      if (!session) throw loginRequired()
      if (!force && isFresh(session)) return session.access_token
      return once(`${key} lock`, () =>
        guarded(async () => {
          const done = await lock(`${key} lock`, 5000)
          return refresh(session).finally(done)
        })
      )
    },

    logout: ({ returnTo, openUrl = assign } = {}) =>
      guarded(async () => {
        keeper.leave(returnTo !== false)
        // A second sign-out waits for the first.
        const done = await lock(`${key} out`)
        let url: string | false | undefined
        let opened
        try {
          const session = await keeper.read()
          const { revocation_endpoint: revoke, end_session_endpoint: end } = await provider()
          // Does not wait for the revocation, because the page may unload before the response.
          if (revoke && session?.refresh_token)
            void request(revoke, { client_id: clientId, token: session.refresh_token }, { keepalive: true }).catch(
              () => {}
            )
          if (inCookie) await request(`${base}session`, undefined, { method: 'DELETE', keepalive: true })
          url = end
            ? returnTo !== false &&
              withParams(end, {
                client_id: clientId,
                id_token_hint: session?.id_token,
                post_logout_redirect_uri: returnTo
              })
            : returnTo
          opened = url && openUrl(url)
        } finally {
          // Before a navigation, holds the lock until the page unloads, at most 8 s.
          setTimeout(done, url ? 8000 : 0)
          await keeper.save('unauthenticated', null)
        }
        await opened
      }),

    fetch: (input, init) =>
      guarded(async () => {
        const original = new Request(input, init)
        const { origin } = new URL(original.url)
        const own = origin === location.origin || options.allowedOrigins?.includes(origin)
        const attempt = async (force: boolean): Promise<Response> => {
          const copy = original.clone()
          // If nobody is signed in, sends no token.
          const token =
            own &&
            (await client.getAccessToken({ force }).catch((error: AuthClientError) => {
              if (force || error.error !== 'login_required') throw error
            }))
          if (token) copy.headers.set('authorization', `Bearer ${token}`)
          return (send ?? fetch)(copy)
        }
        const response = await attempt(false)
        return own && response.status === 401 ? attempt(true).catch(() => response) : response
        // The caller's `signal` replaces the time limit.
      }, init?.signal && 2e9),

    on: keeper.on as AuthClient['on'],
    off: keeper.off as AuthClient['off']
  }
  // The overloads of CreateAuthClient give the client its type.
  return client as never
}
