import * as oauth from 'oauth4webapi'
import { UpstreamError, type UpstreamFailure } from '../../../errors.ts'
import { BusyError, type ProviderAnswer, type ProviderRequest } from '../../../adapters/upstream/ask-provider.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { UpstreamTokens } from '../../../ports/upstream.ts'

/**
 * Converts every error of the engine (oauth4webapi) or of a host's `identify` to an `UpstreamError`. Keeps only the
 * engine's error code, the name of the refused claim and, as the cause, a wrong issuer, because messages may quote the
 * provider's response. `onForeign` receives the original error.
 */
export async function failing<Answer>(
  reason: UpstreamFailure,
  work: () => Promise<Answer>,
  onForeign?: (error: unknown) => void
): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof UpstreamError) throw error
    onForeign?.(error)
    const code =
      error instanceof oauth.OperationProcessingError || error instanceof oauth.UnsupportedOperationError
        ? [error.code, claimOf(error)].filter((word) => word !== null).join(' ')
        : 'unexpected'
    const what =
      reason === 'id_token'
        ? 'ID token'
        : reason === 'userinfo'
          ? 'answer about the person'
          : 'answer of the token endpoint'
    throw new UpstreamError(reason, `The ${what} was refused (${code}).`, causeOf(error))
  }
}

/**
 * Quotes the expected and the received issuer as a cause, which only the log shows. Without it, the log would not name
 * a wrong option `issuer`.
 */
export function otherIssuer(expected: unknown, got: unknown): ErrorOptions {
  const show = (issuer: unknown): string =>
    typeof issuer === 'string'
      ? JSON.stringify(issuer.replaceAll(/\/\/[^/?#\s]*@/g, '//…@').slice(0, 200))
      : typeof issuer
  return { cause: new Error(`iss: expected ${show(expected)}, got ${show(got)}`) }
}

function causeOf(error: unknown): ErrorOptions | undefined {
  if (!(error instanceof Error) || claimOf(error) !== 'iss') return undefined
  const { expected, claims } = error.cause as { expected?: unknown; claims?: { iss?: unknown } }
  return otherIssuer(expected, claims?.iss)
}

/** The claim that the engine refused. `null`: the error names no claim. */
function claimOf({ cause }: Error): string | null {
  const { claim } = (typeof cause === 'object' && cause !== null ? cause : {}) as { claim?: unknown }
  return typeof claim === 'string' && /^[a-z_]{1,20}$/.test(claim) ? claim : null
}

/** Errors for an invented or reused code, from RFC 6749 §5.2 and GitHub. */
const USED_UP = ['invalid_grant', 'bad_verification_code']
const WRONG_CLIENT = 'Look at clientId and clientSecret of the connection.'
/**
 * The error codes of RFC 6749 §5.2 and of GitHub, with advice for the host. No other text of the provider is repeated.
 */
const KNOWN_ERRORS: Readonly<Record<string, string>> = {
  invalid_request: '',
  invalid_client: WRONG_CLIENT,
  invalid_grant: '',
  unauthorized_client: 'Allow this client the authorization code at the provider.',
  unsupported_grant_type: '',
  invalid_scope: 'Look at scopes of the connection.',
  bad_verification_code: '',
  incorrect_client_credentials: WRONG_CLIENT,
  redirect_uri_mismatch: 'Register the callback URL, which the log has at the start, with the provider.'
}

/** The error for a token endpoint that returned no tokens. */
export function refusal(status: number, said: unknown): UpstreamError {
  const known = typeof said === 'string' && Object.hasOwn(KNOWN_ERRORS, said) ? said : null
  return new UpstreamError(
    USED_UP.includes(said as string) ? 'mismatch' : 'exchange',
    `The token endpoint refused the code: it answered ${status} and ${known ?? 'no error of RFC 6749'}. ${
      known === null ? '' : KNOWN_ERRORS[known]
    }`.trim()
  )
}

/** Receives events that an operator should know. */
export interface UpstreamReports {
  /** Called once when an outage begins. `of`: the endpoint, as a phrase such as `the token endpoint`. */
  down(of: string, error: UpstreamError): void
  back(of: string): void
  /** Called when a function of the host fails. The error does not contain the provider's tokens. */
  hostFailed(error: Error): void
}

interface Outages {
  /** Runs the work, and reports if it begins or ends an outage of that endpoint. */
  over<Answer>(of: string, work: () => Promise<Answer>): Promise<Answer>
  began(of: string, error: UpstreamError): void
  ended(of: string): void
}

/** Reports each endpoint's outages once when they begin and once when they end, however many sign-ins they stop. */
export function watchOutages({ down, back }: UpstreamReports): Outages {
  const away = new Set<string>()
  const began = (of: string, error: UpstreamError): void => {
    if (away.has(of)) return
    away.add(of)
    down(of, error)
  }
  const ended = (of: string): void => {
    if (away.delete(of)) back(of)
  }
  return {
    began,
    ended,
    async over(of, work) {
      try {
        const answer = await work()
        ended(of)
        return answer
      } catch (error) {
        // Our own limit of parallel calls says nothing about the provider.
        if (error instanceof UpstreamError && error.reason === 'outage' && !(error instanceof BusyError))
          began(of, error)
        throw error
      }
    }
  }
}

/** The time limit for all calls of one sign-in to the provider. */
const BUDGET_MS = 6000
const ALL = 'all that one sign-in asks of the provider'

/**
 * Resolves to the result of the work. After six seconds, rejects with an `outage` and aborts the signal of the work.
 */
export async function inTime<Answer>(
  clock: Clock,
  outages: Outages,
  work: (signal: AbortSignal) => Promise<Answer>
): Promise<Answer> {
  const abort = new AbortController()
  let cancel = (): void => {}
  const late = new Promise<never>((_resolve, reject) => {
    cancel = clock.after(BUDGET_MS, () => {
      const error = new UpstreamError('outage', 'The provider did not answer all that was asked of it in time.')
      reject(error)
      outages.began(ALL, error)
      abort.abort()
    })
  })
  try {
    const answer = await Promise.race([work(abort.signal), late])
    outages.ended(ALL)
    return answer
  } finally {
    cancel()
  }
}

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
 * Keeps the members in `TOKEN_MEMBERS` that have a plain value. Drops the ID token, because the ID token of a provider
 * with an API is not trusted. Adds the token type, because some of these providers omit it.
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
