import { type AuthorizationServer, type ClientAuth, ClientSecretBasic, ClientSecretPost, None } from 'oauth4webapi'
import { UpstreamError } from '../../../errors.ts'
import type { Provider, UpstreamClient } from '../../../ports/provider.ts'
import { ASSERTION_TYPE } from '../../../protocol/client-authentication.ts'
import { ID_TOKEN_ALG } from '../../../protocol/upstream-answer.ts'
import { type Distance, mayCall, THIS_MACHINE } from '../../../protocol/distance.ts'
import { askProvider, type Reach } from '../../../adapters/upstream/ask-provider.ts'
import { createPrivateKey, type KeyObject, randomBytes, sign } from 'node:crypto'
import type { Clock } from '../../../ports/clock.ts'

/** The endpoints in metadata. Every provider needs the first two, and an OpenID provider the first three. */
const ENDPOINTS = ['authorization_endpoint', 'token_endpoint', 'jwks_uri', 'userinfo_endpoint']

interface ProviderMetadata {
  as: AuthorizationServer
  /**
   * The network distance of the server with the metadata. No endpoint in the metadata may be nearer. Endpoints in the
   * host's options may have any distance (`THIS_MACHINE`).
   */
  namedFrom: Distance
}

/**
 * Returns the provider's endpoints and abilities, from its metadata, or from the connection if that sets the endpoints.
 * @throws UpstreamError `outage`
 */
export async function metadataOf(provider: Provider, reach: Reach): Promise<ProviderMetadata> {
  const { endpoints, issuer } = provider
  const { found, namedFrom }: { found: Readonly<Record<string, unknown>>; namedFrom: Distance } =
    endpoints === null
      ? await discovered(issuer, reach)
      : {
          found: {
            issuer,
            authorization_endpoint: endpoints.authorization,
            token_endpoint: endpoints.token,
            jwks_uri: endpoints.keys,
            userinfo_endpoint: endpoints.userinfo
          },
          namedFrom: THIS_MACHINE
        }
  const needed = provider.protocol === 'openid' ? ENDPOINTS.slice(0, 3) : ENDPOINTS.slice(0, 2)
  const wrong = ENDPOINTS.find((name) => {
    const url: unknown = found[name]
    return url === undefined ? needed.includes(name) : typeof url !== 'string' || !mayCall(url, namedFrom)
  })
  if (wrong !== undefined)
    throw new UpstreamError(
      'outage',
      `The metadata of the provider have no ${wrong} that is an https: URL and no nearer than the provider.`
    )
  return {
    as: { ...found, id_token_signing_alg_values_supported: signingAlgs(provider, found) } as AuthorizationServer,
    namedFrom
  }
}

/** @see OpenID Connect Discovery 1.0 §4.1, §4.3 */
async function discovered(
  issuer: string,
  reach: Reach
): Promise<{ found: Record<string, unknown>; namedFrom: Distance }> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const { status, json, distance } = await askProvider(
    { url, method: 'GET', of: "the provider's metadata", reason: 'outage' },
    reach
  )
  if (status !== 200 || typeof json !== 'object' || json === null)
    throw new UpstreamError('outage', `The provider's metadata are no document with status 200 (it is ${status}).`)
  const found = json as Record<string, unknown>
  if (found['issuer'] !== issuer)
    throw new UpstreamError(
      'outage',
      `The provider's metadata are those of ${named(found['issuer'])}, and the connection names ` +
        `${JSON.stringify(issuer)}: set issuer of the connection to the former, byte for byte.`
    )
  return { found, namedFrom: distance }
}

/** Quotes the issuer of a document for an error message. A value that cannot be an issuer becomes `no issuer`. */
const named = (issuer: unknown): string =>
  typeof issuer === 'string' && /^[\x21-\x7e]{1,200}$/.test(issuer) ? JSON.stringify(issuer) : 'no issuer'

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
  return algs.filter((alg) => typeof alg === 'string').filter((alg) => ID_TOKEN_ALG.test(alg))
}

/** Lifetime in seconds. Short, because a secret that lives for months expires one day unnoticed. */
const APPLE_SECRET_LIFETIME = 300
const ASSERTION_LIFETIME = 60

/** Chooses the client authentication at the token endpoint. @see RFC 6749 §2.3.1, RFC 7523 §2.2 */
export function clientAuthentication(
  { provider, clientId, clientSecret, privateKey, keyId, teamId }: UpstreamClient,
  { token_endpoint_auth_methods_supported: supported }: AuthorizationServer,
  clock: Clock
): ClientAuth {
  const now = (): number => Math.floor(clock.now() / 1000)
  if (provider.clientAuthentication === 'apple') {
    return (as, client, body) => {
      body.set('client_id', clientId)
      body.set(
        'client_secret',
        signedJwt(privateKey, keyId, {
          iss: teamId,
          iat: now(),
          exp: now() + APPLE_SECRET_LIFETIME,
          aud: provider.issuer,
          sub: clientId
        })
      )
    }
  }
  if (privateKey !== null) {
    return (as, client, body) => {
      body.set('client_id', clientId)
      body.set('client_assertion_type', ASSERTION_TYPE)
      body.set(
        'client_assertion',
        signedJwt(privateKey, keyId, {
          iss: clientId,
          sub: clientId,
          aud: provider.issuer,
          jti: randomBytes(16).toString('base64url'),
          iat: now(),
          exp: now() + ASSERTION_LIFETIME
        })
      )
    }
  }
  if (clientSecret === null) return None()
  const method =
    provider.clientAuthentication === 'metadata'
      ? supported?.includes('client_secret_post') === true
        ? 'client_secret_post'
        : 'client_secret_basic'
      : provider.clientAuthentication
  return method === 'client_secret_post' ? ClientSecretPost(clientSecret) : ClientSecretBasic(clientSecret)
}

function signedJwt(pem: string | null, kid: string | null, claims: Record<string, unknown>): string {
  const key = createPrivateKey(pem ?? '')
  const [alg, digest] = algorithmOf(key)
  const input = [{ alg, ...(kid === null ? {} : { kid }) }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  // Encodes an ECDSA signature as JWS requires: as two numbers, whereas OpenSSL writes DER. @see RFC 7518 §3.4
  return `${input}.${sign(digest, Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
}

function algorithmOf(key: KeyObject): [alg: string, digest: string | null] {
  if (key.asymmetricKeyType === 'ed25519') return ['EdDSA', null]
  return key.asymmetricKeyType === 'rsa' ? ['RS256', 'sha256'] : ['ES256', 'sha256']
}
