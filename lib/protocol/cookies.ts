/** One kind of cookie of this service. */
interface CookieKind {
  /**
   * The key of the value. `own`: derived from `secret`, the kind, the issuer and the prefix. It encrypts the value or
   * authenticates it with a MAC. `factors`: the key of the second factors, under a context of its own. `null`: the
   * value is a secret that the store knows by its digest, or a mark that proves nothing.
   */
  key: 'own' | 'factors' | null
  /** The lifetime. `null`: an option sets it. */
  seconds: number | null
  /** True if the service remembers the use of the content, so that a copy of the cookie has no effect. */
  once: boolean
  /**
   * The owner of the unfinished task that the cookie belongs to. `null`: it belongs to no task. Cookies of tasks are
   * cleared at each sign-out, and when another user signs in. `of_user`: a sign-in in a browser in which nobody was
   * signed in also clears the cookie. A cookie of the user who signs in stays.
   */
  begun: 'by_anyone' | 'of_user' | null
  /**
   * The length in bytes of the longest valid value. A longer value does not come from this service. `null`: limited
   * only by the room that other cookies leave.
   */
  maxBytes: number | null
}

/**
 * Every cookie of this service. If room is short, `flow` cookies are cleared first, then the kinds with `of_user` in
 * this order, then `enrolment`.
 *
 * `flow` is a sign-in at a provider. It is `by_anyone`, because it may have begun in another tab. `query` is an
 * authorization request, which other cookies name by a digest. `enrolment`, an invitation to set up a second factor,
 * survives a sign-out, because it is valid only for its user and its link can't be used again. `waiting` may contain
 * the proof of an emailed code. It needs no `once`, because the store marks that proof as used.
 */
export const COOKIES = {
  session: { key: null, seconds: null, once: false, begun: null, maxBytes: 128 },
  device: { key: 'own', seconds: 180 * 86_400, once: false, begun: null, maxBytes: 304 },
  trusted: { key: 'own', seconds: null, once: false, begun: null, maxBytes: 192 },
  prompted: { key: null, seconds: 30 * 86_400, once: false, begun: null, maxBytes: 16 },
  enrolment: { key: 'factors', seconds: 3600, once: false, begun: null, maxBytes: 640 },
  flow: { key: 'own', seconds: 600, once: true, begun: 'by_anyone', maxBytes: null },
  query: { key: 'own', seconds: 86_400, once: false, begun: 'by_anyone', maxBytes: null },
  codes: { key: 'own', seconds: 600, once: false, begun: 'of_user', maxBytes: null },
  waiting: { key: 'own', seconds: null, once: false, begun: 'of_user', maxBytes: null },
  step: { key: 'factors', seconds: 600, once: false, begun: 'of_user', maxBytes: null },
  link: { key: 'own', seconds: 600, once: true, begun: 'of_user', maxBytes: null },
  answer: { key: 'own', seconds: 60, once: false, begun: 'by_anyone', maxBytes: null }
} as const satisfies Record<string, CookieKind>

export type CookieName = keyof typeof COOKIES

/** The kinds of cookies whose `begun` has this value. */
export const kindsBegun = (by: NonNullable<CookieKind['begun']>): CookieName[] =>
  (Object.keys(COOKIES) as CookieName[]).filter((kind) => COOKIES[kind].begun === by)
