/** What another provider said of a person, with its signature, issuer, audience, nonce and times checked. */
export interface UpstreamAssertion {
  /** With the subject the key of a link. */
  issuer: string
  subject: string
  /** Only where the provider verified it; an address that is not verified counts as none. */
  email?: string
  /** Whether the provider is the one who decides on this mailbox, so that nobody else can have had the address verified there. */
  emailAuthoritative: boolean
  /** What it said besides, under the names of the standard claims. */
  profile: Readonly<Record<string, unknown>>
  /** When the person signed in there, in milliseconds since the epoch, where the provider says so. @see OpenID Connect Core 1.0 §2 `auth_time` */
  authenticatedAt?: number
}

/** What a sign-in elsewhere begins with and is checked against. Made anew for each, and kept sealed in the browser. */
export interface UpstreamFlow {
  state: string
  nonce: string
  codeVerifier: string
  /** Milliseconds since the epoch. */
  startedAt: number
  redirectUri: string
}

/** What the provider is asked for beside who the person is. */
export interface UpstreamWishes {
  loginHint?: string | undefined
  uiLocales?: string | undefined
  prompt?: 'login' | 'select_account' | undefined
  /** Seconds. */
  maxAge?: number | undefined
}

/** What the provider gave, seen by the host's hook once and kept nowhere. */
export interface UpstreamTokens {
  accessToken: string
  refreshToken?: string
  idToken?: string
  /** Seconds, as the provider said. */
  expiresIn?: number
  scope?: string
}

export interface UpstreamResult {
  assertion: UpstreamAssertion
  /** All claims of the ID token and the userinfo answer, as the provider has them. */
  claims: Readonly<Record<string, unknown>>
  tokens: UpstreamTokens
}

/** Another provider as the use cases see it. A call takes six seconds at most. */
export interface Upstream {
  /** @throws UpstreamError `outage` while nothing is known of the provider yet */
  authorizationUrl(flow: UpstreamFlow, wishes: UpstreamWishes): Promise<string>
  /**
   * Checks the answer that came to the callback, redeems its code and checks what that gives. `answer`: the parameters of the query or, by
   * `response_mode=form_post`, of the body.
   * @throws UpstreamError
   */
  authenticate(answer: URLSearchParams, flow: UpstreamFlow): Promise<UpstreamResult>
}
