import { createPrivateKey, type KeyObject, randomBytes, sign } from 'node:crypto'
import { type AuthorizationServer, type ClientAuth, ClientSecretBasic, ClientSecretPost, None } from 'oauth4webapi'
import type { Clock } from '../../../ports/clock.ts'
import type { UpstreamClient } from '../../../ports/provider.ts'

/** Lifetime in seconds. Short, because a secret that lives for months expires one day unnoticed. */
const APPLE_SECRET_LIFETIME = 300
const ASSERTION_LIFETIME = 60
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** How the client proves itself at the token endpoint. @see RFC 6749 §2.3.1, RFC 7523 §2.2 */
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
