import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from '@sinclair/typebox'
import { normalizeUsername } from '../accounts/username.ts'
import { signIn } from '../authorize/sign-in.ts'
import { OAuthError } from '../errors.ts'
import { isActive } from '../tokens/active-user.ts'
import { serializeParams } from '../protocol/request-params.ts'
import { contextOf } from './authorize.ts'
import type { Journey } from './journey.ts'
import type { PageDeps } from './page-deps.ts'
import { attempt, formError } from './page-errors.ts'
import { formOf, formPost, pageGet, queryParam } from './page-forms.ts'
import { AuthorizationRequestSchema, Password, Username } from './schemas.ts'

/** `GET` and `POST /auth/login`: the sign-in page, or the way to the host's own. */
export function loginPage (child: FastifyInstance, deps: PageDeps): void {
  const { authorize, browser, journey: journeys, limiter, link, loginUrl, offers, pages, path } = deps

  async function show (request: FastifyRequest, reply: FastifyReply, journey: Journey, { username, refused }: { username: string, refused?: OAuthError }): Promise<FastifyReply> {
    return await pages.send(request, reply, 'login', {
      action: `${link('login')}${journey.query}`,
      error: refused === undefined ? null : formError(refused, request, reply, { pages, fields: ['username', 'password'], uiLocales: journey.uiLocales }),
      username,
      signupUrl: offers.signup ? `${link('signup')}${journey.query}` : null,
      forgotUrl: offers.reset ? `${link('forgotPassword')}${journey.query}` : null
    }, { statusCode: refused?.statusCode ?? 200, clientName: journey.clientName, uiLocales: journey.uiLocales, formActions: journey.formActions })
  }

  child.get(path('login'), pageGet({ summary: 'Sign-in page', querystring: AuthorizationRequestSchema }), async (request, reply) => {
    const journey = await journeys.read(request)
    // From a page of the host, whoever is signed in has nothing to do here. An authorization request that leads here wants a sign-in.
    if (queryParam(request, 'return_to') !== '' && queryParam(request, 'client_id') === '' && await isSignedIn(request, deps)) return await reply.redirect(journey.next, 303)
    return loginUrl === null
      ? await show(request, reply, journey, { username: journey.loginHint ?? '' })
      : await reply.redirect(hostPage(loginUrl, journey), 303)
  })
  if (loginUrl !== null) return

  child.post(path('login'), formPost(authorize.issuer, { summary: 'Sign in by a form', body: Type.Object({ username: Username, password: Password }) }), async (request, reply) => {
    const journey = await journeys.read(request)
    const { username = '', password = '' } = formOf(request)
    const outcome = await attempt(async () => {
      refuseEmpty({ username, password })
      // A name that can't be one has no account to protect, but is counted like one, so that it tells nothing.
      return await limiter.run(request, reply, { rule: 'login', account: normalizeUsername(username) ?? username }, async () => {
        const clientId = queryParam(request, 'client_id')
        return await signIn({ username, password, clientId: clientId === '' ? null : clientId, formerCookie: deps.cookie.read(request) }, await contextOf(request, deps), authorize)
      })
    })
    if ('refused' in outcome) return await show(request, reply, journey, { username, refused: outcome.refused })
    browser.setCookie(reply, outcome.done.cookie)
    return await reply.redirect(journey.next, 303)
  })
}

/** The host's own page gets what it needs to lead on: `return_to`, a path of this origin, after `app.authority.signIn`. */
function hostPage (loginUrl: string, { next, loginHint, uiLocales }: Journey): string {
  const query = serializeParams({ return_to: next, login_hint: loginHint, ui_locales: uiLocales.length === 0 ? undefined : uiLocales.join(' ') })
  return `${loginUrl}${loginUrl.includes('?') ? '&' : '?'}${query}`
}

/** Asked of the user store too, or a disabled user would be sent to and fro for ever. */
async function isSignedIn (request: FastifyRequest, { browser, grants }: PageDeps): Promise<boolean> {
  const session = await browser.find(request)
  return session !== null && isActive(await grants.accounts.users.findById(session.userId))
}

/** An empty field is a slip of the finger, no attempt. */
function refuseEmpty (fields: Record<string, string>): void {
  const empty = Object.keys(fields).find((name) => fields[name] === '')
  if (empty !== undefined) throw new OAuthError('invalid_request', `${empty}: it is required.`, { field: empty, reason: 'required' })
}
