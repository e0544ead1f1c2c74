import { readParams } from './request-params.ts'

/** The parameters of a logout request as they were sent: each a non-empty string, sent once. */
export type LogoutParams = { [Name in Exclude<keyof typeof LIMITS, 'returnTo'>]?: string }

/** Bytes. */
const LIMITS = {
  id_token_hint: 8192,
  logout_hint: 512,
  client_id: 512,
  post_logout_redirect_uri: 2048,
  returnTo: 2048,
  state: 2048,
  ui_locales: 512
} as const

/**
 * Reads a logout request from the query or the form: all of it is optional. An empty parameter counts as not sent; an
 * unknown one is ignored. `returnTo` is what clients that were made for Auth0 call `post_logout_redirect_uri`, and is
 * judged like it.
 * @throws OAuthError `invalid_request` naming the parameter
 * @see OpenID Connect RP-Initiated Logout 1.0 §2
 */
export function readLogoutParams(raw: unknown): LogoutParams {
  const { returnTo, ...params } = readParams(raw, LIMITS)
  return returnTo === undefined || params.post_logout_redirect_uri !== undefined
    ? params
    : { ...params, post_logout_redirect_uri: returnTo }
}
