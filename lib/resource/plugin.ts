import type { FastifyPluginAsync } from 'fastify'
import fp from 'fastify-plugin'
import { jwtEngine } from '../adapters/jwt/jwt-engine.ts'
import { outbound } from '../adapters/node/outbound.ts'
import { systemClock } from '../adapters/node/system.ts'
import { StartError, OAuthError } from '../errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { Outbound } from '../ports/outbound.ts'
import {
  type AccessTokenClaims,
  type AccessTokenPolicy,
  checkAccessTokenClaims,
  tokenHeaderReader
} from '../protocol/access-token.ts'
import { DPOP_ALGS, type Proof, proofFor, proofReader, provenUrl, usedProof } from '../protocol/dpop.ts'
import { isJwsAlg, JWS_ALGS, type JwsAlg } from '../protocol/jws.ts'
import { canonicalResource, audiencesOf } from '../protocol/resource.ts'
import { isScopeToken } from '../protocol/scope.ts'
import { badOption, invalid, noSuchOption } from '../settings/option-error.ts'
import { issuerAt, type Issuer } from './issuer.ts'
import { type ResourceGuards, resourceGuards, serveMetadata } from './resource-guards.ts'
import type { Check } from '../http/edge/hook.ts'
import type { VerifyingKey } from '../ports/cryptography.ts'
import { invalidToken, missingToken, sentToken } from '../protocol/bearer.ts'
import { signedPayload, verifiedTokenCache } from '../tokens/verified-token-cache.ts'

/** How far the clocks of the issuer and of this process may differ. */
const SKEW_SECONDS = 5
const PROOF_MAX_AGE_SECONDS = 60
const KEPT_TOKENS = 10_000
/**
 * The maximum number of remembered DPoP proofs. Beyond it, requests with a new proof get 503, because their replay
 * would go unnoticed.
 */
const MAX_PROOFS = 200_000

interface TokenCheckOptions {
  issuer: string
  resource: string
  introspects: boolean
}

/**
 * Checks the access token of a request: signature, claims, DPoP proof and, if configured, introspection. Returns a 401
 * for a request without a token.
 * @throws OAuthError if the token is refused; the error of a failed call to the issuer
 */
function resourceTokenCheck(
  { issuer, resource, introspects }: TokenCheckOptions,
  { source, clock }: { source: Issuer; clock: Clock }
): Check<AccessTokenClaims> {
  const audience = audiencesOf(resource)
  const { origin } = new URL(resource)
  const policy: AccessTokenPolicy = {
    issuer,
    audience,
    clockSkewSeconds: SKEW_SECONDS,
    expirySkewSeconds: SKEW_SECONDS
  }
  const readHeader = tokenHeaderReader('at+jwt')
  const cache = verifiedTokenCache(KEPT_TOKENS)
  const readProof = proofReader(PROOF_MAX_AGE_SECONDS)
  const spend = proofMemory(clock)

  async function verified(token: string): Promise<AccessTokenClaims> {
    const seen = cache.get(token)
    if (seen?.claims && clock.now() < (seen.exp + SKEW_SECONDS) * 1000) {
      // Uses the cached claims only while the issuer still publishes the key.
      const current = await source.keysFor({ alg: seen.key.alg, kid: seen.key.kid === '' ? undefined : seen.key.kid })
      if (current.includes(seen.key)) return seen.claims
    }
    const { alg, kid } = readHeader(token)
    const keys = await source.keysFor({ alg, kid })
    const { key, payload } = signedBy(keys, alg, token)
    const claims = checkAccessTokenClaims(payload, policy, clock.now())
    if (claims.client_id === undefined) throw invalidToken('The token lacks a claim.', 'client_id')
    cache.set(token, { key, resource, exp: claims.exp, sid: claims.sid, claims })
    return claims
  }

  async function checkActive(token: string): Promise<void> {
    const said = await source.introspect(token)
    if (said === null) throw invalidToken('The token is not active any more.', 'introspection')
    const { iss = issuer, aud = audience } = said
    const named = Array.isArray(aud) ? aud : [aud]
    if (iss !== issuer || !audience.some((one) => named.includes(one)))
      throw invalidToken('The token is not for this resource.', 'introspection')
  }

  return async (request) => {
    const sent = sentToken(request.headers.authorization)
    if (sent === undefined) return missingToken()
    const claims = await verified(sent.token)
    const proof = proofFor(claims, sent, () =>
      readProof({
        header: request.headers['dpop'],
        method: request.method,
        url: provenUrl(origin, request),
        accessToken: sent.token,
        now: clock.now()
      })
    )
    if (proof !== null) spend(proof)
    if (introspects) await checkActive(sent.token)
    return claims
  }
}

