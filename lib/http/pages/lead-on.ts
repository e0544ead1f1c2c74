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
 * After any first factor: sets the browser's cookies, and leads on to the target of the journey, or to the second
 * factor.
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
    await deps.browser.makeKnown(request, reply, user)
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
 * Leads the browser on after a form of the hosted pages. A connection that waits for its confirmation comes first,
 * then a page that a feature proposes, such as that for a new passkey.
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
 * The browser for a sign-in of this journey. If it is remembered, it need not give a second factor. If the journey asks
 * for all factors of the account, it is a browser like any other.
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

/** How the browser that opened a link continues, by the message that it waits for. */
interface LinkBrowser {
  /** The request for the message of this link, if this browser made it; else `null`. */
  asked(request: FastifyRequest): FoundWaits | null
  /** The journey that the request belongs to. In any other browser, the address of the page tells it. */
  journeyOf(request: FastifyRequest): Promise<Journey>
}

/** The part that knows the browser which opens a link of a message. */
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
 * After the button behind a link, or the code of the message: signs in `by`, who asked for the message in this browser,
 * if the browser knows the password, and leads to where the person came from. Otherwise, or if the client asks for a
 * more recent sign-in, to the page that tells the result, which can be reloaded.
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
    // A session counts from the time of its password, which may be too long ago.
    const isOver = begun === null || ('session' in begun && begun.session.expiresAt <= now)
    return isOver ? leave : await leadOnFrom(begun, { request, journey }, form, deps)
  } catch (error) {
    // The link is used up, so the person must hear what it did.
    request.log.error(
      ...logLine('FST_AUTHORITY_WORK_FAILED', 'a person could not be signed in after a link', { err: error })
    )
    return leave
  }
}

/**
 * The result that this browser is told without a token. A browser without cookies is told by the address, if it comes
 * from our form. @throws OAuthError `invalid_token` where there is none
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
