import type { AuthorizationServer } from 'oauth4webapi'
import { UpstreamError } from '../../errors.ts'
import type { Provider } from '../../ports/provider.ts'
import { askProvider, isReachable, type Reach } from './ask-provider.ts'

/** What ID tokens can be signed with so that their signature says who signed them. */
const ASYMMETRIC = /^(?:RS|PS|ES)(?:256|384|512)$|^EdDSA$|^Ed25519$/

/**
 * The provider's endpoints and what it can do, from its metadata or, where they are fixed, from what is known of it.
 * @throws UpstreamError `outage`
 */
export async function metadataOf(provider: Provider, reach: Reach): Promise<AuthorizationServer> {
  const { endpoints, issuer } = provider
  const found =
    endpoints === null
      ? await discovered(issuer, reach)
      : {
          issuer,
          authorization_endpoint: endpoints.authorization,
          token_endpoint: endpoints.token,
          jwks_uri: endpoints.keys,
          userinfo_endpoint: endpoints.userinfo
        }
  const needed =
    provider.protocol === 'openid'
      ? ['authorization_endpoint', 'token_endpoint', 'jwks_uri']
      : ['authorization_endpoint', 'token_endpoint']
  const missing = needed.find((name) => typeof found[name] !== 'string' || !isReachable(found[name]))
  if (missing !== undefined)
    throw new UpstreamError('outage', `The metadata of the provider have no ${missing} that is an https: URL.`)
  return { ...found, id_token_signing_alg_values_supported: signingAlgs(provider, found) } as AuthorizationServer
}

/** @see OpenID Connect Discovery 1.0 §4.1, §4.3 */
async function discovered(issuer: string, reach: Reach): Promise<Record<string, unknown>> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const { status, json } = await askProvider(
    { url, method: 'GET', of: "the provider's metadata", reason: 'outage' },
    reach
  )
  if (status !== 200 || typeof json !== 'object' || json === null)
    throw new UpstreamError('outage', `The provider's metadata are no document with status 200 (it is ${status}).`)
  const found = json as Record<string, unknown>
  if (found['issuer'] !== issuer)
    throw new UpstreamError(
      'outage',
      "The provider's metadata are those of another issuer than the connection names, byte for byte."
    )
  return found
}

/** @see RFC 7517 §5 */
export async function keySetAt(url: string, reach: Reach): Promise<{ keys: unknown[] }> {
  const { status, json } = await askProvider(
    { url, method: 'GET', of: "the provider's key set", reason: 'outage' },
    reach
  )
  const { keys } = (typeof json === 'object' && json !== null ? json : {}) as { keys?: unknown }
  if (status !== 200 || !Array.isArray(keys))
    throw new UpstreamError('outage', `The provider's key set is none with status 200 (it is ${status}).`)
  return { keys }
}

function signingAlgs(provider: Provider, found: Record<string, unknown>): string[] {
  const promised: unknown =
    provider.protocol === 'openid' && provider.signingAlgs !== null
      ? provider.signingAlgs
      : found['id_token_signing_alg_values_supported']
  const algs: unknown[] = Array.isArray(promised) ? promised : ['RS256']
  return algs.filter((alg) => typeof alg === 'string').filter((alg) => ASYMMETRIC.test(alg))
}
