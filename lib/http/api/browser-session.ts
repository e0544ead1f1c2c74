import { Type } from '@sinclair/typebox'
import { OAuthError } from '../../errors.ts'
import type { OpenSession } from '../../sessions/browser-sessions.ts'
import { endpoint, type Endpoint } from '../edge/endpoint.ts'
import { Nothing } from '../edge/schemas.ts'
import type { FastifyRequest } from 'fastify'
import type { AuthorizeDeps } from '../../authorize/deps.ts'
import { releasedClaims } from '../../tokens/disclosure.ts'
import type { RequestBrowser } from '../edge/request-browser.ts'

/** Upper limit of `expires_in`, so that a page asks again at least every five minutes. */
const ASK_AGAIN_SECONDS = 300
/** Releases profile and email claims without consent, because the page is on the issuer's own origin. */
const SCOPES = ['openid', 'profile', 'email']
const shared = {
  path: 'session',
  callers: 'own_page',
  proof: 'browser_session',
  cors: 'noOrigin',
  takes: 'form',
  bodyLimit: 1024
} as const satisfies Partial<Endpoint>
const answers = {
  200: Type.Object({
    user: Type.Object({ sub: Type.String() }, { additionalProperties: true, description: 'As userinfo has it.' }),
    expires_in: Type.Integer({ description: 'Seconds until the page should ask again.' })
  })
}

/**
 * `/auth/session`: the browser session for scripts of the host's own pages, which never see a token. `GET` returns the
 * signed-in user, or 401 if there is none. `POST` also counts as a use of the session. `DELETE` signs out.
 */
export function browserSession({
  authorize: { accounts, browserSessions, claims },
  browser
}: {
  authorize: AuthorizeDeps
  browser: RequestBrowser
}): Endpoint[] {
  async function answer(
    request: FastifyRequest,
    use: (session: OpenSession) => Promise<boolean>
  ): Promise<{ user: Record<string, unknown>; expires_in: number }> {
    const signedIn = await browser.signedIn(request)
    if (signedIn === null || !(await use(signedIn.session)))
      throw new OAuthError('login_required', 'Nobody is signed in.', { statusCode: 401 })
    const { session, user } = signedIn
    const left = Math.floor((Math.min(session.expiresAt, session.idleExpiresAt) - accounts.clock.now()) / 1000)
    return {
      user: {
        ...(await releasedClaims(
          { user, client: null, scopes: SCOPES, use: 'userinfo', claims: undefined },
          { claims, scopes: SCOPES }
        )),
        sub: user.id
      },
      expires_in: Math.max(1, Math.min(ASK_AGAIN_SECONDS, left))
    }
  }

  return [
    endpoint({
      ...shared,
      method: 'GET',
      head: false,
      summary: 'The user who is signed in in this browser',
      what:
        "Tells scripts of pages on the issuer's own origin which user is signed in in this browser. The answer has " +
        'no token. Its claims are those of the scopes `profile` and `email`. Does not count as a use of the session. ' +
        'Exists if there are pages.',
      answers,
      errors: { 401: 'login_required' },
      handle: async (request) => await answer(request, async () => true)
    }),
    endpoint({
      ...shared,
      method: 'POST',
      summary: 'Go on with the browser session',
      what: 'The same, and counts as a use of the session. The body is not read.',
      answers,
      errors: { 401: 'login_required' },
      handle: async (request) => await answer(request, async (session) => await browserSessions.use(session))
    }),
    endpoint({
      ...shared,
      method: 'DELETE',
      summary: 'Sign out of the browser session',
      what: 'Signs out of this browser, as `app.authority.signOut` does. Succeeds also if nobody is signed in.',
      answers: { 200: Nothing },
      handle: async (request, reply) => {
        await browser.signOut(request, reply)
        return {}
      }
    })
  ]
}
