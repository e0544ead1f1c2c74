import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from '@sinclair/typebox'
import { normalizeUsername } from '../../accounts/username.ts'
import { resendTicket, resendVerification } from '../../accounts/verify-email.ts'
import { authorize as decide } from '../../authorize/authorize.ts'
import { signIn } from '../../authorize/sign-in.ts'
import { OAuthError } from '../../errors.ts'
import { isActive } from '../../sessions/active-user.ts'
import { serializeParams } from '../../protocol/request-params.ts'
import { contextOf, follow } from './authorize.ts'
import { originOf } from '../edge/deps.ts'
import type { Journey } from './journey.ts'
import type { PageDeps } from './deps.ts'
import { attempt, formError } from './errors.ts'
import { formOf, formPost, pageGet, queryParam } from './forms.ts'
import { AuthorizationRequestSchema, Password, Username } from '../edge/schemas.ts'

/** `GET` and `POST /auth/login`: the sign-in page, or the way to the host's own. */
export function loginPage (child: FastifyInstance, deps: PageDeps): void {
  const { authorize, browser, journey: journeys, limiter, link, loginUrl, offers, pages, path } = deps

  async function show (request: FastifyRequest, reply: FastifyReply, journey: Journey, { username, resendToken = null, refused }: { username: string, resendToken?: string | null, refused?: OAuthError }): Promise<FastifyReply> {
    return await pages.send(request, reply, 'login', {
      action: `${link('login')}${journey.query}`,
      error: refused === undefined ? null : formError(refused, request, reply, { pages, fields: ['username', 'password'], uiLocales: journey.uiLocales }),
      username,
      resendToken,
      signupUrl: offers.signup ? `${link('signup')}${journey.query}` : null,
      forgotUrl: offers.reset ? `${link('forgotPassword')}${journey.query}` : null
    }, { statusCode: refused?.statusCode ?? 200, clientName: journey.clientName, uiLocales: journey.uiLocales, formActions: journey.formActions })
  }

  child.get(path('login'), pageGet({ summary: 'Sign-in page', querystring: AuthorizationRequestSchema }), async (request, reply) => {
    const journey = await journeys.read(request)
    // From a page of the host, whoever is signed in has nothing to do here, unless it asks for a sign-in, as it does right after a
    // sign-out. An authorization request that leads here wants a sign-in.
    if (queryParam(request, 'return_to') !== '' && queryParam(request, 'client_id') === '' && queryParam(request, 'prompt') !== 'login' && await isSignedIn(request, deps)) return await reply.redirect(journey.next, 303)
    return loginUrl === null
      ? await show(request, reply, journey, { username: journey.loginHint ?? '' })
      : await reply.redirect(hostPage(loginUrl, journey), 303)
  })
  if (loginUrl !== null) return

  child.post(path('login'), formPost({ summary: 'Sign in by a form', body: Type.Object({ username: Username, password: Password }) }), async (request, reply) => {
    const journey = await journeys.read(request)
    const { username = '', password = '', decision, token = '' } = formOf(request)
    if (decision === 'resend') return await resend(request, reply, journey, token, deps)
    const outcome = await attempt(async () => {
      refuseEmpty({ username, password })
      // A name that can't be one has no account to protect, but is counted like one, so that it tells nothing.
      return await limiter.reserve(request, reply, { rule: 'login', account: normalizeUsername(username) ?? username }, async ({ known, leaves }) => {
        const clientId = queryParam(request, 'client_id')
        const done = await signIn({ username, password, clientId: clientId === '' ? null : clientId, formerCookie: deps.cookie.read(request), known }, await contextOf(request, deps), authorize)
        leaves(done.user)
        return done
      })
    })
    if ('refused' in outcome) return await show(request, reply, journey, { username, refused: outcome.refused, resendToken: await resendTokenFor(outcome.refused, username, deps) })
    browser.setCookie(reply, outcome.done.cookie)
    const { nativeRequest } = journey
    if (nativeRequest === null) return await reply.redirect(journey.next, 303)
    return await follow(await decide(nativeRequest, { session: outcome.done.session, origin: originOf(request), answered: 'sign_in' }, authorize), nativeRequest, request, reply, deps)
  })
}

/** For an account that must be confirmed first and whose password was right; `null` for any other. */
async function resendTokenFor ({ reason }: OAuthError, username: string, { grants: { accounts } }: PageDeps): Promise<string | null> {
  return reason === 'email_not_verified' ? await resendTicket(username, accounts) : null
}

/** The button beside "your e-mail address is not confirmed yet". */
async function resend (request: FastifyRequest, reply: FastifyReply, journey: Journey, token: string, { grants: { accounts }, limiter, link, minLength, pages }: PageDeps): Promise<FastifyReply> {
  await limiter.countFailure(request, reply, async () => { await resendVerification(token, accounts) })
  const page = { action: `${link('signup')}${journey.query}`, error: null, username: '', fields: [], minLength, loginUrl: `${link('login')}${journey.query}`, sent: true }
  return await pages.send(request, reply, 'signup', page, { statusCode: 202, clientName: journey.clientName, uiLocales: journey.uiLocales })
}

/** The host's own page gets what it needs to lead on: `return_to`, a path of this origin, after `app.authority.signIn`. */
function hostPage (loginUrl: string, { next, loginHint, uiLocales }: Journey): string {
  const query = serializeParams({ return_to: next, login_hint: loginHint, ui_locales: uiLocales.length === 0 ? undefined : uiLocales.join(' ') })
  return `${loginUrl}${loginUrl.includes('?') ? '&' : '?'}${query}`
}

/** Asked of the user store too, or a disabled user would be sent to and fro for ever. */
async function isSignedIn (request: FastifyRequest, { browser, grants }: PageDeps): Promise<boolean> {
  const session = await browser.find(request)
  const user = session === null ? null : await grants.accounts.users.findById(session.userId)
  return session !== null && isActive(user) && !await grants.sessions.isOver(user, session)
}

/** An empty field is a slip of the finger, no attempt. */
function refuseEmpty (fields: Record<string, string>): void {
  const empty = Object.keys(fields).find((name) => fields[name] === '')
  if (empty !== undefined) throw new OAuthError('invalid_request', `${empty}: it is required.`, { field: empty, reason: 'required' })
}
