import type { FastifyRequest } from 'fastify'
import { authorize as decide } from '../../authorize/authorize.ts'
import type { SessionBegun } from '../../accounts/begin-session.ts'
import { originOf } from '../edge/deps.ts'
import { follow } from './authorize.ts'
import type { PageDeps } from './deps.ts'
import { goOn, type Leave } from './form-page.ts'
import type { Journey } from './journey.ts'

/** After a first factor, whichever it was: gives the browser what it has now, and leads on to where the journey goes. */
export function leadOn ({ cookie, session }: SessionBegun, { next, nativeRequest }: Pick<Journey, 'next' | 'nativeRequest'>, request: FastifyRequest, deps: PageDeps): Leave {
  return async (reply) => {
    deps.browser.setCookie(reply, cookie)
    if (nativeRequest === null) return await goOn(next)(reply)
    return await follow(await decide(nativeRequest, { session, origin: originOf(request), answered: 'sign_in' }, deps.authorize), nativeRequest.params, request, reply, deps)
  }
}
