import type { FastifyInstance } from 'fastify'
import { type AuthorizationServerMetadata, authorizationServerMetadata } from '../protocol/metadata.ts'
import { findGrant } from '../grants/registry.ts'
import type { GrantDeps } from '../grants/deps.ts'
import type { GrantType } from '../ports/client-store.ts'
import type { HttpDeps } from './deps.ts'
import { describeRoute } from './schemas.ts'

const MAX_AGE_SECONDS = 300
const GRANT_TYPES: readonly GrantType[] = ['password', 'authorization_code', 'refresh_token', 'client_credentials']

/**
 * The authorization server's metadata. All of its URLs come from the issuer and the mounted paths, none from a request: a forged
 * Host or forwarding header must not lead anybody elsewhere.
 * @see RFC 8414 §3
 */
export function metadataRoute (child: FastifyInstance, { grants, path }: HttpDeps, { constraints, hasKeySet }: { constraints: { host?: string }, hasKeySet: boolean }): void {
  const { issuer } = grants.accounts
  const urlOf = (mounted: string): string => `${new URL(issuer).origin}${child.prefix}${mounted}`
  const document: AuthorizationServerMetadata = authorizationServerMetadata({
    issuer,
    endpoints: { token: urlOf(path('token')), revoke: urlOf(path('revoke')), introspect: null, jwks: hasKeySet ? urlOf(path('jwks')) : null },
    grantTypes: GRANT_TYPES.filter((type) => isOn(type, grants)),
    scopes: grants.scopes
  })
  child.get(path('metadata'), {
    constraints,
    schema: describeRoute({ summary: 'Authorization server metadata' })
  }, async (_request, reply) => {
    reply.header('cache-control', `public, max-age=${MAX_AGE_SECONDS}`)
    reply.header('access-control-allow-origin', '*')
    return document
  })
}

/** The token endpoint itself is asked, so that the document can't say anything else. */
function isOn (type: GrantType, grants: GrantDeps): boolean {
  try {
    findGrant(type, grants)
    return true
  } catch {
    return false
  }
}
