/** As much of the decorated app as `authAs` needs. */
export interface TokenIssuer {
  authority: { issueTokens(userId: string): Promise<{ access_token: string }> }
}

/**
 * Headers for `inject` that sign the request in as this user, without a password and without counting as a login attempt.
 *
 * @example await app.inject({ url: '/me', headers: await authAs(app, user) })
 */
export async function authAs (app: TokenIssuer, user: { id: string }): Promise<{ authorization: string }> {
  const { access_token: accessToken } = await app.authority.issueTokens(user.id)
  return { authorization: `Bearer ${accessToken}` }
}