/**
 * Finds the key that signed a token, and returns it with the token's payload. Tries all `keys`, because a token may
 * have no key id.
 * @throws OAuthError `invalid_token`
 */
function signedBy(keys: readonly VerifyingKey[], alg: string, token: string): { key: VerifyingKey; payload: unknown } {
  let refusal: unknown = invalidToken('The token is signed with an unknown key.', 'kid')
  for (const key of keys) {
    try {
      return { key, payload: signedPayload(key, alg, token) }
    } catch (error) {
      refusal = error
    }
  }
  throw refusal
}

/**
 * Remembers DPoP proofs in this process, at least until they expire.
 * @returns a function that records the use of a proof, and throws OAuthError if the proof was used before or too many
 * proofs are remembered
 */
function proofMemory(clock: Clock): (proof: Proof) => void {
  /**
   * The longest time for which a proof can be used, with 2 s to spare: its `iat` may be `PROOF_MAX_AGE_SECONDS` in the
   * future, and the proof is accepted for the same time after its `iat`.
   */
  const periodMs = (2 * PROOF_MAX_AGE_SECONDS + 2) * 1000
  let [young, old] = [new Set<string>(), new Set<string>()]
  let turnedAt = clock.monotonic()
  return ({ replayKey }) => {
    const now = clock.monotonic()
    if (now - turnedAt >= periodMs) {
      old = now - turnedAt >= 2 * periodMs ? new Set() : young
      young = new Set()
      turnedAt = now
    }
    if (young.has(replayKey) || old.has(replayKey)) throw usedProof()
    if (young.size + old.size >= MAX_PROOFS)
      throw new OAuthError('temporarily_unavailable', 'Too many proofs at the moment.', {
        headers: { 'retry-after': '60' },
        withoutStack: true
      })
    young.add(replayKey)
  }
}

export interface ResourceServerOptions {
  /** The issuer of the tokens, byte for byte as in its metadata. */
  issuer: string
  /**
   * This API: an absolute https URL (http on loopback) without query and fragment. A token must have it in `aud`.
   * @see RFC 8707
   */
  resource: string
  /**
   * The scopes of the API: `{ name: description }`, or names. The challenge to a request without a token names all of
   * them.
   */
  scopes?: Readonly<Record<string, unknown>> | readonly string[] | undefined
  /** The name of the API for people, in its metadata. */
  name?: string | undefined
  /** Asks the issuer whether each token is still active. An answer is used for 10 seconds. @see RFC 7662 */
  introspection?: { clientId: string; clientSecret: string } | undefined
  /** The URL of the issuer's keys. Default: the `jwks_uri` of the issuer's metadata. */
  jwksUri?: string | undefined
  /** Accepted algorithms. Default: `ES256`, `EdDSA`, `PS256`, `RS256`. */
  algs?: readonly string[] | undefined
}

declare module 'fastify' {
  interface FastifyInstance extends ResourceGuards {}
  interface FastifyRequest {
    auth: AccessTokenClaims
  }
}

const NAMES = ['issuer', 'resource', 'scopes', 'name', 'introspection', 'jwksUri', 'algs'] as const

