import { createHash, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import { type Answer, type Asked, providerServer, type ProviderServer } from './provider-server.ts'

export interface SigningKey {
  privateKey: KeyObject
  jwk: Record<string, unknown>
  alg: string
  kid: string | undefined
}

export function signingKey(
  alg: 'RS256' | 'ES256' | 'Ed25519' = 'ES256',
  kid: string | undefined = randomUUID()
): SigningKey {
  const { privateKey, publicKey } =
    alg === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : alg === 'Ed25519'
        ? generateKeyPairSync('ed25519')
        : generateKeyPairSync('rsa', { modulusLength: 2048 })
  return {
    privateKey,
    alg,
    kid,
    jwk: { ...publicKey.export({ format: 'jwk' }), use: 'sig', alg, ...(kid === undefined ? {} : { kid }) }
  }
}

/** A JWS in compact form. `header` overrides the usual one. */
export function signedToken(
  claims: Record<string, unknown>,
  { privateKey, alg, kid }: SigningKey,
  header: Record<string, unknown> = {}
): string {
  const input = [{ alg, ...(kid === undefined ? {} : { kid }), ...header }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  const digest = alg === 'Ed25519' ? null : 'sha256'
  return `${input}.${sign(digest, Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
}

/** The parts of an OpenID provider that a test can change at any time. */
export interface OpenidSwitches {
  /** In seconds since the epoch: what the provider's clock says. */
  now(): number
  /** Claims of ID tokens besides the usual ones; a value of `undefined` takes a claim out. */
  claims: Record<string, unknown>
  header: Record<string, unknown>
  key: SigningKey
  keys: SigningKey[]
  /** The last word on an ID token. */
  idToken(token: string): string | undefined
  metadata: Record<string, unknown>
  userinfo: Record<string, unknown>
  /** Overrides of the token endpoint's response. */
  tokens: Record<string, unknown>
  /** True if the answer contains `iss`. */
  sendsIss: boolean
}

export interface OpenidServer extends ProviderServer {
  issuer: string
  is: OpenidSwitches
  /** The response to this authorization URL, as the person's browser returns it. */
  answerTo(authorizationUrl: string): URLSearchParams
}

interface Places {
  issuer?: (origin: string) => string
  hosts?: string[]
  authorize: string
  token: string
  keys: string
  userinfo: string
}

const PLACES: Places = { authorize: '/authorize', token: '/token', keys: '/keys', userinfo: '/userinfo' }

/**
 * An OpenID provider that signs everybody in at once with `is.claims`. It checks client, redirect URI and PKCE; codes
 * work once. `places`: paths, or `host/path` for hosts that it imitates.
 */
export async function openidServer(
  switches: Partial<OpenidSwitches> = {},
  places: Partial<Places> = {}
): Promise<OpenidServer> {
  const at = { ...PLACES, ...places }
  const codes = new Map<string, URLSearchParams>()
  const key = switches.key ?? signingKey()
  const server = await providerServer({}, at.hosts)
  const issuer = at.issuer?.(server.origin) ?? server.origin
  const is: OpenidSwitches = {
    now: () => Math.floor(Date.now() / 1000),
    claims: {},
    header: {},
    key,
    keys: [key],
    idToken: (token) => token,
    metadata: {},
    userinfo: {},
    tokens: {},
    sendsIss: true,
    ...switches
  }
  const urlOf = (place: string): string => (place.startsWith('/') ? `${server.origin}${place}` : `https://${place}`)
  const subject = 'person-1'

  const answerTo = (authorizationUrl: string): URLSearchParams => {
    const request = new URL(authorizationUrl).searchParams
    const code = randomUUID()
    codes.set(code, request)
    return new URLSearchParams({ code, state: request.get('state') ?? '', ...(is.sendsIss ? { iss: issuer } : {}) })
  }

  Object.assign(server.routes, {
    ['GET ' +
    `${at.hosts?.includes(new URL(issuer).host) === true ? new URL(issuer).host : ''}${new URL(issuer).pathname.replace(/\/$/, '')}/.well-known/openid-configuration`]:
      () => ({
        json: {
          issuer,
          authorization_endpoint: urlOf(at.authorize),
          token_endpoint: urlOf(at.token),
          jwks_uri: urlOf(at.keys),
          userinfo_endpoint: urlOf(at.userinfo),
          token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
          id_token_signing_alg_values_supported: ['RS256', 'ES256'],
          authorization_response_iss_parameter_supported: true,
          ...is.metadata
        }
      }),
    [`GET ${at.keys}`]: () => ({ json: { keys: is.keys.map(({ jwk }) => jwk) } }),
    [`GET ${at.userinfo}`]: () => ({ json: { sub: is.claims['sub'] ?? subject, ...is.userinfo } }),
    [`GET ${at.authorize}`]: ({ url }: Asked): Answer => {
      const answer = answerTo(url.href)
      const to = url.searchParams.get('redirect_uri') ?? ''
      if (url.searchParams.get('response_mode') !== 'form_post')
        return { status: 303, headers: { location: `${to}?${String(answer)}` }, body: '' }
      const fields = [...answer]
        .map(([name, value]) => `<input type="hidden" name="${name}" value="${value}">`)
        .join('')
      return {
        type: 'text/html',
        body:
          `<!doctype html><title>Back</title><form method="post" action="${to}">${fields}<button>Go ` +
          'on</button></form>'
      }
    },
    [`POST ${at.token}`]: ({ form, headers }: Asked): Answer => {
      const request = codes.get(form.get('code') ?? '')
      codes.delete(form.get('code') ?? '')
      const challenge = createHash('sha256')
        .update(form.get('code_verifier') ?? '')
        .digest('base64url')
      const clientId =
        form.get('client_id') ??
        Buffer.from(headers.authorization?.replace('Basic ', '') ?? '', 'base64')
          .toString()
          .split(':')[0]
      if (
        request === undefined ||
        request.get('redirect_uri') !== form.get('redirect_uri') ||
        request.get('client_id') !== clientId ||
        (request.has('code_challenge') && challenge !== request.get('code_challenge'))
      )
        return { status: 400, json: { error: 'invalid_grant', error_description: 'CANARY of the upstream' } }
      const now = is.now()
      const nonce = request.get('nonce')
      const claims = Object.fromEntries(
        Object.entries({
          iss: issuer,
          sub: subject,
          aud: clientId,
          iat: now,
          exp: now + 300,
          ...(nonce === null ? {} : { nonce }),
          ...is.claims
        }).filter(([, value]) => value !== undefined)
      )
      return {
        json: {
          access_token: 'upstream-access-token',
          token_type: 'Bearer',
          expires_in: 300,
          id_token: is.idToken(signedToken(claims, is.key, is.header)),
          ...is.tokens
        }
      }
    }
  })
  return Object.assign(server, { issuer, is, answerTo })
}
