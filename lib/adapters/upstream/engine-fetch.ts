import * as oauth from 'oauth4webapi'
import { UpstreamError } from '../../errors.ts'
import type { UpstreamTokens } from '../../ports/upstream.ts'
import type { ProviderAnswer, ProviderRequest } from './ask-provider.ts'

/** Members of a token answer that are read where the provider is known by its API. @see RFC 6749 §5.1, §5.2 */
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
 * Sends the engine's requests under our limits. The engine gets the JSON that was answered, after `inspect` has seen
 * it.
 */
export function engineFetch(
  request: Pick<ProviderRequest, 'of' | 'reason' | 'form'>,
  ask: (request: ProviderRequest) => Promise<ProviderAnswer>,
  inspect?: (answer: ProviderAnswer, body: Record<string, unknown>) => void
): EngineFetch {
  return {
    // Our own check decides on http before each call.
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
      // The text is handed on as it came, because what is nested too deep can be parsed and can't be written again.
      return new Response(request.form === true ? JSON.stringify(tokenMembers(json)) : text, {
        status,
        headers: { 'content-type': 'application/json' }
      })
    }
  }
}

/**
 * The members of a token answer that have a plain value. An ID token of a provider that is known by its API is nothing
 * to rely on, and some such providers leave the type of the access token out.
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
