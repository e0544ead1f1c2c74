import type { FastifyReply, FastifyRequest } from 'fastify'
import { digest } from '../../protocol/digest.ts'
import { cookieValues } from './cookie-header.ts'

/** A cookie of this service. Its value is not verified here. */
export interface SessionCookie {
  name: string
  /**
   * `undefined` where there is none or more than one: two cookies of this name mean that one was injected, for example
   * from a subdomain, so neither is trusted.
   */
  read(request: Pick<FastifyRequest, 'headers'>): string | undefined
  /** Adds it to the cookies of the reply. */
  set(reply: FastifyReply, value: string): void
  /** Takes it out of the browser. */
  clear(reply: FastifyReply): void
}

/** Those of one registration of the plugin. */
export interface Cookies {
  /** Who is signed in. */
  session: SessionCookie
  /** What a browser carries from the first factor to the second. */
  step: SessionCookie
  /** What a browser is remembered by, where it need not give the second factor; `null`: none is. */
  trusted: SessionCookie | null
  /** That this browser was asked to make a passkey. */
  prompted: SessionCookie
  /** What a browser carries from asking for a sign-in code to entering it. */
  email: SessionCookie
  /**
   * That somebody is to set up a second factor, from the link of that message to the sign-in; `null`: there are no
   * second factors.
   */
  enrolment: SessionCookie | null
}

/** The registration of the plugin whose cookies they are. */
export interface CookieOwner {
  issuer: string
  /** The option `prefix`. */
  prefix: string
}

interface SessionCookieOptions extends CookieOwner {
  of?: keyof Cookies
  /**
   * Absolute lifetime. A cookie is only set when a session begins, or begins anew, and where a browser is to be
   * remembered.
   */
  maxAgeSeconds: number
}

/**
 * Each registration of the plugin has names of its own, so that two in one app have separate sessions. An http loopback
 * issuer has names without the `__Host-` prefix, which browsers refuse there.
 */
export function cookieNaming({ issuer, prefix }: CookieOwner): { secure: boolean; nameOf(what: string): string } {
  const { protocol, pathname } = new URL(issuer)
  const secure = protocol === 'https:'
  const alone = prefix === '/auth' && pathname === '/'
  const owner = alone ? '' : `_${digest(`session cookie ${issuer} ${prefix}`).slice(0, 8)}`
  return {
    secure,
    nameOf: (what) => `${secure ? '__Host-' : ''}authority_${what}${owner}`
  }
}

/**
 * The cookie is `Lax`, for it must come with a client's link to the
 * authorization endpoint.
 * @see RFC 6265bis §4.1.3.2
 */
export function sessionCookie({ issuer, prefix, maxAgeSeconds, of = 'session' }: SessionCookieOptions): SessionCookie {
  const { secure, nameOf } = cookieNaming({ issuer, prefix })
  const name = nameOf(of)
  const write = (reply: FastifyReply, value: string, seconds: number): void => {
    // A reply sets a cookie once: the last value counts. reply.header adds to the others.
    const others = [reply.getHeader('set-cookie') ?? []].flat().filter((other) => !String(other).startsWith(`${name}=`))
    reply.removeHeader('set-cookie')
    reply.header('set-cookie', [
      ...others.map(String),
      `${name}=${value}; Max-Age=${seconds}; Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
    ])
  }
  return {
    name,
    read(request) {
      const values = cookieValues(request, name)
      return values.length === 1 ? values[0] : undefined
    },
    set(reply, value) {
      write(reply, value, maxAgeSeconds)
    },
    clear(reply) {
      write(reply, '', 0)
    }
  }
}
