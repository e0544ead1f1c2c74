import type { FastifyRequest } from 'fastify'
import { authorize as decide } from '../../authorize/authorize.ts'
import type { SessionBegun, StepNeeded } from '../../accounts/slots.ts'
import { originOf } from '../edge/deps.ts'
import { follow } from './authorize.ts'
import type { Journey, Leave, PageDeps } from './deps.ts'
import { goOn } from './form-page.ts'

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
