import { Type } from '@sinclair/typebox'
import { OAuthError } from '../../errors.ts'
import { listSessions, type OpenSession } from '../../sessions/browser-sessions.ts'
import { accountOf } from '../edge/caller-guards.ts'
import { originOf } from '../edge/deps.ts'
import { endpoint, type Endpoint } from '../edge/endpoint.ts'
import { Empty, Id, Nothing } from '../edge/schemas.ts'
import type { FastifyRequest } from 'fastify'
import type { AuthorizeDeps } from '../../authorize/deps.ts'
import { releasedClaims } from '../../tokens/disclosure.ts'
import type { RequestBrowser } from '../edge/request-browser.ts'

/** `GET /auth/sessions` and `DELETE /auth/sessions/:id`: a user's own sign-ins, token families and browser sessions. */
export const sessions = [
  endpoint({
    method: 'GET',
    path: 'sessions',
    callers: 'account',
    summary: 'List my sessions',
    what:
      'Lists the sessions of the signed-in user, newest first. The kind `token` is a session of one device or app, ' +
      'the kind `browser` a browser that is signed in at the hosted pages. `current` marks the session of this ' +
      'request, and the browser session from which it came.',
    answers: {
      200: Type.Object({
        sessions: Type.Array(
          Type.Object({
            id: Type.String(),
            kind: Type.Union([Type.Literal('browser'), Type.Literal('token')], {
              description: '`browser`: the hosted pages; `token`: what one device was given.'
            }),
            client_id: Type.Union([Type.String(), Type.Null()]),
            user_agent: Type.Union([Type.String(), Type.Null()]),
            scope: Type.String(),
            created_at: Type.String({ description: 'RFC 3339' }),
            last_used_at: Type.String({ description: 'RFC 3339' }),
            expires_at: Type.String({ description: 'RFC 3339' }),
            current: Type.Boolean({ description: 'True for the session of this request.' })
          })
        )
      })
    },
    handle: async (request, _reply, { grants }) => {
      const { user, sid, sessionSid } = accountOf(request)
      const sessions = await listSessions(user.id, grants.sessions)
      return {
        sessions: sessions.map(({ id, kind, clientId, scope, userAgent, createdAt, lastUsedAt, expiresAt }) => ({
          id,
          kind,
          client_id: clientId,
          scope,
          user_agent: userAgent,
          created_at: createdAt.toISOString(),
          last_used_at: lastUsedAt.toISOString(),
          expires_at: expiresAt.toISOString(),
          current: id === (kind === 'token' ? sid : sessionSid)
        }))
      }
    }
  }),
  endpoint({
    method: 'DELETE',
    path: 'sessions/:id',
    callers: 'account',
    summary: 'End one of my sessions',
    what:
      "Ends one of the user's own sessions. Its refresh token ends at once. Its access tokens end at once in this " +
      'process and at the endpoints that look at the store, elsewhere when they expire. For the current session, ' +
      'this is the sign-out.',
    params: Id,
    answers: { 204: Empty },
    errors: { 404: 'not_found' },
    handle: async (request, _reply, { grants }) => {
      const { user } = accountOf(request)
      if (!(await grants.sessions.revoke(user.id, request.params.id, 'user', originOf(request))))
        throw new OAuthError('not_found', 'There is no such session.')
    }
  })
]

/** After this time a page should ask again. */
const ASK_AGAIN_SECONDS = 300
/** The page is of the host's own origin, so it may know what the host knows. */
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
 * `/auth/session`: the browser session for scripts of the host's own pages, which never see a token. `GET` tells who is
 * signed in, `POST` also counts as a use, `DELETE` signs out.
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
