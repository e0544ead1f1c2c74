import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import Fastify, { type FastifyPluginCallback } from 'fastify'
import type { FastifyJWTOptions, JWT } from '@fastify/jwt'
import { thumbprint } from '../../protocol/access-token.ts'
import { KEY_TYPES, MIN_RSA_BITS } from '../../protocol/jws.ts'
import type { JsonWebKeyObject, JwtEngine, LoadedKey, TokenType } from '../../ports/cryptography.ts'

const generate = promisify(generateKeyPair)
/**
 * Loaded with the first key, because loading takes a twelfth of the start time, and the first managed key is made after
 * the start.
 */
let loaded: FastifyPluginCallback<FastifyJWTOptions> | undefined
const jwtPackage = () => import('@fastify/jwt')

/**
 * Signs and verifies tokens with @fastify/jwt. Verifying checks only the signature and the algorithm. lib/protocol
 * checks the claims.
 */
export const jwtEngine: JwtEngine = {
  async generate(alg) {
    const { privateKey } =
      alg === 'ES256'
        ? await generate('ec', { namedCurve: 'P-256' })
        : alg === 'EdDSA'
          ? await generate('ed25519')
          : await generate('rsa', { modulusLength: 3072 })
    return { ...privateKey.export({ format: 'jwk' }), alg }
  },

  async load(privateJwk) {
    const alg = String(privateJwk.alg)
    const expected = (KEY_TYPES as Readonly<Record<string, { kty: string; crv?: string }>>)[alg]
    if (expected === undefined) throw new Error(`alg must be one of ${Object.keys(KEY_TYPES).join(', ')}`)
    if (privateJwk.kty !== expected.kty || (expected.crv !== undefined && privateJwk.crv !== expected.crv))
      throw new Error(`${alg} needs kty ${expected.kty}${expected.crv === undefined ? '' : ` and crv ${expected.crv}`}`)
    if (typeof privateJwk.d !== 'string') throw new Error('it must be a private JWK (with d)')
    // OpenSSL checks that an EC point is on its curve. The trial signature below checks that `d` belongs to the public
    // members.
    const privateKey = createPrivateKey({ key: privateJwk, format: 'jwk' })
    const publicKey = createPublicKey(privateKey)
    if ((publicKey.asymmetricKeyDetails?.modulusLength ?? MIN_RSA_BITS) < MIN_RSA_BITS)
      throw new Error(`an RSA key needs at least ${MIN_RSA_BITS} bits`)
    const exported: JsonWebKeyObject = { ...publicKey.export({ format: 'jwk' }) }
    const kid = typeof privateJwk.kid === 'string' ? privateJwk.kid : thumbprint(exported)
    const pem = { private: toPem(privateKey, 'pkcs8'), public: toPem(publicKey, 'spki') }
    const key = await bind(kid, alg, { ...exported, kid, alg, use: 'sig' }, pem)
    try {
      key.verify(key.sign({}))
    } catch {
      throw new Error('its private half does not belong to its public half')
    }
    return key
  },

  async loadPublic(publicJwk) {
    const { kid, alg } = publicJwk
    const publicKey = createPublicKey({ key: publicJwk, format: 'jwk' })
    return await bind(String(kid), String(alg), publicJwk, { public: toPem(publicKey, 'spki') })
  },

  async loadSecret(secret) {
    return await bind('secret', 'HS256', null, secret)
  }
}

function toPem(key: KeyObject, type: 'pkcs8' | 'spki'): string {
  return key.export({ format: 'pem', type } as never).toString()
}

/**
 * Makes a private Fastify instance for the key, so that the host's instance, which may have its own @fastify/jwt, stays
 * untouched. Registers @fastify/jwt once for each `typ`, with fixed options, because options per call make the library
 * parse the key again for each token. A registration takes half a millisecond, so it waits for the first token of its
 * `typ`. The instance is never started, because a started instance accepts no further registration.
 */
async function bind(
  kid: string,
  alg: string,
  publicJwk: JsonWebKeyObject | null,
  secret: FastifyJWTOptions['secret']
): Promise<LoadedKey> {
  const plugin = (loaded ??= (await jwtPackage()).default)
  const inner = Fastify({ logger: false })
  const bound: Partial<Record<TokenType, JWT>> = {}
  const register = (typ: TokenType): JWT => {
    const options = {
      namespace: typ,
      secret,
      sign: { algorithm: alg, header: { alg, typ, kid } },
      // The caller checks expiry by the Clock port, so that one clock decides everything.
      verify: { algorithms: [alg], ignoreExpiration: true, ignoreNotBefore: true, cache: false }
    }
    // Calls the plugin function directly, because it does all its work synchronously.
    plugin(inner, options as unknown as FastifyJWTOptions, (error) => {
      if (error !== undefined) throw error
    })
    return (bound[typ] = (inner.jwt as unknown as Record<TokenType, JWT>)[typ])
  }
  // This registration verifies tokens of every `typ`, because the caller checks the `typ`.
  const first = register('at+jwt')
  return {
    kid,
    alg,
    publicJwk,
    sign: (payload, typ = 'at+jwt') => (bound[typ] ?? register(typ)).sign(payload),
    verify: (token) => first.verify<Record<string, unknown>>(token)
  }
}
