import type { FastifyInstance, FastifyRequest } from 'fastify'
import { OAuthError } from '../errors.ts'
import type { BrowserSession } from '../ports/session-store.ts'
import { isActive } from '../tokens/active-user.ts'
import { releasedClaims } from '../tokens/released-claims.ts'
import { registerBodyParsers } from './body.ts'
import { guarded, noStoreHook } from './error-reply.ts'
import type { PageDeps } from './page-deps.ts'
import { sameOriginOnly } from './page-forms.ts'
import { BrowserSessionAnswer, describeRoute, ErrorResponse, Nothing } from './schemas.ts'

/** How long a page may go on without asking again. */
const ASK_AGAIN_SECONDS = 300
/** The page is of the host's own origin, so it may know what the host knows. */
const SCOPES = ['openid', 'profile', 'email']

/**
 * `/auth/session`: the browser session for scripts of the host's own pages, which never see a token. `GET` tells who is signed in,
 * `POST` also counts as a use, `DELETE` signs out; the latter two only from a page of this origin.
 */
export function browserSessionRoutes (child: FastifyInstance, { authorize, browser, path }: PageDeps): void {
  const { accounts, claims } = authorize.grants
  const response = { 200: BrowserSessionAnswer, '4xx': ErrorResponse, 503: ErrorResponse }
  const guard = { bodyLimit: 1024, onRequest: [noStoreHook, sameOriginOnly(authorize.issuer)], validatorCompiler: () => () => true }
  registerBodyParsers(child, { forms: true })

  async function answer (request: FastifyRequest, use: (session: BrowserSession) => Promise<boolean>): Promise<{ user: Record<string, unknown>, expires_in: number }> {
    const session = await browser.find(request)
    const user = session === null ? null : await accounts.users.findById(session.userId)
    if (session === null || !isActive(user) || !await use(session)) throw new OAuthError('login_required', 'Nobody is signed in.', { statusCode: 401 })
    const left = Math.floor((Math.min(session.expiresAt, session.idleExpiresAt) - accounts.clock.now()) / 1000)
    return {
      user: { ...await releasedClaims({ user, client: null, scopes: SCOPES, use: 'userinfo', claims: undefined }, claims), sub: user.id },
      expires_in: Math.max(1, Math.min(ASK_AGAIN_SECONDS, left))
    }
  }

  child.get(path('session'), {
    exposeHeadRoute: false,
    onRequest: noStoreHook,
    schema: describeRoute({ summary: 'Who is signed in in this browser', response })
  }, async (request) => await guarded(async () => await answer(request, async () => true)))

  child.post(path('session'), {
    ...guard,
    schema: describeRoute({ summary: 'Go on with the browser session', response })
  }, async (request) => await guarded(async () => await answer(request, async (session) => await authorize.browserSessions.use(session))))

  child.delete(path('session'), {
    ...guard,
    schema: describeRoute({ summary: 'Sign out of the browser session', response: { 200: Nothing, '4xx': ErrorResponse, 503: ErrorResponse } })
  }, async (request, reply) => await guarded(async () => {
    await browser.signOut(request, reply)
    return {}
  }))
}
