import { Type } from '@sinclair/typebox'
import { grantTypesOn } from '../../oauth/grants/registry.ts'
import { serverMetadata } from '../../protocol/metadata.ts'
import type { PathName } from '../../settings/paths.ts'
import { endpoint, type Endpoint } from '../edge/endpoint.ts'

/**
 * Cache lifetime of these documents. A planned rotation publishes the next key a day before it signs, so that no cache
 * lacks it.
 */
const METADATA_CACHE_SECONDS = 300

/** The public keys. @see RFC 7517 §5 */
const jwks = endpoint({
  method: 'GET',
  path: 'jwks',
  callers: 'anyone',
  isProtocol: true,
  cors: 'anyOrigin',
  isCached: true,
  summary: 'Public signing keys',
  what:
    'The public signing keys (RFC 7517), for services that verify access tokens by themselves, and for clients that ' +
    'check ID tokens. May be cached for five minutes. Any origin may read it. Does not exist where `keys` is a ' +
    'shared secret.',
  answers: {
    200: Type.Object({
      keys: Type.Array(
        Type.Object(
          { kty: Type.String(), kid: Type.String(), alg: Type.String(), use: Type.Literal('sig') },
          { additionalProperties: true }
        )
      )
    })
  },
  handle: async (_request, reply, { ring }) => {
    // Waits until each algorithm has a key, because the answer may be cached. If the first algorithm fails, the request
    // fails, because its key signs the access tokens. If any other algorithm fails, the remaining keys are sent with
    // `no-store`.
    const [first = '', ...others] = ring.algs()
    const settled = await Promise.allSettled(
      others.map(async (alg) => {
        await ring.ready(alg)
      })
    )
    await ring.ready(first)
    reply.header(
      'cache-control',
      settled.every(({ status }) => status === 'fulfilled') ? `public, max-age=${METADATA_CACHE_SECONDS}` : 'no-store'
    )
    return { keys: ring.publicJwks() }
  }
})

/**
 * The common part of both metadata documents. All URLs are made from the issuer and the mounted paths, never from the
 * request, so that nobody can forge them.
 */
const shared = {
  method: 'GET',
  callers: 'anyone',
  isProtocol: true,
  cors: 'anyOrigin',
  isCached: true,
  // RFC 8414 §2, OpenID Connect Discovery 1.0 §3.
  answers: {
    200: Type.Object({ issuer: Type.String(), token_endpoint: Type.String() }, { additionalProperties: true })
  },
  handle: async ({ server }, reply, { acrValues, grants, metadata: added, openid, path, wellKnown }) => {
    const { issuer } = grants.accounts
    const urlOf = (name: PathName): string => `${new URL(issuer).origin}${server.prefix}${path(name)}`
    reply.header('cache-control', `public, max-age=${METADATA_CACHE_SECONDS}`)
    const offered = serverMetadata({
      issuer,
      endpoints: {
        token: urlOf('token'),
        revoke: urlOf('revoke'),
        introspect: urlOf('introspect'),
        jwks: wellKnown.jwks === null ? null : urlOf('jwks')
      },
      grantTypes: grantTypesOn(grants),
      scopes: grants.scopes,
      acrValues,
      dpopAlgs: grants.possession?.algs ?? [],
      openid:
        openid === null
          ? null
          : {
              endpoints: {
                authorize: urlOf('authorize'),
                userinfo: urlOf('userinfo'),
                logout: urlOf('logout'),
                par: openid.pushed === null ? null : urlOf('par')
              },
              mustPush: openid.pushed?.isRequired === true,
              idTokenAlgs: openid.algs(),
              uiLocales: openid.uiLocales,
              canSignUp: openid.canSignUp
            }
    })
    return { ...offered, ...added }
  }
} as const satisfies Partial<Endpoint>

/** @see RFC 8414 §3 */
const metadata = endpoint({
  ...shared,
  path: 'metadata',
  summary: 'Authorization server metadata',
  what:
    'The metadata of this authorization server (RFC 8414): just what this configuration offers, with the members of ' +
    'OpenID Connect Discovery where redirect sign-in is there. May be cached for five minutes. Any origin may read ' +
    'it. For an issuer with a path, that path follows: `https://example.com/one` has it at ' +
    "`/.well-known/oauth-authorization-server/one`. The URLs in it are the issuer's origin and the paths as they are " +
    'mounted in this app, never anything of the request. So a proxy in front must not change paths, and where the ' +
    'plugin is registered under a prefix, this document is under it too: let the proxy, or a route of the host, ' +
    'serve it from the root as well.'
})

/**
 * The same metadata at the address that OpenID clients use. Off if clients can't send users here to sign in.
 * @see OpenID Connect Discovery 1.0 §4
 */
const openidConfiguration = endpoint({
  ...shared,
  path: 'openidConfiguration',
  summary: 'OpenID provider metadata',
  what:
    'The same document as the metadata above, where OpenID clients look for it (OpenID Connect Discovery 1.0). For ' +
    'an issuer with a path it is below that: `https://example.com/one` has it at ' +
    '`/one/.well-known/openid-configuration`.',
  isOn: ({ openid }) => openid !== null
})

/** The public documents that clients and APIs read first: the signing keys and the server metadata. */
export const publicDocuments = [jwks, metadata, openidConfiguration]
