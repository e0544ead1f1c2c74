import { AuthClientError } from './errors.ts'

/** The part of a provider's metadata that we use. @see OpenID Connect Discovery 1.0 §3 */
export interface Metadata {
  issuer: string
  authorization_endpoint: string
  token_endpoint: string
  userinfo_endpoint?: string
  revocation_endpoint?: string
  end_session_endpoint?: string
  authorization_response_iss_parameter_supported?: boolean
}

export interface TokenAnswer {
  /** Missing in `cookie` mode. */
  access_token: string
  expires_in?: number
  refresh_token?: string
  id_token?: string
}

type Params = Record<string, string | number | false | undefined>

/**
 * The issuer for the option `domain`, without a final slash. Without a scheme, `localhost`, `127.0.0.1` and `[::1]` get
 * http, and any other host gets https.
 */
export const issuerOf = (domain: string): string =>
  (
    (domain.includes('://') ? '' : /^(localhost|127\.0\.0\.1|\[::1])(:|$)/.test(domain) ? 'http://' : 'https://') +
    domain
  ).replace(/\/$/, '')

/** Replaces `fetch` for all clients of the page, if a client of `fastify-authority/client/dpop` exists. */
export let send: typeof fetch | undefined
export const sendBy = (other: typeof fetch): void => {
  send = other
}

/**
 * The result of the last handled authorization response, by the client's key. A call of `handleRedirectCallback`
 * without a new response returns this result, also for another instance of the client.
 */
export const answered: Record<string, Promise<{ appState: unknown }>> = {}

/** True if the URL contains an authorization response. One of the parameters alone may be the page's own. */
export const isAnswer = (url: string): boolean => /[?&]state=/.test(url) && /[?&](code|error)=/.test(url)

/** The promises of `once` for all clients of the page: runs under way, and kept results. */
const inFlight = new Map<string, Promise<unknown>>()

/** Navigates the page to the address. The default of `openUrl`. */
export const assign = (url: string): void | Promise<void> => {
  location.assign(url)
}

/**
 * Returns the stored promise of this key, or else calls `run` and stores its promise. Removes a failed promise, and a
 * successful one unless `keep` is set.
 */
export function once<T>(key: string, run: (key: string) => Promise<T>, keep = false): Promise<T> {
  const started = (inFlight.get(key) as Promise<T> | undefined) ?? run(key)
  const forget = (): unknown => inFlight.delete(key)
  inFlight.set(key, started)
  started.then(keep ? null : forget, forget)
  return started
}

/**
 * Resolves to the JSON of a response. Posts `params` if given. A failed status is `retryable` if it is 429 or more. If
 * the request fails, takes too long, or gets a successful response that is not JSON (a captive portal), rejects with
 * the original error, which `asError` makes `retryable`.
 * @throws AuthClientError with the server's code, or `request_error` without a code, for a failed status
 */
export async function request<T>(url: string, params?: Params, init?: RequestInit): Promise<T> {
  const response = await (send ?? fetch)(url, {
    signal: AbortSignal.timeout(10_000),
    ...init,
    ...(params && { method: 'POST', body: query(params) })
  })
  if (response.ok) return response.json() as Promise<T>
  const body = (await response.json().catch(() => ({}))) as { error?: string; error_description?: string }
  // Retryable: 429, 5xx, and the few codes between them.
  throw new AuthClientError(
    body.error ?? 'request_error',
    body.error_description ?? 'HTTP ' + response.status,
    response.status > 428
  )
}

/** Leaves out empty values except 0. */
function query(params: Params): URLSearchParams {
  return new URLSearchParams(
    Object.entries(params).filter(([, value]) => value || value === 0) as Array<[string, string]>
  )
}

export function withParams(url: string, params: Params): string {
  return url + (url.includes('?') ? '&' : '?') + query(params)
}

/** Fetches the provider's metadata. @throws AuthClientError `issuer_mismatch`; and all errors of `request` */
export async function discover(issuer: string): Promise<Metadata> {
  const metadata = await request<Metadata>(`${issuer}/.well-known/openid-configuration`)
  // Accepts the issuer with or without a final slash, because the option `domain` does not tell which.
  if (metadata.issuer.replace(/\/$/, '') !== issuer)
    throw new AuthClientError('issuer_mismatch', `${metadata.issuer} ${issuer}`)
  return metadata
}
