import type { FastifyRequest } from 'fastify'
import { authorize as decide } from '../../authorize/authorize.ts'
import type { SessionBegun, StepNeeded } from '../../accounts/slots.ts'
import { originOf } from '../edge/request-origin.ts'
import { follow } from './authorize.ts'
import type { Arrival, Journey, Leave, PageDeps, Visit } from './deps.ts'
import { isFromHere } from './account-page.ts'
import { goOn, withQuery } from './form-page.ts'
import { type Form, queryParam, tokenIn } from './page-routes.ts'
import type { FoundWaits, Waiting, WaitingKind } from './waiting.ts'
import { invalidLink, isAskedBy } from '../../accounts/message-codes.ts'
import { signInByLink } from '../../authorize/sign-in.ts'
import { logLine } from '../../ports/log.ts'
import { pageBefore } from './parts.ts'
import type { Browser } from '../../sessions/browser-sessions.ts'

/** The page that asks for the missing step of a sign-in. */
export const pathOfStep = (needs: StepNeeded['needs']): 'secondFactorSetUp' | 'secondFactor' =>
  needs === 'enrolment' ? 'secondFactorSetUp' : 'secondFactor'

/**
 * Continues after any first factor: sets the browser's cookies, and redirects to the missing step of the sign-in or to
 * the target of the journey. Answers the authorization request of an app on a device (`nativeRequest`) itself.
 */
export function leadOn(
  begun: SessionBegun | StepNeeded,
  { next, nativeRequest, query }: Pick<Journey, 'next' | 'nativeRequest' | 'query'>,
  request: FastifyRequest,
  deps: PageDeps
): Leave {
  return async (reply) => {
    if ('ticket' in begun) {
      deps.cookies.step.set(reply, begun.ticket)
      return await goOn(`${deps.link(pathOfStep(begun.needs))}${query}`)(reply)
    }
    const { cookie, session, user } = begun
    deps.browser.setCookie(reply, cookie)
    await deps.browser.makeKnown(reply, user)
    if (nativeRequest === null) return await goOn(next)(reply)
    return await follow(
      await decide(
        nativeRequest,
        { session, origin: originOf(request), answered: 'sign_in', remembered: deps.cookies.trusted?.read(request) },
        deps.authorize
      ),
      nativeRequest.params,
      request,
      reply,
      deps
    )
  }
}

/**
 * Redirects the browser after a form of the hosted pages. A page that a feature requires comes first, such as the
 * confirmation of a connection. If there is none, a page that a feature proposes comes first, such as the page for a
 * new passkey.
 */
export async function leadOnFrom(
  begun: SessionBegun | StepNeeded,
  { request, journey, isSignUp }: Arrival,
  form: Form,
  deps: PageDeps
): Promise<Leave> {
  const first = pageBefore(begun.user.id, { request, journey }, deps)
  if (first !== null) return leadOn(begun, { ...journey, next: first, nativeRequest: null }, request, deps)
  for (const { proposal } of deps.parts) {
    const proposed = (await proposal?.(begun, { request, journey, isSignUp }, form)) ?? null
    if (proposed !== null)
      return async (reply) => {
        deps.cookies.prompted.set(reply, '1')
        return await leadOn(begun, { ...journey, next: `${deps.link(proposed)}${journey.query}` }, request, deps)(reply)
      }
  }
  return leadOn(begun, journey, request, deps)
}

/**
 * Describes the browser for a sign-in of this journey. A remembered browser needs no second factor, unless the journey
 * asks for all factors of the account.
 */
export async function signInBrowser(
  request: FastifyRequest,
  { asksAll }: Pick<Journey, 'asksAll'>,
  { browser, cookies: { trusted } }: Pick<PageDeps, 'browser' | 'cookies'>
): Promise<Browser> {
  const read = await browser.read(request)
  return asksAll || trusted === null ? read : { ...read, remembered: trusted.read(request) }
}

