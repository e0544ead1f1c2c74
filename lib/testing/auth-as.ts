import { TEST_PROOFS } from '../protocol/authentication.ts'

/** The part of the decorated app that `authAs` needs. */
export interface TokenIssuer {
  authority: {
    issueTokens(
      userId: string,
      options?: { scope?: string; clientId?: string; amr?: readonly string[] }
    ): Promise<{ access_token: string }>
  }
}

/** The part of the decorated app that `sessionAs` needs. */
export interface BrowserSigner {
  authority: {
    signIn(request: never, reply: never, userId: string, options?: { amr?: readonly string[] }): Promise<void>
  }
}

export interface AuthAsOptions {
  /**
   * The granted scopes, separated by spaces. Default: all scopes of the client, or without a client all that such a
   * token may have.
   */
  scope?: string | undefined
  /** The client that the token is for, or its id. Default: none. */
  client?: string | { clientId: string } | undefined
  /** The authentication methods, in the words of RFC 8176: `['pwd']` gives the `acr` `password`. Default: none. */
  amr?: readonly string[] | undefined
  /**
   * The authentication level (`acr`): `password`, `mfa` (a password and a code) or `phr` (a passkey). Replaces the
   * option `amr`: the token gets this `acr` and the matching `amr`. The user need not have these factors.
   */
  acr?: 'password' | 'mfa' | 'phr' | undefined
}

/**
 * Returns headers for `inject` with a new access token of this user. Needs no password and counts as no login attempt.
 * @throws OAuthError `invalid_client` for an unknown client, `invalid_scope` for a scope that cannot be granted, or
 * `invalid_grant` for an unknown or disabled user
 *
 * @example await app.inject({ url: '/me', headers: await authAs(app, user, { scope: 'openid admin', client: 'spa' }) })
 */
export async function authAs(
  app: TokenIssuer,
  user: { id: string },
  { scope, client, amr = [], acr }: AuthAsOptions = {}
): Promise<{ authorization: string }> {
  const clientId = typeof client === 'object' ? client.clientId : client
  const { access_token: accessToken } = await app.authority.issueTokens(user.id, {
    ...(scope === undefined ? {} : { scope }),
    ...(clientId === undefined ? {} : { clientId }),
    amr,
    ...proofs(acr)
  })
  return { authorization: `Bearer ${accessToken}` }
}

/**
 * Returns headers for `inject` as a browser sends them from a page of the issuer's origin: the cookie of a new browser
 * session of this user, and `sec-fetch-site`.
 * @throws OAuthError `invalid_grant` for an unknown or disabled user
 *
 * @example await app.inject({ url: '/account', headers: await sessionAs(app, user) })
 */
export async function sessionAs(
  app: BrowserSigner,
  user: { id: string },
  { amr = [], acr }: Pick<AuthAsOptions, 'amr' | 'acr'> = {}
): Promise<{ cookie: string; 'sec-fetch-site': string }> {
  let cookies: string[] = []
  const request = { headers: {}, ip: '127.0.0.1' }
  const reply = {
    request,
    getHeader: () => cookies,
    removeHeader() {},
    header(_name: string, values: string[]) {
      cookies = values
    }
  }
  await app.authority.signIn(request as never, reply as never, user.id, { amr, ...proofs(acr) })
  return { cookie: cookies.map((one) => one.split(';', 1)[0]).join('; '), 'sec-fetch-site': 'same-origin' }
}

/** Returns the internal option for `acr`. Only `fastify-authority/testing` sets it. */
function proofs(acr: AuthAsOptions['acr']): object {
  return acr === undefined ? {} : { [TEST_PROOFS]: acr }
}
