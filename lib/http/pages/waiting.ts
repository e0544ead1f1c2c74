import type { FastifyReply, FastifyRequest } from 'fastify'
import { normalizeUsername } from '../../accounts/username.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Random } from '../../ports/cryptography.ts'
import { journeyOf, type SealedCookies } from '../edge/sealed-cookies.ts'

const MINUTE_MS = 60_000

/** The default lifetime of each kind of waiting cookie. For a message, it is the lifetime of the link or the code. */
const LIFETIMES_MS = {
  /** A name was typed and carried to another page. */
  typed: 30 * MINUTE_MS,
  /** The person signed up, and the address has to be confirmed. */
  signup: 24 * 60 * MINUTE_MS,
  /** The person signed in with the right password, and the address has to be confirmed first. */
  unconfirmed: 24 * 60 * MINUTE_MS,
  /** A link for a new password was asked for. */
  forgot: 30 * MINUTE_MS,
  /** A new address was asked for, and its message has a code. */
  change: 10 * MINUTE_MS,
  /** A sign-in code was asked for. */
  code: 10 * MINUTE_MS,
  /** The code was right, and the person has to sign up next. */
  proved: 10 * MINUTE_MS,
  /** A link or a code was used, and the page shows the result. */
  confirmed: 10 * MINUTE_MS,
  changed: 10 * MINUTE_MS,
  disowned: 10 * MINUTE_MS,
  stopped: 10 * MINUTE_MS,
  reset: 10 * MINUTE_MS,
  accepted: 10 * MINUTE_MS
} as const

export type WaitingKind = keyof typeof LIFETIMES_MS

/** The content of the cookie of a browser that waits for a message, or carries a typed name. */
export interface Waits {
  kind: WaitingKind
  /** The typed name. */
  name: string
  /** A secret of this browser. The tokens of the messages that the browser asks for are bound to this secret. */
  id: string
  /** The times at which the cookie was set and expires, in milliseconds since the epoch. */
  at: number
  until: number
  /**
   * A digest of the password hash that this browser has chosen or proved, and the time. Set for free and taken
   * usernames alike, so that the size of the cookie reveals nothing.
   */
  proof?: { of: string; at: number } | undefined
  /** Set for the kind `code`. `device`: the id of the known browser. `only`: the one user whom the code may sign in. */
  device?: string | null
  only?: string | undefined
}

type NewWaits = Pick<Waits, 'kind' | 'name'> & Partial<Omit<Waits, 'at'>>

/**
 * The kinds for the result of a link or a code. A result ends the waiting request, so its id and its proof are dropped.
 */
const RESULTS: ReadonlySet<WaitingKind> = new Set(['confirmed', 'changed', 'disowned', 'stopped', 'reset', 'accepted'])

/**
 * A waiting request with the query of its journey. `query` is `null` if the browser does not have the query, for
 * example because it was too long to be stored.
 */
export type FoundWaits = Waits & { query: string | null }

interface OnJourney {
  query: string
}

/**
 * Takes the language out of a query, because the cookie's name must stay the same if the person chooses another
 * language on the way.
 */
function withoutLanguage(query: string): { query: string; locales: string | undefined } {
  const params = new URLSearchParams(query)
  const locales = params.get('ui_locales') ?? undefined
  if (locales === undefined) return { query, locales }
  params.delete('ui_locales')
  return { query: params.size === 0 ? '' : `?${params.toString()}`, locales }
}

const withLanguage = (query: string, locales: string | undefined): string =>
  locales === undefined
    ? query
    : `${query === '' ? '?' : `${query}&`}${new URLSearchParams({ ui_locales: locales }).toString()}`

/**
 * Keeps a sealed cookie for each journey, at most three. The cookie tells which message the browser waits for, or
 * carries a typed name. The cookie alone proves nothing, and only prefills a username. Together with a link or a code
 * that is bound to its `id`, the cookie may sign the browser in.
 */
export interface Waiting {
  /** The cookie of this journey; `null`: the browser waits for nothing. */
  of(request: FastifyRequest, journey: OnJourney): Waits | null
  /** The newest cookie of any journey for which `fits` returns true; `null`: none. */
  find(request: FastifyRequest, fits: (waits: Waits) => boolean): FoundWaits | null
  /** The name that was typed on this journey in the last half hour; `''`: none. */
  nameOn(request: FastifyRequest, journey: OnJourney): string
  /** The id for a message that this browser asks for. The id stays the same as long as the name is the same. */
  idFor(request: FastifyRequest, journey: OnJourney, name: string): string
  /**
   * Replaces the cookie of the journey. Keeps the id and the proof of a waiting request with the same name, and never
   * shortens its lifetime. Keeps nothing for a result, or if `waits` has another id.
   */
  set(reply: FastifyReply, journey: OnJourney, waits: NewWaits): void
  /** Carries a name that was typed on one page to another. Keeps a waiting request with the same name. */
  carry(reply: FastifyReply, journey: OnJourney, name: string): void
  clear(reply: FastifyReply, journey: OnJourney): void
}

export function createWaiting(
  sealed: SealedCookies,
  { clock, random }: { clock: Clock; random: Pick<Random, 'secret'> }
): Waiting {
  const read = (request: FastifyRequest, id: string): FoundWaits | null => {
    const found = sealed.read(request, 'waiting', id)
    if (found === null || found.journey !== id) return null
    const { locales, ...waits } = found.content as Waits & { locales?: string }
    return clock.now() < waits.until
      ? { ...waits, query: found.query === null ? null : withLanguage(found.query, locales) }
      : null
  }
  const idOf = (query: string): string => journeyOf(withoutLanguage(query).query)
  const of: Waiting['of'] = (request, { query }) => read(request, idOf(query))
  const sameAs = (waits: Waits | null, name: string): Waits | null => {
    const normal = (typed: string): string => normalizeUsername(typed) ?? typed
    return waits !== null && normal(waits.name) === normal(name) ? waits : null
  }
  function set(
    reply: FastifyReply,
    { query }: OnJourney,
    { kind, name, id, until = clock.now() + LIFETIMES_MS[kind], proof, ...more }: NewWaits
  ): void {
    const at = clock.now()
    const kept = RESULTS.has(kind) ? null : sameAs(of(reply.request, { query }), name)
    const same = id === undefined || id === kept?.id ? kept : null
    const { query: rest, locales } = withoutLanguage(query)
    const content: Waits = {
      ...more,
      kind,
      name,
      at,
      id: id ?? same?.id ?? random.secret(),
      until: Math.max(until, same?.until ?? 0),
      proof: proof ?? same?.proof
    }
    sealed.set(reply, 'waiting', {
      id: journeyOf(rest),
      mark: at.toString(36),
      query: rest,
      mayLoseQuery: true,
      content: { ...content, locales },
      seconds: Math.ceil((content.until - at) / 1000)
    })
  }
  return {
    of,
    find: (request, fits) =>
      sealed
        .ids(request, 'waiting')
        .flatMap((id) => read(request, id) ?? [])
        .filter(fits)
        .toSorted((a, b) => b.at - a.at)[0] ?? null,
    nameOn(request, journey) {
      const waits = of(request, journey)
      return waits !== null && clock.now() < waits.at + LIFETIMES_MS.typed ? waits.name : ''
    },
    idFor: (request, journey, name) => sameAs(of(request, journey), name)?.id ?? random.secret(),
    set,
    carry(reply, journey, name) {
      set(reply, journey, { kind: 'typed', ...sameAs(of(reply.request, journey), name), name })
    },
    clear(reply, { query }) {
      sealed.clear(reply, 'waiting', idOf(query))
    }
  }
}