/** Makes the plugin with the given clock and HTTP client. Tests give their own. */
export function resourceServerWith(deps: {
  clock: Clock
  outbound: Outbound
}): FastifyPluginAsync<ResourceServerOptions> {
  return async (app, given) => {
    const options = checked(given)
    const { issuer, resource, introspection } = options
    for (const name of ['authenticate', 'requireScope', 'requireAuth'])
      if (app.hasDecorator(name)) throw nameTaken(name)
    if (app.hasRequestDecorator('auth')) throw nameTaken('request.auth')
    if (app.prefix !== '')
      throw badOption(
        'resource',
        `resourceServer was registered below the prefix ${app.prefix}, and its metadata belong to the root; ` +
          'register it in a plugin without a prefix'
      )
    const source = issuerAt(options, { ...deps, engine: jwtEngine })
    const check = resourceTokenCheck(
      { issuer, resource, introspects: introspection !== null },
      { source, clock: deps.clock }
    )
    const guards = resourceGuards(check, options, {
      clock: deps.clock,
      acrValues: null,
      names: { auth: 'auth', requireScope: 'requireScope', requireAuth: 'requireAuth' }
    })
    app.decorateRequest('auth', null as unknown as AccessTokenClaims)
    for (const name of ['authenticate', 'requireScope', 'requireAuth'] as const)
      app.decorate(name, guards[name] as never)
    serveMetadata(app, options)
  }
}

/** Guards for an API that runs in another process than its issuer. */
export const resourceServer = fp(resourceServerWith({ clock: systemClock, outbound: outbound(systemClock) }), {
  name: 'fastify-authority/resource',
  fastify: '5.x'
})

interface CheckedOptions {
  issuer: string
  resource: string
  scopes: readonly string[]
  name: string | null
  introspection: { clientId: string; clientSecret: string } | null
  jwksUri: string | null
  algs: readonly JwsAlg[]
  dpopAlgs: readonly string[]
}

function checked(given: ResourceServerOptions): CheckedOptions {
  // Ignores the options of `app.register` itself.
  const own = Object.keys(given).filter((name) => !['prefix', 'logLevel', 'logSerializers'].includes(name))
  for (const name of own) if (!NAMES.some((one) => one === name)) throw badOption(name, noSuchOption(name, NAMES))
  const { issuer, resource, scopes = [], name, introspection, jwksUri, algs = JWS_ALGS } = given
  const url = 'an absolute https URL (http on loopback) without query and fragment'
  if (typeof issuer !== 'string' || canonicalResource(issuer) === null) throw invalid('issuer', issuer, url)
  if (typeof resource !== 'string' || canonicalResource(resource) === null) throw invalid('resource', resource, url)
  if (
    jwksUri !== undefined &&
    (typeof jwksUri !== 'string' || canonicalResource(jwksUri.split('?', 1)[0] ?? '') === null)
  )
    throw invalid('jwksUri', jwksUri, 'an absolute https URL (http on loopback)')
  if (name !== undefined && (typeof name !== 'string' || name === '')) throw invalid('name', name, 'text')
  const names: readonly unknown[] = Array.isArray(scopes) ? scopes : Object.keys(scopes)
  for (const scope of names) {
    if (typeof scope !== 'string' || !isScopeToken(scope)) throw invalid('scopes', scope, 'names of scopes')
    if (scope === 'offline_access') throw badOption('scopes', 'offline_access is no scope of an API')
  }
  if (!Array.isArray(algs) || algs.length === 0 || !algs.every(isJwsAlg))
    throw invalid('algs', algs, `a list of ${JWS_ALGS.join(', ')}`)
  return {
    issuer,
    resource,
    scopes: names as string[],
    name: name ?? null,
    introspection: introspection === undefined ? null : credentialsOf(introspection),
    jwksUri: jwksUri ?? null,
    algs,
    dpopAlgs: DPOP_ALGS
  }
}

function credentialsOf(given: unknown): { clientId: string; clientSecret: string } {
  const { clientId, clientSecret } = (given ?? {}) as Record<string, unknown>
  if (typeof clientId !== 'string' || clientId === '') throw invalid('introspection.clientId', clientId, 'a client id')
  if (typeof clientSecret !== 'string' || clientSecret === '')
    throw invalid('introspection.clientSecret', clientSecret, 'the secret of the client', true)
  return { clientId, clientSecret }
}

const nameTaken = (name: string): StartError =>
  new StartError(
    'FST_AUTHORITY_NAME_TAKEN',
    `The instance already has ${name}. Register resourceServer in an encapsulated plugin for each resource, and not ` +
      'in the app of the issuer.'
  )
