/** Asks the issuer of a resource server over HTTPS: for its metadata, for its keys, and whether a token is active. */
import { hash } from 'node:crypto'
import { askProvider, type ProviderAnswer, type ProviderRequest, kept } from '../adapters/upstream/ask-provider.ts'
import { UpstreamError } from '../errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { JwtEngine, VerifyingKey } from '../ports/cryptography.ts'
import type { Outbound } from '../ports/outbound.ts'
import { type Distance, mayCall, THIS_MACHINE } from '../protocol/distance.ts'
import { isObject } from '../protocol/json.ts'
import { algsOf, type JwsAlg, publicKeyOf } from '../protocol/jws.ts'

/** The maximum age of metadata and keys. Older ones are used until a fetch in the background has replaced them. */
const MAX_AGE_MS = 600_000
/** The minimum time between two fetches of the keys because of a token with an unknown key. */
const UNKNOWN_KEY_PAUSE_MS = 30_000
const MAX_KEYS = 20
/** The maximum age of an answer of the introspection endpoint. */
const INTROSPECTION_AGE_MS = 10_000
const MAX_INTROSPECTIONS = 10_000

interface IssuerOptions {
  issuer: string
  /** `null`: the `jwks_uri` of the issuer's metadata. */
  jwksUri: string | null
  algs: readonly JwsAlg[]
  introspection: { clientId: string; clientSecret: string } | null
}

interface IssuerDeps {
  outbound: Outbound
  clock: Clock
  engine: Pick<JwtEngine, 'loadPublic'>
}

export interface Issuer {
  /**
   * The keys with this id and algorithm. Without an id, all keys for the algorithm. Empty if the issuer has no such
   * key.
   * @throws UpstreamError `outage` before the first keys are known
   */
  keysFor(header: { alg: string; kid: string | undefined }): Promise<readonly VerifyingKey[]>
  /**
   * The answer of the introspection endpoint. `null` for a token that is not active.
   * @throws UpstreamError `outage`
   */
  introspect(token: string): Promise<Readonly<Record<string, unknown>> | null>
}

interface Metadata {
  found: Readonly<Record<string, unknown>>
  /** The network distance of the server that named the endpoints (see `protocol/distance`). */
  namedFrom: Distance
}

type Active = Readonly<Record<string, unknown>> | null

