import type { FastifyRequest } from 'fastify'
import { originOf } from '../../edge/deps.ts'

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
  const presses = new Map<string, Promise<Result>>()
  return async (proof, request, work) => {
    const { ip, userAgent } = originOf(request)
    const press = JSON.stringify([proof, ip, userAgent])
    const first = presses.get(press)
    if (first !== undefined) return await first
    const own = work()
    presses.set(press, own)
    try {
      return await own
    } finally {
      presses.delete(press)
    }
  }
}
