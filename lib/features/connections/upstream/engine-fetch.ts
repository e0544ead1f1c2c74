import * as oauth from 'oauth4webapi'
import { UpstreamError } from '../../../errors.ts'
import type { UpstreamTokens } from '../../../ports/upstream.ts'
import type { ProviderAnswer, ProviderRequest } from '../../../adapters/upstream/ask-provider.ts'

/**
 * Members of a token response that are read for a provider with an API instead of ID tokens.
 * @see RFC 6749 §5.1, §5.2
 */
const TOKEN_MEMBERS = [
  'access_token',
  'token_type',
  'refresh_token',
  'expires_in',
  'scope',
  'error',
  'error_description',
  'error_uri'
]

interface EngineFetch {
  [oauth.customFetch]: (
    url: string,
    init: { method: string; headers: Record<string, string>; body?: string | URLSearchParams | undefined }
  ) => Promise<Response>
  [oauth.allowInsecureRequests]: true
}

/**
 * Sends the engine's requests under our own limits. The engine gets the JSON of the response after `inspect` has
 * checked it.
 */
export function engineFetch(
  request: Pick<ProviderRequest, 'of' | 'reason' | 'form'>,
  ask: (request: ProviderRequest) => Promise<ProviderAnswer>,
  inspect?: (answer: ProviderAnswer, body: Record<string, unknown>) => void
): EngineFetch {
  return {
    // Our own check before each call decides whether http is allowed.
    [oauth.allowInsecureRequests]: true,
    async [oauth.customFetch](url, { method, headers, body }) {
      const answer = await ask({
        ...request,
        url,
        method: method === 'POST' ? 'POST' : 'GET',
        headers,
        body: body?.toString()
      })
      const { status, json, text } = answer
      if (typeof json !== 'object' || json === null || Array.isArray(json))
        throw new UpstreamError(request.reason, `The answer of ${request.of} is no JSON object.`)
      inspect?.(answer, json as Record<string, unknown>)
      // Passes the text on unchanged, because JSON that is nested too deep can be parsed but not written again.
      return new Response(request.form === true ? JSON.stringify(tokenMembers(json)) : text, {
        status,
        headers: { 'content-type': 'application/json' }
      })
    }
  }
}

/**
 * Keeps the members of a token response that have a plain value. An ID token of a provider with an API is not trusted,
 * and some such providers omit the token type.
 */
function tokenMembers(json: object): Record<string, unknown> {
  const members = Object.entries(json).filter(
    ([name, value]) => TOKEN_MEMBERS.includes(name) && (typeof value !== 'object' || value === null)
  )
  return { token_type: 'bearer', ...Object.fromEntries(members) }
}

export function tokensOf({
  access_token: accessToken,
  refresh_token: refreshToken,
  id_token: idToken,
  expires_in: expiresIn,
  scope
}: oauth.TokenEndpointResponse): UpstreamTokens {
  return {
    accessToken,
    ...(refreshToken === undefined ? {} : { refreshToken }),
    ...(idToken === undefined ? {} : { idToken }),
    ...(expiresIn === undefined ? {} : { expiresIn }),
    ...(scope === undefined ? {} : { scope })
  }
}
