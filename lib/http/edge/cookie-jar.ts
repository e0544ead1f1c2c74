import type { FastifyReply } from 'fastify'
import { digest } from '../../protocol/digest.ts'
import { sentCookies } from './cookie-header.ts'

/** The registration of the plugin whose cookies they are. */
export interface CookieOwner {
  issuer: string
  /** The option `prefix`. */
  prefix: string
}

/** The cookies of one registration: their names, and how a reply sets them. */
export interface CookieJar {
  nameOf(kind: string): string
  /** Sets the cookie, or takes it out of the browser with 0 seconds. Of one name a reply has one. */
  write(reply: FastifyReply, name: string, value: string, seconds: number): void
  pending(reply: FastifyReply, name: string): string | undefined
  /**
   * Takes the cookies of these kinds that the request brought out of the browser, except those that the reply sets and
   * those whose values begin with `spared`, the partition of their user.
   */
  forget(reply: FastifyReply, kinds: readonly string[], spared?: string): void
}

/**
 * Cookies of what the person at the browser has begun and not finished. They go with each sign-out, and when another
 * user signs in, so that nobody goes on with what somebody else began. An invitation to set up a second factor stays,
 * because it is good for its user alone and its link can't be used again.
 */
export const UNDER_WAY = ['flow', 'answer', 'link', 'step', 'email'] as const

/**
 * Each registration of the plugin has names of its own, because browsers give a host's cookies to all of its ports and
 * paths. An http loopback issuer has names without the `__Host-` prefix, which browsers refuse there.
 */
export function cookieJar({ issuer, prefix }: CookieOwner): CookieJar {
  const secure = new URL(issuer).protocol === 'https:'
  const owner = digest(`cookies ${issuer} ${prefix}`).slice(0, 8)
  const nameOf = (kind: string): string => `${secure ? '__Host-' : ''}authority_${kind}_${owner}`
  const setBy = (reply: FastifyReply): string[] => [reply.getHeader('set-cookie') ?? []].flat().map(String)

  function write(reply: FastifyReply, name: string, value: string, seconds: number): void {
    const others = setBy(reply).filter((other) => !other.startsWith(`${name}=`))
    reply.removeHeader('set-cookie')
    reply.header('set-cookie', [
      ...others,
      `${name}=${value}; Max-Age=${seconds}; Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
    ])
  }

  function pending(reply: FastifyReply, name: string): string | undefined {
    const set = setBy(reply).find((cookie) => cookie.startsWith(`${name}=`))
    return set?.slice(name.length + 1, set.indexOf(';'))
  }

  return {
    nameOf,
    write,
    pending,
    forget(reply, kinds, spared) {
      const names = kinds.map(nameOf)
      for (const { name, value } of sentCookies(reply.request)) {
        const isMeant = names.some((own) => name === own || name.startsWith(`${own}_`))
        if (!isMeant || pending(reply, name) !== undefined) continue
        if (spared === undefined || !value.startsWith(spared)) write(reply, name, '', 0)
      }
    }
  }
}
