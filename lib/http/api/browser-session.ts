import type { FastifyInstance, FastifyRequest } from 'fastify'
import { OAuthError } from '../../errors.ts'
import type { OpenSession } from '../../sessions/browser-sessions.ts'
import { releasedClaims } from '../../tokens/released-claims.ts'
import { registerBodyParsers } from '../edge/body.ts'
import { callableBy } from '../edge/callers.ts'
import { guarded, noStoreHook } from '../edge/error-reply.ts'
import type { AuthorizeDeps } from '../../authorize/deps.ts'
import type { HttpDeps } from '../edge/deps.ts'
import type { RequestBrowser } from '../edge/request-browser.ts'
import { BrowserSessionAnswer, describeRoute, ErrorResponse, Nothing } from '../edge/schemas.ts'

/** After this time a page should ask again. */
const ASK_AGAIN_SECONDS = 300
/** The page is of the host's own origin, so it may know what the host knows. */
const SCOPES = ['openid', 'profile', 'email']

interface BrowserSessionDeps {
  authorize: AuthorizeDeps
  browser: RequestBrowser
  path: HttpDeps['path']
}

/**
 * `/auth/session`: the browser session for scripts of the host's own pages, which never see a token. `GET` tells who is
 * signed in, `POST` also counts as a use, `DELETE` signs out.
 */
export function browserSessionRoutes(child: FastifyInstance, { authorize, browser, path }: BrowserSessionDeps): void {
  const { accounts, browserSessions, claims } = authorize
  const response = { 200: BrowserSessionAnswer, '4xx': ErrorResponse, 503: ErrorResponse }
  const shared = { ...callableBy('own_page', { proof: 'browser_session' }), onRequest: noStoreHook }
  const guard = { ...shared, bodyLimit: 1024, validatorCompiler: () => () => true }
  registerBodyParsers(child, { forms: true })

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

  child.get(
    path('session'),
    {
      ...shared,
      exposeHeadRoute: false,
      schema: describeRoute({ summary: 'Who is signed in in this browser', response })
    },
    async (request) => await guarded(async () => await answer(request, async () => true))
  )

  child.post(
    path('session'),
    {
      ...guard,
      schema: describeRoute({ summary: 'Go on with the browser session', response })
    },
    async (request) =>
      await guarded(async () => await answer(request, async (session) => await browserSessions.use(session)))
  )

  child.delete(
    path('session'),
    {
      ...guard,
      schema: describeRoute({
        summary: 'Sign out of the browser session',
        response: { 200: Nothing, '4xx': ErrorResponse, 503: ErrorResponse }
      })
    },
    async (request, reply) =>
      await guarded(async () => {
        await browser.signOut(request, reply)
        return {}
      })
  )
}
