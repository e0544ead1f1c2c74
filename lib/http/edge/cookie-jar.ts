import type { FastifyReply, FastifyRequest } from 'fastify'
import { OAuthError } from '../../errors.ts'
import { type CookieName, COOKIES, kindsBegun } from '../../protocol/cookies.ts'
import { digest } from '../../protocol/digest.ts'

/** The registration of the plugin that owns the cookies. */
export interface CookieOwner {
  issuer: string
  /** The path below which the routes are: the prefix of the registration, then the option `prefix`. */
  prefix: string
  /** True if an identity provider may answer by POST. Reserves room for the `answer` cookies. */
  takesAnswers?: boolean
}

/** A cookie that a reply sets, by its name. */
export interface WrittenCookie {
  name: string
  value: string
  seconds: number
}

/** The cookies of one registration: their names, and how a reply sets them. */
export interface CookieJar {
  nameOf(kind: CookieName): string
  /** The ids of the request's cookies of this kind: the suffixes of their names. `''`: the cookie without an id. */
  idsOf(request: FastifyRequest, kind: CookieName): string[]
  /**
   * Sets the cookies, and clears others in the browser to make room. Replaces a cookie of the same name in the reply.
   * `yields`: makes room only by clearing `flow` cookies (sign-ins at a provider), and keeps the newest flow that our
   * own pages began. Set it if another site may have caused the request, or if the cookie is worth less than the
   * others.
   *
   * @throws OAuthError `invalid_request` if a cookie of an unfinished task (`UNDER_WAY`) does not fit. Then nothing is
   * set. Other cookies are set even if they do not fit.
   */
  write(reply: FastifyReply, cookies: readonly WrittenCookie[], options?: { yields?: boolean }): void
  /** True if the cookies fit after `write` has made room. Changes nothing. */
  fits(reply: FastifyReply, cookies: readonly WrittenCookie[], options?: { yields?: boolean }): boolean
  clear(reply: FastifyReply, name: string): void
  pending(reply: FastifyReply, name: string): string | undefined
  /**
   * Clears the request's cookies of these kinds in the browser. Keeps cookies that the reply sets, and `query` cookies
   * that a remaining cookie needs. Keeps cookies whose value begins with `spared`, the prefix of one user's cookies.
   */
  forget(reply: FastifyReply, kinds: readonly CookieName[], spared?: string): void
}

/**
 * Cookies of unfinished tasks of the person at the browser. These cookies are cleared at each sign-out, and when
 * another user signs in, so that no user continues another user's task.
 */
export const UNDER_WAY = [...kindsBegun('by_anyone'), ...kindsBegun('of_user')]

/** The kinds of unfinished tasks that belong to one user. */
export const OF_A_USER = kindsBegun('of_user')

const KINDS = Object.keys(COOKIES) as CookieName[]

/**
 * Maximum bytes of all cookies of one registration in one browser, names included. Many servers refuse a header above 8
 * kB, and the header also contains the host's own cookies.
 */
const MAX_COOKIE_BYTES = 4096
/**
 * Maximum bytes of `answer` cookies, for answers that a provider posts. Any page can cause such a post, and the browser
 * sends no cookies with it. So these cookies have a limit of their own and never displace others.
 */
const MAX_ANSWER_BYTES = 2048
const MAX_FLOWS = 2
/** Maximum number of journeys for which one browser waits for a message. */
const MAX_WAITING = 3

/**
 * The beginning of a flow's value: `o` (begun by our own page) or `x` (begun elsewhere), the start time in base 36, and
 * a dot.
 */
const FLOW_MARK = /^[ox][0-9a-z]{8}\./
/**
 * Makes the beginning of a flow's value, without the dot. `isOurs`: a page of ours began the flow, not a link on
 * another site.
 */
export const flowMark = (isOurs: boolean, startedAt: number): string => (isOurs ? 'o' : 'x') + startedAt.toString(36)

type Sent = ReturnType<typeof sentCookies>[number]

/** The bytes of a cookie in the header, with `=`, `;` and a space. */
const bytesOf = ({ name, value }: Sent): number => name.length + value.length + 3
const sumOf = (cookies: readonly Sent[]): number => cookies.reduce((sum, cookie) => sum + bytesOf(cookie), 0)

