import type { FastifyReply } from 'fastify'
import { OAuthError } from '../../errors.ts'
import { digest } from '../../protocol/digest.ts'
import { sentCookies } from './cookie-header.ts'

/** The registration of the plugin whose cookies they are. */
export interface CookieOwner {
  issuer: string
  /** The option `prefix`. */
  prefix: string
  /** Whether a provider may answer by POST, for which room is kept free. */
  takesAnswers?: boolean
}

/** The cookies of one registration: their names, and how a reply sets them. */
export interface CookieJar {
  nameOf(kind: string): string
  /**
   * Sets the cookie, and takes others out of the browser that have to make room for it. Of one name a reply has one.
   *
   * @throws OAuthError `invalid_request` where it is of something under way and does not fit
   */
  write(reply: FastifyReply, name: string, value: string, seconds: number): void
  /** Whether the cookie could be set. */
  fits(reply: FastifyReply, name: string, value: string): boolean
  clear(reply: FastifyReply, name: string): void
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

/** Those of them that are of one user. A flow is of whoever signs in there, and another tab may have begun it. */
export const OF_A_USER = ['link', 'step', 'email'] as const

/**
 * All cookies of one registration in one browser, with their names. Servers refuse requests whose header is longer than
 * 8 kB, and the host's own cookies are in it too.
 */
const MAX_COOKIE_BYTES = 4096
/**
 * A provider's answer by POST comes without cookies, from any page. So it has a fixed part of the room, where it can't
 * take out anything else.
 */
const MAX_ANSWER_BYTES = 2048
const MAX_FLOWS = 2
/** Longer than any of ours that is of nothing under way: somebody else has planted it, and it goes. */
const MAX_SETTLED_BYTES = 1024
/** What goes first where the room is short. */
const MAKES_ROOM = ['flow', 'email', 'step', 'link'] as const
/** The time with which the value of a flow begins, in base 36. */
const MARKED = /^[0-9a-z]{8}\./

/** With `=`, `;` and a space. */
const bytesOf = (name: string, value: string): number => name.length + value.length + 3

/**
 * Each registration of the plugin has names of its own, because browsers give a host's cookies to all of its ports and
 * paths. An http loopback issuer has names without the `__Host-` prefix, which browsers refuse there.
 */
export function cookieJar({ issuer, prefix, takesAnswers = false }: CookieOwner): CookieJar {
  const secure = new URL(issuer).protocol === 'https:'
  const owner = digest(`cookies ${issuer} ${prefix}`).slice(0, 8)
  const nameOf = (kind: string): string => `${secure ? '__Host-' : ''}authority_${kind}_${owner}`
  const isOf = (name: string, kind: string): boolean => name === nameOf(kind) || name.startsWith(`${nameOf(kind)}_`)
  const [start = '', end = ''] = nameOf('*').split('*')
  const isOurs = (name: string): boolean => name.startsWith(start) && `${name}_`.includes(`${end}_`, start.length)
  const setBy = (reply: FastifyReply): string[] => [reply.getHeader('set-cookie') ?? []].flat().map(String)

  function put(reply: FastifyReply, name: string, value: string, seconds: number): void {
    const others = setBy(reply).filter((other) => !other.startsWith(`${name}=`))
    reply.removeHeader('set-cookie')
    reply.header('set-cookie', [
      ...others,
      `${name}=${value}; Max-Age=${seconds}; Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
    ])
  }
  const clear = (reply: FastifyReply, name: string): void => {
    put(reply, name, '', 0)
  }

  function pending(reply: FastifyReply, name: string): string | undefined {
    const set = setBy(reply).find((cookie) => cookie.startsWith(`${name}=`))
    return set?.slice(name.length + 1, set.indexOf(';'))
  }

  /** The cookies that go for this one, and whether it fits then. Those that the reply sets stay. */
  function roomFor(reply: FastifyReply, name: string, value: string): { gone: string[]; fits: boolean } {
    if (isOf(name, 'answer')) return { gone: [], fits: bytesOf(name, value) <= MAX_ANSWER_BYTES }
    const sent = sentCookies(reply.request).filter(
      (cookie) =>
        isOurs(cookie.name) &&
        cookie.name !== name &&
        !isOf(cookie.name, 'answer') &&
        pending(reply, cookie.name) === undefined
    )
    const flows = sent
      .filter((cookie) => isOf(cookie.name, 'flow'))
      .toSorted((a, b) => (a.value < b.value ? -1 : 1))
      .toSorted((a, b) => Number(MARKED.test(a.value)) - Number(MARKED.test(b.value)))
    const odd = flows.filter((cookie) => !MARKED.test(cookie.value)).length
    const others = MAKES_ROOM.slice(1).flatMap((kind) => sent.filter((cookie) => isOf(cookie.name, kind)))
    const planted = sent.filter(
      (cookie) => ![...flows, ...others].includes(cookie) && bytesOf(cookie.name, cookie.value) > MAX_SETTLED_BYTES
    )
    const leaving = [...planted, ...flows, ...others]
    let first = planted.length + (isOf(name, 'flow') ? Math.max(odd, flows.length - MAX_FLOWS + 1) : 0)
    const set = setBy(reply).reduce(
      (sum, cookie) => {
        const [own = '', content = ''] = cookie.split(/[=;]/, 2)
        return isOurs(own) && own !== name && content !== '' ? sum + bytesOf(own, content) : sum
      },
      bytesOf(name, value)
    )
    const total = (): number =>
      sent.reduce(
        (sum, cookie) => (leaving.slice(0, first).includes(cookie) ? sum : sum + bytesOf(cookie.name, cookie.value)),
        set
      )
    const room = MAX_COOKIE_BYTES - (takesAnswers ? MAX_ANSWER_BYTES : 0)
    while (first < leaving.length && total() > room) first++
    return { gone: leaving.slice(0, first).map((cookie) => cookie.name), fits: total() <= room }
  }

  return {
    nameOf,
    clear,
    pending,
    fits: (reply, name, value) => roomFor(reply, name, value).fits,
    write(reply, name, value, seconds) {
      const { gone, fits } = roomFor(reply, name, value)
      if (!fits && UNDER_WAY.some((kind) => isOf(name, kind)))
        throw new OAuthError('invalid_request', 'The sign-in needs more room than cookies have.', {
          reason: 'sign_in_too_long'
        })
      for (const other of gone) clear(reply, other)
      put(reply, name, value, seconds)
    },
    forget(reply, kinds, spared) {
      for (const { name, value } of sentCookies(reply.request)) {
        const isMeant = kinds.some((kind) => isOf(name, kind))
        if (!isMeant || pending(reply, name) !== undefined) continue
        if (spared === undefined || !value.startsWith(spared)) clear(reply, name)
      }
    }
  }
}
