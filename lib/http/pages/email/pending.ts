import type { FastifyReply, FastifyRequest } from 'fastify'
import type { PendingCode } from '../../../accounts/email-sign-in/code.ts'
import type { EmailSignIn } from '../../../accounts/email-sign-in/deps.ts'
import { digest } from '../../../protocol/digest.ts'
import type { PageDeps } from '../deps.ts'

/**
 * What the cookie of a browser carries that has asked for a code, or has entered it and is to sign up. `only`: the one
 * user whom the code may sign in, who proves anew that it is them.
 */
type PendingEmail =
  | { step: 'enter'; code: PendingCode; only?: string | undefined }
  | { step: 'proved'; name: string; expiresAt: number }

/** The same with the journey that it belongs to. `query` is `null` where it was too long to be carried. */
export type CarriedEmail = PendingEmail & { journey: string; query: string | null }

/** The cookie between asking for a code and being signed in. There is one in a browser: who asks again begins anew. */
interface EmailCookie {
  /** `null` where there is none, or none of this service that is still good. */
  read(request: FastifyRequest): CarriedEmail | null
  /** The same, if it is of the journey with this query. */
  of(request: FastifyRequest, query: string): CarriedEmail | null
  set(reply: FastifyReply, pending: PendingEmail, query: string): void
  clear(reply: FastifyReply): void
}

export function emailCookie(
  cookie: PageDeps['cookies']['email'],
  { sealer }: EmailSignIn,
  { clock, issuer }: PageDeps['authorize']['accounts']
): EmailCookie {
  const context = JSON.stringify(['e-mail sign-in', issuer])
  const endOf = (pending: PendingEmail): number =>
    pending.step === 'enter' ? pending.code.expiresAt : pending.expiresAt
  const read = (request: FastifyRequest): CarriedEmail | null => {
    const value = cookie.read(request)
    const opened = value === undefined ? null : sealer.open(value, context)
    const carried = opened === null ? null : (JSON.parse(opened) as CarriedEmail)
    return carried !== null && clock.now() < endOf(carried) ? carried : null
  }
  return {
    read,
    of(request, query) {
      const carried = read(request)
      return carried?.journey === digest(query) ? carried : null
    },
    set(reply, pending, query) {
      const sealed = (carriedQuery: string | null): string =>
        sealer.seal(
          JSON.stringify({ ...pending, journey: digest(query), query: carriedQuery } satisfies CarriedEmail),
          context
        )
      const whole = sealed(query)
      cookie.set(reply, cookie.fits(reply, whole) ? whole : sealed(null))
    },
    clear(reply) {
      cookie.clear(reply)
    }
  }
}
