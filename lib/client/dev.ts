/**
 * `fastify-authority/client/dev`: `createAuthClient` with checks for development that are too large for the client
 * itself: unknown options, `cookie` mode at another origin, and requests that got no token.
 */
import { AuthClientError } from './errors.ts'
import { issuerOf } from './http.ts'
import { createAuthClient as create } from './index.ts'
import type { AuthClient, AuthClientOptions } from './options.ts'

const OPTIONS: Readonly<Record<keyof AuthClientOptions, 1>> = {
  clientId: 1,
  domain: 1,
  redirectUri: 1,
  audience: 1,
  scope: 1,
  storage: 1,
  mode: 1,
  prefix: 1,
  allowedOrigins: 1
}

const invalid = (description: string): AuthClientError => new AuthClientError('invalid_options', description)

/**
 * Checks the options and creates a client. The client's `fetch` warns about a 401 from an origin that gets no token.
 * @throws AuthClientError `invalid_options`
 */
export const createAuthClient = ((options: AuthClientOptions) => {
  for (const name of Object.keys(options))
    if (!Object.hasOwn(OPTIONS, name))
      throw invalid(`There is no option "${name}". There are: ${Object.keys(OPTIONS).join(', ')}.`)
  for (const name of ['clientId', 'domain'] as const)
    if (!options[name]) throw invalid(`The option "${name}" is missing.`)
  const { domain, mode, allowedOrigins = [] } = options
  const place = globalThis.location as Location | undefined
  const { origin } = new URL(issuerOf(domain))
  if (mode === 'cookie' && place !== undefined && place.origin !== origin)
    throw invalid(
      `mode "cookie" works on pages of the provider's own origin: this page is at ${place.origin}, domain is ${origin}.`
    )
  const client = create(options) as AuthClient
  const told = new Set<string>()
  return {
    ...client,
    async fetch(input, init) {
      const response = await client.fetch(input, init)
      const to = new URL(input instanceof Request ? input.url : input, place?.href).origin
      if (response.status === 401 && to !== place?.origin && !allowedOrigins.includes(to) && !told.has(to)) {
        told.add(to)
        // eslint-disable-next-line no-console -- a developer finds out no other way
        console.warn(
          `allowedOrigins: 401 ${to}: the request had no token, because this origin is not in allowedOrigins.`
        )
      }
      return response
    }
  } satisfies AuthClient
}) as typeof create

export * from './index.ts'
