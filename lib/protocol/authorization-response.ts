import { OAuthError } from '../errors.ts'
import type { ResponseMode } from './authorization-request.ts'
import { checkRegistrableRedirectUri } from './redirect-uri.ts'
import { serializeParams } from './request-params.ts'

/** How an answer goes back through the browser. */
export type AuthorizationResponse =
  | { kind: 'redirect'; location: string }
  | { kind: 'form'; action: string; params: Record<string, string> }

/**
 * An answer to this redirect URI, which the client has registered. Its own query stays as it is, byte for byte; each
 * value comes out on the other side as it is here. `location` is ASCII without line breaks. A parameter that is
 * `undefined` is left out.
 * @throws OAuthError `server_error` for a URI that nobody could have registered
 * @see RFC 6749 §3.1.2, §4.1.2, OAuth 2.0 Multiple Response Type Encoding Practices §2.1, OAuth 2.0 Form Post Response
 * Mode §2
 */
export function authorizationResponse(
  redirectUri: string,
  mode: ResponseMode,
  params: Readonly<Record<string, string | undefined>>
): AuthorizationResponse {
  const reason = checkRegistrableRedirectUri(redirectUri)
  if (reason !== null)
    throw new OAuthError('server_error', 'The answer can not be sent.', {
      detail: `the redirect URI should have been ${reason}`
    })
  if (mode === 'form_post') {
    const sent = Object.entries(params).filter((entry): entry is [string, string] => entry[1] !== undefined)
    return { kind: 'form', action: redirectUri, params: Object.fromEntries(sent) }
  }
  // %20 is a space to those who read forms and to those who only percent-decode; + is not.
  const encoded = serializeParams(params).replaceAll('+', '%20')
  if (encoded === '') return { kind: 'redirect', location: redirectUri }
  return {
    kind: 'redirect',
    location: `${redirectUri}${mode === 'fragment' ? '#' : querySeparator(redirectUri)}${encoded}`
  }
}

/** A `?` at the end of a value in the query is a part of the value. */
function querySeparator(uri: string): string {
  const query = uri.indexOf('?')
  if (query < 0) return '?'
  return query === uri.length - 1 || uri.endsWith('&') ? '' : '&'
}
