import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Sealer } from '../../ports/cryptography.ts'
import { type CookieName, COOKIES } from '../../protocol/cookies.ts'
import { digest } from '../../protocol/digest.ts'
import { cookieJar, type CookieOwner, cookieValues, type WrittenCookie } from './cookie-jar.ts'

/** The kinds of cookies whose content is encrypted, so that only this service can read it. The server keeps no copy. */
export const SEALED = ['flow', 'query', 'codes', 'waiting', 'link', 'answer'] as const
export type SealedName = (typeof SEALED)[number]
type SealedKind = Exclude<SealedName, 'query'>

interface Written {
  /** Tells cookies of one kind apart. `''`: there is only one. */
  id?: string
  /** The readable beginning of the value: a time by which the cookie jar sorts, or the prefix of one user's cookies. */
  mark?: string
  /** The query of the journey, `''` or `?…`. */
  query: string
  /** Leaves the query out where there is no room for it: the page's address has it too. */
  mayLoseQuery?: boolean
  content: object
  seconds?: number
  /** @see CookieJar.write */
  yields?: boolean
}

export interface SealedCookies {
  /**
   * `null` if there is no cookie, more than one, or one that this service did not seal as this kind. `query` is `null`
   * if the browser no longer has the query of the journey.
   */
  read(
    request: FastifyRequest,
    kind: SealedKind,
    id?: string
  ): { content: unknown; query: string | null; journey: string } | null
  /** The ids of the cookies of this kind that the request has. */
  ids(request: FastifyRequest, kind: SealedKind): string[]
  /** @throws OAuthError `invalid_request` if the cookie does not fit */
  set(reply: FastifyReply, kind: SealedKind, written: Written): void
  fits(reply: FastifyReply, kind: SealedKind, written: Written): boolean
  clear(reply: FastifyReply, kind: SealedKind, id?: string): void
}

/** The name of a journey: a digest of its query, so that two journeys never share a name. `''` for an empty query. */
export const journeyOf = (query: string): string => (query === '' ? '' : digest(query).slice(0, 22))

/**
 * Keeps the query of a journey in a cookie of its own, named by its digest. The other cookies refer to the query by
 * that name. So a long authorization request takes its room once, even for several sign-ins at the same time.
 */
export function sealedCookies(owner: CookieOwner, sealers: Readonly<Record<SealedName, Sealer>>): SealedCookies {
  const jar = cookieJar(owner)
  const nameOf = (kind: CookieName, id = ''): string => (id === '' ? jar.nameOf(kind) : `${jar.nameOf(kind)}_${id}`)
  const opened = (request: FastifyRequest, kind: SealedName, id?: string): unknown => {
    const values = cookieValues(request, nameOf(kind, id))
    // Trusts neither of two cookies with one name, because one of them was planted.
    const [value = ''] = values.length === 1 ? values : []
    const plain = sealers[kind].open(value.split('.').slice(2).join('.'))
    return plain === null ? null : JSON.parse(plain)
  }
  const cookieOf = (
    kind: SealedName,
    { id, mark = '', content, seconds }: Omit<Written, 'query'>,
    journey: string
  ) => ({
    name: nameOf(kind, id),
    value: `${mark}.${journey}.${sealers[kind].seal(JSON.stringify(content))}`,
    seconds: seconds ?? COOKIES[kind].seconds ?? 0
  })
  function cookiesOf(kind: SealedKind, { query, ...written }: Written): WrittenCookie[] {
    const journey = journeyOf(query)
    const own = cookieOf(kind, { ...written, content: { ...written.content, journey } }, journey)
    return journey === '' ? [own] : [own, cookieOf('query', { id: journey, content: [query] }, '')]
  }

  return {
    read(request, kind, id) {
      const found = opened(request, kind, id) as { journey: string } | null
      if (found === null) return null
      const { journey, ...content } = found
      const kept = journey === '' ? [''] : (opened(request, 'query', journey) as [string] | null)
      const query = kept?.[0] ?? null
      return { content, journey, query: query !== null && journeyOf(query) === journey ? query : null }
    },
    ids: (request, kind) => jar.idsOf(request, kind),
    set(reply, kind, written) {
      const whole = cookiesOf(kind, written)
      const isLong = written.mayLoseQuery === true && !jar.fits(reply, whole, written)
      jar.write(reply, isLong ? whole.slice(0, 1) : whole, written)
    },
    fits: (reply, kind, written) => jar.fits(reply, cookiesOf(kind, written), written),
    clear(reply, kind, id) {
      jar.clear(reply, nameOf(kind, id))
    }
  }
}

/** A cookie that is not encrypted. Its value is not verified here. */
export interface PlainCookie {
  name: string
  /**
   * `undefined` if there is no cookie or more than one. Of two cookies with this name one was injected, for example
   * from a subdomain, so neither is trusted.
   */
  read(request: Pick<FastifyRequest, 'headers'>): string | undefined
  /**
   * Adds the cookie to the reply. Throws if the cookie belongs to an unfinished task and does not fit.
   * @see CookieJar.write
   */
  set(reply: FastifyReply, value: string): void
  /** True if the cookie fits with this value. */
  fits(reply: FastifyReply, value: string): boolean
  /** Removes the cookie from the browser. */
  clear(reply: FastifyReply): void
  /** The value that the reply sets so far. `undefined`: none. */
  pending(reply: FastifyReply): string | undefined
}

/** The cookies of one registration of the plugin that are not encrypted. */
export interface PlainCookies {
  /** The session of the signed-in user. */
  session: PlainCookie
  /** The sealed proof of the first factor, until the second factor is given. */
  step: PlainCookie
  /** The cookie of a browser in which the user need not give the second factor; `null`: browsers are not remembered. */
  trusted: PlainCookie | null
  /** The cookie of a browser in which a user was asked to create a passkey. */
  prompted: PlainCookie
  /** The token of the accounts to which this browser is known, by a password, a second factor or a session. */
  device: PlainCookie
  /**
   * The invitation to set up a second factor, kept from the button on the page of its link until the sign-in. `null`:
   * second factors are off.
   */
  enrolment: PlainCookie | null
}

interface PlainCookieOptions extends CookieOwner {
  of?: keyof PlainCookies
  /** The lifetime of a kind that has none of its own. */
  seconds?: number
}

/**
 * Makes a cookie that is not encrypted. The cookie is `Lax`, because the session must come with a client's link to the
 * authorization endpoint.
 * @see RFC 6265bis §4.1.3.2
 */
export function plainCookie({ of = 'session', seconds = 0, ...owner }: PlainCookieOptions): PlainCookie {
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