export function issuerAt(
  { issuer, jwksUri, algs, introspection }: IssuerOptions,
  { outbound, clock, engine }: IssuerDeps
): Issuer {
  const ask = async (request: Omit<ProviderRequest, 'reason'>, noNearerThan: Distance): Promise<ProviderAnswer> =>
    await askProvider({ ...request, reason: 'outage' }, { outbound, noNearerThan })

  const metadata = kept(
    async (): Promise<Metadata> => {
      let problem: unknown
      for (const url of metadataUrls(issuer)) {
        try {
          const { status, json, distance } = await ask(
            { url, method: 'GET', of: "the issuer's metadata" },
            THIS_MACHINE
          )
          if (status === 200 && isObject(json) && json['issuer'] === issuer) return { found: json, namedFrom: distance }
          problem ??= new UpstreamError('outage', `The metadata of the issuer are not those of ${issuer}.`)
        } catch (error) {
          problem ??= error
        }
      }
      throw problem
    },
    MAX_AGE_MS,
    clock
  )

  /**
   * The URL of an endpoint in the metadata. Its host must not be nearer in the network than the issuer, so that
   * metadata from the internet cannot name an internal address.
   * @throws UpstreamError `outage`
   */
  async function endpoint(name: string): Promise<{ url: string; namedFrom: Distance }> {
    const { found, namedFrom } = await metadata.get()
    const url = found[name]
    if (typeof url !== 'string' || !mayCall(url, namedFrom))
      throw new UpstreamError('outage', `The metadata of the issuer have no ${name} that may be called.`)
    return { url, namedFrom }
  }

  const keys = kept(
    async () => {
      const { url, namedFrom } =
        jwksUri === null ? await endpoint('jwks_uri') : { url: jwksUri, namedFrom: THIS_MACHINE as Distance }
      const { status, json } = await ask({ url, method: 'GET', of: "the issuer's key set" }, namedFrom)
      const listed = isObject(json) ? json['keys'] : undefined
      if (status !== 200 || !Array.isArray(listed))
        throw new UpstreamError('outage', `The issuer's key set is none with status 200 (it is ${status}).`)
      const usable = listed.slice(0, MAX_KEYS).flatMap((jwk: unknown) => usableKeys(jwk, algs))
      return await Promise.all(usable.map(async (jwk) => await engine.loadPublic(jwk)))
    },
    MAX_AGE_MS,
    clock,
    UNKNOWN_KEY_PAUSE_MS
  )

  const answers = new Map<string, { until: number; answer: Promise<Active> }>()

  async function asked(token: string): Promise<Active> {
    if (introspection === null) throw new Error('no introspection')
    const { url, namedFrom } = await endpoint('introspection_endpoint')
    const { clientId, clientSecret } = introspection
    const { status, json } = await ask(
      {
        url,
        method: 'POST',
        of: 'the introspection endpoint',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          accept: 'application/json',
          authorization: basicCredentials(clientId, clientSecret)
        },
        body: new URLSearchParams({ token, token_type_hint: 'access_token' }).toString()
      },
      namedFrom
    )
    if (status !== 200 || !isObject(json) || typeof json['active'] !== 'boolean')
      throw new UpstreamError(
        'outage',
        `The introspection endpoint answered ${status} and not whether a token is active.`
      )
    return json['active'] ? Object.freeze(json) : null
  }

  return {
    async keysFor({ alg, kid }) {
      const fitting = (all: readonly VerifyingKey[]): VerifyingKey[] =>
        all.filter((key) => key.alg === alg && (kid === undefined || key.kid === kid))
      const found = fitting(await keys.get())
      return found.length > 0 ? found : fitting((await keys.renewed()) ?? [])
    },

    async introspect(token) {
      const key = hash('sha256', token, 'base64url')
      const now = clock.monotonic()
      const known = answers.get(key)
      if (known !== undefined && now < known.until) return await known.answer
      answers.delete(key)
      for (const oldest of answers.keys()) {
        if (answers.size < MAX_INTROSPECTIONS) break
        answers.delete(oldest)
      }
      const answer = asked(token)
      // Parallel calls for the same token share one request. A failure is not cached.
      answers.set(key, { until: now + INTROSPECTION_AGE_MS, answer })
      answer.catch(() => answers.delete(key))
      return await answer
    }
  }
}

/**
 * The URLs of an issuer's metadata: first by RFC 8414, then by OpenID Connect Discovery. @see RFC 8414 §3.1, OpenID
 * Connect Discovery 1.0 §4.1
 */
function metadataUrls(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname === '/' ? '' : pathname.replace(/\/$/, '')
  return [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`
  ]
}

/**
 * Copies a JWK once for each accepted algorithm that it works with. Returns `[]` for a JWK that `publicKeyOf` rejects,
 * such as a private or a weak key.
 */
function usableKeys(jwk: unknown, algs: readonly JwsAlg[]): Array<Record<string, unknown>> {
  if (!isObject(jwk)) return []
  return algsOf(jwk)
    .filter((alg) => algs.includes(alg) && publicKeyOf(jwk, alg) !== null)
    .map((alg) => ({ ...jwk, alg, kid: typeof jwk['kid'] === 'string' ? jwk['kid'] : '' }))
}

/** @see RFC 6749 §2.3.1 */
function basicCredentials(clientId: string, clientSecret: string): string {
  return `Basic ${Buffer.from(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`).toString('base64')}`
}

function formEncoded(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1)
}
