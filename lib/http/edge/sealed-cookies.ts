import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Sealer } from '../../ports/cryptography.ts'
import { COOKIES, type CookieName } from '../../protocol/cookies.ts'
import { digest } from '../../protocol/digest.ts'
import { cookieValues } from './cookie-header.ts'
import { cookieJar, type CookieOwner, type WrittenCookie } from './cookie-jar.ts'

/** The cookies whose content only this service can read. Nothing of it is kept on the server. */
export const SEALED = ['flow', 'query', 'codes', 'email', 'link', 'answer'] as const
export type SealedName = (typeof SEALED)[number]
type SealedKind = Exclude<SealedName, 'query'>

interface Written {
  /** Tells cookies of one kind apart; `''`: there is one. */
  id?: string
  /** The part that the jar sees without opening the cookie. */
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
   * `null` where there is none, more than one, or none that this service sealed as this kind. `query` is `null` where
   * the journey is not in the browser any more.
   */
  read(
    request: FastifyRequest,
    kind: SealedKind,
    id?: string
  ): { content: unknown; query: string | null; journey: string } | null
  /** @throws OAuthError `invalid_request` where it does not fit */
  set(reply: FastifyReply, kind: SealedKind, written: Written): void
  fits(reply: FastifyReply, kind: SealedKind, written: Written): boolean
  clear(reply: FastifyReply, kind: SealedKind, id?: string): void
}

/** Names a journey in a browser. Nobody can make two journeys of one name. */
export const journeyOf = (query: string): string => (query === '' ? '' : digest(query).slice(0, 22))

/**
 * The query of a journey is in one cookie, named by its digest. The others name it, so that a long authorization
 * request takes its room once, however many sign-ins of it are under way.
 */
export function sealedCookies(owner: CookieOwner, sealers: Readonly<Record<SealedName, Sealer>>): SealedCookies {
  const jar = cookieJar(owner)
  const nameOf = (kind: CookieName, id = ''): string => (id === '' ? jar.nameOf(kind) : `${jar.nameOf(kind)}_${id}`)
  const opened = (request: FastifyRequest, kind: SealedName, id?: string): unknown => {
    const values = cookieValues(request, nameOf(kind, id))
    // Two of one name: one of them was planted.
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
