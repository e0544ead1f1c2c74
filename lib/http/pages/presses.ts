import type { FastifyRequest } from 'fastify'
import { onceUnderWay } from '../../accounts/under-way.ts'
import { originOf } from '../edge/deps.ts'

/**
 * Does the work of a button once while it is under way, however often the button is pressed. A double click sends the
 * form twice before the first answer comes, and the browser drops that answer. The second request gets what the first
 * gets. A copy of the proof in another browser, as far as a request tells the two apart, does not.
 */
export function pressedOnce<Result>(): (
  proof: string,
  request: FastifyRequest,
  work: () => Promise<Result>
) => Promise<Result> {
  const once = onceUnderWay<Result>()
  return async (proof, request, work) => {
    const { ip, userAgent } = originOf(request)
    return await once(JSON.stringify([proof, ip, userAgent]), work)
  }
}
