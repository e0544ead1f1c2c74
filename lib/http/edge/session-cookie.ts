import type { FastifyReply, FastifyRequest } from 'fastify'
import { COOKIES } from '../../protocol/cookies.ts'
import { cookieValues } from './cookie-header.ts'
import { cookieJar, type CookieOwner, type WrittenCookie } from './cookie-jar.ts'

/** A cookie of this service. Its value is not verified here. */
export interface SessionCookie {
  name: string
  /**
   * `undefined` where there is none or more than one: two cookies of this name mean that one was injected, for example
   * from a subdomain, so neither is trusted.
   */
  read(request: Pick<FastifyRequest, 'headers'>): string | undefined
  /** Adds it to the cookies of the reply. Throws where it does not fit. @see CookieJar.write */
  set(reply: FastifyReply, value: string): void
  /** True if it could be set with this value. */
  fits(reply: FastifyReply, value: string): boolean
  /** Takes it out of the browser. */
  clear(reply: FastifyReply): void
  /** The value that the reply sets already. */
  pending(reply: FastifyReply): string | undefined
}

/** Those of one registration of the plugin. */
export interface Cookies {
  /** The session of the signed-in user. */
  session: SessionCookie
  /** The ticket between the first factor and the second. */
  step: SessionCookie
  /** The mark of a browser that need not give the second factor; `null`: browsers are not remembered. */
  trusted: SessionCookie | null
  /** That this browser was asked to make a passkey. */
  prompted: SessionCookie
  /** The mark by which accounts with a session in this browser know it. */
  device: SessionCookie
  /**
   * The invitation to set up a second factor, from the link of that message to the sign-in; `null`: there are no second
   * factors.
   */
  enrolment: SessionCookie | null
}

interface SessionCookieOptions extends CookieOwner {
  of?: keyof Cookies
  /** The lifetime of a kind that has none of its own. */
  seconds?: number
}

/**
 * The cookie is `Lax`, for it must come with a client's link to the
 * authorization endpoint.
 * @see RFC 6265bis §4.1.3.2
 */
export function sessionCookie({ of = 'session', seconds = 0, ...owner }: SessionCookieOptions): SessionCookie {
  const { nameOf, write, clear, fits, pending } = cookieJar(owner)
  const name = nameOf(of)
  const cookieOf = (value: string): WrittenCookie[] => [{ name, value, seconds: COOKIES[of].seconds ?? seconds }]
  return {
    name,
    read(request) {
      const values = cookieValues(request, name)
      return values.length === 1 ? values[0] : undefined
    },
    set(reply, value) {
      write(reply, cookieOf(value))
    },
    clear(reply) {
      clear(reply, name)
    },
    fits: (reply, value) => fits(reply, cookieOf(value)),
    pending: (reply) => pending(reply, name)
  }
}
