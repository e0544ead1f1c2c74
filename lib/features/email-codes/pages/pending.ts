import type { FastifyReply, FastifyRequest } from 'fastify'
import type { PendingCode } from '../code.ts'
import type { EmailSignInDeps } from '../deps.ts'
import { journeyOf, type SealedCookies } from '../../../http/edge/sealed-cookies.ts'

/**
 * The content of the cookie of a browser that has asked for a code, or has entered it and is to sign up. `only`: the
 * one user whom the code may sign in, who proves their identity again.
 */
type PendingEmail =
  | { step: 'enter'; code: PendingCode; only?: string | undefined }
  | { step: 'proved'; name: string; expiresAt: number }

/** The same with the journey that it belongs to. `query` is `null` where it was too long to be carried. */
export type CarriedEmail = PendingEmail & { journey: string; query: string | null }

/** The cookie between asking for a code and being signed in. A browser has one: another request starts again. */
interface EmailCookie {
  /** `null` without a cookie, or with an expired or foreign one. */
  read(request: FastifyRequest): CarriedEmail | null
  /** The same, if it is of the journey with this query. */
  of(request: FastifyRequest, query: string): CarriedEmail | null
  set(reply: FastifyReply, pending: PendingEmail, query: string): void
  clear(reply: FastifyReply): void
}

export function emailCookie(sealed: SealedCookies, { clock }: Pick<EmailSignInDeps, 'clock'>): EmailCookie {
  const endOf = (pending: PendingEmail): number =>
    pending.step === 'enter' ? pending.code.expiresAt : pending.expiresAt
  const read = (request: FastifyRequest): CarriedEmail | null => {
    const found = sealed.read(request, 'email')
    if (found === null) return null
    const { content, journey, query } = found
    const carried = { ...(content as PendingEmail), journey, query }
    return clock.now() < endOf(carried) ? carried : null
  }
  return {
    read,
    of(request, query) {
      const carried = read(request)
      return carried?.journey === journeyOf(query) ? carried : null
    },
    set(reply, content, query) {
      sealed.set(reply, 'email', {
        query,
        mayLoseQuery: true,
        content,
        seconds: Math.ceil((endOf(content) - clock.now()) / 1000)
      })
    },
    clear(reply) {
      sealed.clear(reply, 'email')
    }
  }
}