/**
 * Each registration of the plugin has names of its own, because browsers give a host's cookies to all of its ports and
 * paths. An http loopback issuer has names without the `__Host-` prefix, which browsers refuse there.
 */
export function cookieJar({ issuer, prefix, takesAnswers = false }: CookieOwner): CookieJar {
  const secure = new URL(issuer).protocol === 'https:'
  const owner = digest(`cookies ${issuer} ${prefix}`).slice(0, 8)
  const [start, end] = [`${secure ? '__Host-' : ''}authority_`, `_${owner}`]
  const nameOf = (kind: CookieName): string => `${start}${kind}${end}`
  const isOf = ({ name }: { name: string }, kind: CookieName): boolean =>
    name === nameOf(kind) || name.startsWith(`${nameOf(kind)}_`)
  const hasOurName = ({ name }: Sent): boolean => name.startsWith(start) && `${name}_`.includes(`${end}_`, start.length)
  const setBy = (reply: FastifyReply): string[] => [reply.getHeader('set-cookie') ?? []].flat().map(String)

  function put(reply: FastifyReply, { name, value, seconds }: WrittenCookie): void {
    const others = setBy(reply).filter((other) => !other.startsWith(`${name}=`))
    reply.removeHeader('set-cookie')
    reply.header('set-cookie', [
      ...others,
      `${name}=${value}; Max-Age=${seconds}; Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
    ])
  }
  const clear = (reply: FastifyReply, name: string): void => {
    put(reply, { name, value: '', seconds: 0 })
  }

  function pending(reply: FastifyReply, name: string): string | undefined {
    const set = setBy(reply).find((cookie) => cookie.startsWith(`${name}=`))
    return set?.slice(name.length + 1, set.indexOf(';'))
  }

  /** Our cookies that the reply sets so far. Omits cleared ones. */
  const comingIn = (reply: FastifyReply): Sent[] =>
    setBy(reply).flatMap((text) => {
      const [name = '', value = ''] = text.split(/[=;]/, 2)
      return hasOurName({ name, value }) && value !== '' ? [{ name, value }] : []
    })

  /** True if one of the cookies `by` belongs to the journey whose query this cookie holds. */
  const isNamed = (query: Sent, by: readonly Sent[]): boolean =>
    isOf(query, 'query') && by.some(({ value }) => value.includes(`.${query.name.slice(nameOf('query').length + 1)}.`))

  /**
   * True if this service may have set the cookie: its kind exists, a flow has its mark, the value is not too long, and
   * no other cookie has the name.
   */
  const mayBeOurs = (cookie: Sent, all: readonly Sent[]): boolean => {
    const kind = KINDS.find((one) => isOf(cookie, one))
    return (
      kind !== undefined &&
      (kind !== 'flow' || FLOW_MARK.test(cookie.value)) &&
      cookie.value.length <= (COOKIES[kind].maxBytes ?? MAX_COOKIE_BYTES) &&
      all.filter(({ name }) => name === cookie.name).length === 1
    )
  }

  /**
   * The cookies of this kind whose value begins with `mark`, sorted by value. So the oldest is first if a time follows
   * the mark.
   */
  const oldestFirst = (kind: CookieName, cookies: readonly Sent[], mark = ''): Sent[] =>
    cookies
      .filter((cookie) => isOf(cookie, kind) && cookie.value.startsWith(mark))
      .toSorted((a, b) => (a.value < b.value ? -1 : 1))

  /**
   * Chooses the cookies to clear (`gone`) so that `cookies` fit, and returns whether they then fit (`fits`). Never
   * clears a cookie that the reply sets.
   */
  function roomFor(
    reply: FastifyReply,
    cookies: readonly WrittenCookie[],
    { yields = false }: { yields?: boolean } = {}
  ): { gone: string[]; fits: boolean } {
    if (cookies.every((cookie) => isOf(cookie, 'answer'))) return { gone: [], fits: sumOf(cookies) <= MAX_ANSWER_BYTES }
    const written = new Set(cookies.map(({ name }) => name))
    const coming = [...comingIn(reply).filter(({ name }) => !written.has(name)), ...cookies]
    const found = sentCookies(reply.request).filter(hasOurName)
    const sent = found.filter(
      (cookie) => !written.has(cookie.name) && pending(reply, cookie.name) === undefined && !isOf(cookie, 'answer')
    )
    // Clears cookies that this service cannot have set, without counting them. Otherwise another subdomain could use up
    // the room and lock users out.
    const planted = sent.filter((cookie) => !mayBeOurs(cookie, found))
    let staying = sent.filter((cookie) => !planted.includes(cookie))
    const ours = oldestFirst('flow', staying, 'o')
    // Lists the cookies in the order of removal. The newest flow of another site comes first.
    const flows = [...oldestFirst('flow', staying, 'x').toReversed(), ...ours]
    const leaving = yields
      ? flows.filter((flow) => flow !== ours.at(-1))
      : [...flows, ...[...OF_A_USER, 'enrolment' as const].flatMap((kind) => oldestFirst(kind, staying))]
    const leave = (left: readonly Sent[]): void => {
      staying = staying.filter((cookie) => !left.includes(cookie))
    }
    const room = MAX_COOKIE_BYTES - (takesAnswers ? MAX_ANSWER_BYTES : 0)
    const isShort = (): boolean => sumOf(staying) + sumOf(coming) > room
    // A new waiting cookie displaces the oldest ones above `MAX_WAITING`. A new flow displaces flows above `MAX_FLOWS`,
    // in the order of `leaving`.
    if (cookies.some((cookie) => isOf(cookie, 'waiting'))) {
      const waiting = oldestFirst('waiting', staying)
      leave(waiting.slice(0, Math.max(0, waiting.length + 1 - MAX_WAITING)))
    }
    if (cookies.some((cookie) => isOf(cookie, 'flow'))) leave(leaving.splice(0, flows.length + 1 - MAX_FLOWS))
    for (;;) {
      const unnamed = staying.filter((cookie) => isOf(cookie, 'query') && !isNamed(cookie, [...staying, ...coming]))
      if (isShort()) leave(unnamed)
      if (!isShort() || leaving.length === 0) break
      leave(leaving.splice(0, 1))
    }
    return {
      gone: sent.filter((cookie) => !staying.includes(cookie)).map(({ name }) => name),
      fits: !isShort()
    }
  }

  return {
    nameOf,
    idsOf: (request, kind) =>
      sentCookies(request).flatMap((cookie) =>
        isOf(cookie, kind) ? [cookie.name.slice(nameOf(kind).length + 1)] : []
      ),
    clear,
    pending,
    fits: (reply, cookies, options) => roomFor(reply, cookies, options).fits,
    write(reply, cookies, options) {
      const { gone, fits } = roomFor(reply, cookies, options)
      if (!fits && UNDER_WAY.some((kind) => cookies.some((cookie) => isOf(cookie, kind))))
        throw new OAuthError('invalid_request', 'The sign-in needs more room than cookies have.', {
          reason: 'sign_in_too_long'
        })
      for (const other of gone) clear(reply, other)
      for (const cookie of cookies) put(reply, cookie)
    },
    forget(reply, kinds, spared) {
      const sent = sentCookies(reply.request).filter((cookie) => pending(reply, cookie.name) === undefined)
      const goes = (cookie: Sent): boolean =>
        kinds.some((kind) => isOf(cookie, kind)) && (spared === undefined || !cookie.value.startsWith(spared))
      const staying = [...sent.filter((cookie) => !goes(cookie)), ...comingIn(reply)]
      for (const cookie of sent) if (goes(cookie) && !isNamed(cookie, staying)) clear(reply, cookie.name)
    }
  }
}

/** All cookies of the request. Reads the header itself, because a host may have no cookie parser. */
function sentCookies({
  headers: { cookie = '' }
}: Pick<FastifyRequest, 'headers'>): Array<{ name: string; value: string }> {
  return cookie.split(';').flatMap((pair) => {
    const text = pair.trim()
    const at = text.indexOf('=')
    return at < 0 ? [] : [{ name: text.slice(0, at), value: text.slice(at + 1) }]
  })
}

/** Every value that the request's cookies have under this name. */
export function cookieValues(request: Pick<FastifyRequest, 'headers'>, name: string): string[] {
  return sentCookies(request).flatMap((cookie) => (cookie.name === name ? [cookie.value] : []))
}