type LinkPurpose = Parameters<typeof isAskedBy>[0]

/** Answers questions about the browser that opened a link of a message. */
interface LinkBrowser {
  /** The waiting request for the message of this link. `null`: this browser did not ask for it, or no longer waits. */
  asked(request: FastifyRequest): FoundWaits | null
  /**
   * The journey in which this browser asked for the message. In any other browser, the journey of the page's address.
   */
  journeyOf(request: FastifyRequest): Promise<Journey>
}

/**
 * Recognizes the browser that asked for the message of a link. The token of the link is bound to a secret of that
 * browser.
 */
export function linkBrowser(purpose: LinkPurpose, { journeys, waiting }: PageDeps): LinkBrowser {
  const asked: LinkBrowser['asked'] = (request) => {
    const token = tokenIn(request)
    return token === '' ? null : waiting.find(request, ({ id }) => isAskedBy(purpose, token, id))
  }
  return {
    asked,
    async journeyOf(request) {
      const waits = asked(request)
      return waits === null ? await journeys.read(request) : await journeys.kept(waits.query)
    }
  }
}

/**
 * Continues after the button behind a link, or after the code of a message. `by`: the user who asked for the message in
 * this browser. If the browser has proved the password, signs this user in and leads to the target of the journey.
 * Otherwise redirects to the page with the result, which can be reloaded: without such a proof, if the client asks for
 * a more recent sign-in, or if the sign-in fails.
 */
export async function afterMessage(
  by: { userId: string; proof: FoundWaits['proof'] } | null,
  result: { kind: WaitingKind; name: string; path: 'verifyEmail' | 'resetPassword' },
  { request, journey, form }: Pick<Visit, 'request' | 'journey'> & { form: Form },
  deps: PageDeps
): Promise<Leave> {
  const { authorize, link, waiting } = deps
  const leave: Leave = async (reply) => {
    const { path, ...told } = result
    waiting.set(reply, journey, told)
    return await goOn(withQuery(`${link(path)}${journey.query}`, { done: told.kind }))(reply)
  }
  if (by?.proof === undefined) return leave
  const { userId, proof } = by
  const params = new URLSearchParams(journey.query.slice(1))
  const [clientId, maxAge] = [params.get('client_id'), params.get('max_age')]
  const now = authorize.accounts.clock.now()
  if (maxAge !== null && now - proof.at > Number(maxAge) * 1000) return leave
  try {
    const begun = await signInByLink(
      { userId, proof, clientId },
      await signInBrowser(request, { asksAll: true }, deps),
      authorize
    )
    // The lifetime of the session begins at the time of the password proof, so the session may be over already.
    const isOver = begun === null || ('session' in begun && begun.session.expiresAt <= now)
    return isOver ? leave : await leadOnFrom(begun, { request, journey }, form, deps)
  } catch (error) {
    // Does not throw, because the link is used up and the page must show what the link did.
    request.log.error(
      ...logLine('FST_AUTHORITY_WORK_FAILED', 'a person could not be signed in after a link', { err: error })
    )
    return leave
  }
}

/**
 * The result of a used link, for a page without a token in its address. Read from the waiting cookie, otherwise from
 * the parameter `done` of a redirect of ours. With `done`, `name` is `''`.
 * @throws OAuthError `invalid_token` if there is no result
 */
export function resultOf<Kind extends WaitingKind>(
  { request, journey }: Pick<Visit, 'request' | 'journey'>,
  kinds: readonly Kind[],
  waiting: Waiting
): { kind: Kind; name: string } {
  const waits = waiting.of(request, journey)
  const kept = kinds.find((one) => one === waits?.kind)
  const kind = kept ?? kinds.find((one) => one === queryParam(request, 'done') && isFromHere(request))
  if (kind === undefined) throw invalidLink()
  return { kind, name: kept === undefined ? '' : (waits?.name ?? '') }
}
