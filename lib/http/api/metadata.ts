import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { serverMetadata, type ServerMetadata } from '../../protocol/metadata.ts'
import { grantTypesOn } from '../../oauth/grants/registry.ts'
import { callableBy } from '../edge/callers.ts'
import type { HttpDeps } from '../edge/deps.ts'
import { describeRoute, Metadata } from '../edge/schemas.ts'

interface MetadataPlacement {
  constraints: { host?: string }
  openidConstraints: { host?: string }
  hasKeySet: boolean
}

const MAX_AGE_SECONDS = 300

/**
 * The metadata: for OAuth clients, and where OpenID is on, at the place where OpenID clients look. All of its URLs come
 * from the issuer and the mounted paths, none from a request: a forged Host or forwarding header must not lead anybody
 * elsewhere.
 * @see RFC 8414 §3, OpenID Connect Discovery 1.0 §4
 */
export function metadataRoute(
  child: FastifyInstance,
  { acrValues, grants, openid, path }: HttpDeps,
  { constraints, openidConstraints, hasKeySet }: MetadataPlacement
): void {
  const { issuer } = grants.accounts
  const urlOf = (mounted: string): string => `${new URL(issuer).origin}${child.prefix}${mounted}`
  const document: ServerMetadata = serverMetadata({
    issuer,
    endpoints: {
      token: urlOf(path('token')),
      revoke: urlOf(path('revoke')),
      introspect: urlOf(path('introspect')),
      jwks: hasKeySet ? urlOf(path('jwks')) : null
    },
    grantTypes: grantTypesOn(grants),
    scopes: grants.scopes,
    acrValues,
    openid:
      openid === null
        ? null
        : {
            endpoints: {
              authorize: urlOf(path('authorize')),
              userinfo: urlOf(path('userinfo')),
              logout: urlOf(path('logout'))
            },
            idTokenAlgs: openid.algs(),
            uiLocales: openid.uiLocales,
            canSignUp: openid.canSignUp
          }
  })
  const handler = async (_request: FastifyRequest, reply: FastifyReply): Promise<ServerMetadata> => {
    reply.header('cache-control', `public, max-age=${MAX_AGE_SECONDS}`)
    return document
  }
  const response = { 200: Metadata }
  child.get(
    path('metadata'),
    {
      ...callableBy('anyone'),
      constraints,
      schema: describeRoute({ summary: 'Authorization server metadata', response })
    },
    handler
  )
  if (openid !== null)
    child.get(
      path('openidConfiguration'),
      {
        ...callableBy('anyone'),
        constraints: openidConstraints,
        schema: describeRoute({ summary: 'OpenID provider metadata', response })
      },
      handler
    )
}
