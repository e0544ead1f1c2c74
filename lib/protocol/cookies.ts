/** One kind of cookie of this service. */
interface CookieKind {
  /**
   * The key of the value. `own`: derived from `secret`, the kind, the issuer and the prefix; it seals the value or
   * makes its MACs. `factors`: the key of the second factors, under a context of its own. `null`: a secret that the
   * store knows by its digest, or a mark that proves nothing.
   */
  key: 'own' | 'factors' | null
  /** The lifetime. `null`: an option says. */
  seconds: number | null
  /** True if the service remembers the use of the content, so that a copy of the cookie does nothing. */
  once: boolean
  /**
   * True if the cookie belongs to an unfinished task of a person. It is cleared at each sign-out, and when another user
   * signs in. `of_user`: a sign-in in a browser without a user clears it too, unless it belongs to that user.
   */
  begun: 'by_anyone' | 'of_user' | null
  /** Bytes of the longest value that is ours. A longer one was planted. `null`: whatever room the others leave. */
  maxBytes: number | null
}

/**
 * Every cookie of this service. If room is short, unfinished tasks are cleared in this order. A flow belongs to the
 * person who signs in there, and another tab may have begun it. A query is an authorization request that other cookies
 * name by a digest. An invitation to set up a second factor outlives a sign-out, because it is good for its user alone
 * and its link can't be used again. The proof of an emailed code is used up in the store.
 */
export const COOKIES = {
  session: { key: null, seconds: null, once: false, begun: null, maxBytes: 128 },
  device: { key: 'own', seconds: 180 * 86_400, once: false, begun: null, maxBytes: 304 },
  trusted: { key: 'own', seconds: null, once: false, begun: null, maxBytes: 192 },
  prompted: { key: null, seconds: 30 * 86_400, once: false, begun: null, maxBytes: 16 },
  enrolment: { key: 'factors', seconds: 3600, once: false, begun: null, maxBytes: 640 },
  flow: { key: 'own', seconds: 600, once: true, begun: 'by_anyone', maxBytes: null },
  query: { key: 'own', seconds: 600, once: false, begun: 'by_anyone', maxBytes: null },
  codes: { key: 'own', seconds: 600, once: false, begun: 'of_user', maxBytes: null },
  email: { key: 'own', seconds: null, once: false, begun: 'of_user', maxBytes: null },
  step: { key: 'factors', seconds: 600, once: false, begun: 'of_user', maxBytes: null },
  link: { key: 'own', seconds: 600, once: true, begun: 'of_user', maxBytes: null },
  answer: { key: 'own', seconds: 60, once: false, begun: 'by_anyone', maxBytes: null }
} as const satisfies Record<string, CookieKind>

export type CookieName = keyof typeof COOKIES

/** The kinds that are begun so. */
export const kindsBegun = (by: NonNullable<CookieKind['begun']>): CookieName[] =>
  (Object.keys(COOKIES) as CookieName[]).filter((kind) => COOKIES[kind].begun === by)
