import type { FastifyRequest } from 'fastify'
import { authorize as decide } from '../../authorize/authorize.ts'
import type { SessionBegun, StepNeeded } from '../../accounts/slots.ts'
import { originOf } from '../edge/request-origin.ts'
import { follow } from './authorize.ts'
import type { Arrival, Journey, Leave, PageDeps } from './deps.ts'
import { goOn } from './form-page.ts'
import type { Form } from './page-routes.ts'
import { pageBefore } from './parts.ts'
import type { Browser } from '../../sessions/browser-sessions.ts'

/** The page that asks for what a sign-in still owes. */
export const pathOfStep = (needs: StepNeeded['needs']): 'secondFactorSetUp' | 'secondFactor' =>
  needs === 'enrolment' ? 'secondFactorSetUp' : 'secondFactor'

/**
 * After a first factor, whichever it was: gives the browser what it has now, and leads on to where the journey goes, or
 * to the second factor.
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
 * `leadOn` from a form of ours: where a sign-in elsewhere waits to be confirmed, that comes first, and else perhaps the
 * proposal of a passkey.
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
 * The browser for a sign-in of this journey, in which it may be remembered and then need not give a second factor. For
 * what asks for all that the account takes, it is a browser like any other.
 */
export async function signInBrowser(
  request: FastifyRequest,
  { asksAll }: Pick<Journey, 'asksAll'>,
  { browser, cookies: { trusted } }: Pick<PageDeps, 'browser' | 'cookies'>
): Promise<Browser> {
  const read = await browser.read(request)
  return asksAll || trusted === null ? read : { ...read, remembered: trusted.read(request) }
}
