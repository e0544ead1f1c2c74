/**
 * The guards of an API that is a resource, with their challenges. @see RFC 6750 §3, RFC 9449 §7, RFC 9728 §5
 */
import type { FastifyInstance, FastifyRequest, FastifySchema } from 'fastify'
import { OAuthError } from '../errors.ts'
import { type Check, claimsCheck, type Hook, hookOf, scopeCheck, signInCheck } from '../http/edge/hook.ts'
import { challenged, type Challenging, withChallenge } from '../http/edge/possession.ts'
import type { Clock } from '../ports/clock.ts'
import type { AccessTokenClaims } from '../protocol/access-token.ts'
import { insufficientScope } from '../protocol/bearer.ts'
import { resourceMetadata, resourceMetadataUrl } from '../protocol/resource.ts'
import { type AuthRequirements, scopesOf, stepUpOf } from '../settings/auth-requirements.ts'

export interface ResourceGuards {
  /**
   * An `onRequest` hook: verifies the access token, which must be for this resource, and sets `request.auth`. Otherwise
   * 401. A token that is bound to a key needs the scheme `DPoP` and a proof.
   * @see RFC 6750, RFC 9449 §7
   */
  authenticate: Hook
  /**
   * Makes a hook to follow `authenticate`: 403 unless all these scopes were granted.
   * @throws StartError `FST_AUTHORITY_INVALID_OPTIONS` at the call, for an invalid scope name
   */
  requireScope: (...scopes: string[]) => Hook
  /**
   * Makes a hook to follow `authenticate`: the token's user must have signed in at most `maxAge` seconds ago and with
   * at least this `acr`. Otherwise 401 `insufficient_user_authentication`. 403 `access_denied` for an API key or a
   * client's own token, because a sign-in would not help.
   * @throws StartError `FST_AUTHORITY_INVALID_OPTIONS` at the call, for a requirement that is invalid or cannot be met
   * @see RFC 9470 §3
   */
  requireAuth: (required: AuthRequirements) => Hook
}

interface ResourceFacts {
  resource: string
  issuer: string
  name: string | null
  /** The scopes that the challenge to a request without a token names. */
  scopes: readonly string[]
  /** The accepted algorithms of DPoP proofs. Empty: DPoP is off. @see RFC 9449 */
  dpopAlgs: readonly string[]
}

interface GuardDeps {
  clock: Clock
  /** The values that a requirement may name. `null`: any. */
  acrValues: readonly string[] | null
  /** The names of the decorators. */
  names: { auth: string; requireScope: string; requireAuth: string }
}

declare module 'http' {
  interface IncomingMessage {
    /** The facts about the verified token that the MCP SDK passes to tools. Set by the guard of a resource. */
    auth?: McpAuth
  }
}

/** The facts about a verified token that the MCP SDK passes to tools. The guard sets them as `request.raw.auth`. */
export interface McpAuth {
  token: string
  clientId: string
  scopes: string[]
  /** Seconds since the epoch. */
  expiresAt: number
  resource: URL
  extra: { sub: string }
}

/** Keeps a route out of the document of @fastify/swagger. */
const NOT_IN_DOCS: { schema: FastifySchema & { hide: boolean } } = { schema: { hide: true } }

const AUTHORIZATION = /^(?:bearer|dpop) +/i

export function resourceGuards(
  check: Check<AccessTokenClaims>,
  facts: ResourceFacts,
  { clock, acrValues, names: { auth, requireScope, requireAuth } }: GuardDeps
): ResourceGuards & {
  /**
   * Makes the error for a handler to throw if the token lacks scopes of an operation: 403, with a challenge that names
   * all scopes of the operation.
   */
  insufficientScope: (scopes: readonly string[]) => OAuthError
} {
  const how: Challenging = {
    dpopAlgs: facts.dpopAlgs,
    metadata: `resource_metadata="${resourceMetadataUrl(facts.resource).href}"`,
    scopes: facts.scopes
  }
  const told = (request: FastifyRequest, found: AccessTokenClaims | OAuthError): AccessTokenClaims | OAuthError => {
    if (!(found instanceof OAuthError)) tellMcp(request, found, facts.resource)
    return found
  }
  return {
    authenticate: hookOf(
      challenged((request, reply) => {
        const found = check(request, reply)
        return found instanceof Promise ? found.then((later) => told(request, later)) : told(request, found)
      }, how),
      auth
    ),
    requireScope(...given) {
      return hookOf(challenged(scopeCheck(claimsCheck(auth, requireScope), scopesOf(given, requireScope)), how), auth)
    },
    requireAuth(required) {
      const values = acrValues ?? (required.acr === undefined ? [] : [required.acr])
      const stepUp = stepUpOf(required, requireAuth, values)
      return hookOf(challenged(signInCheck(claimsCheck(auth, requireAuth), stepUp, values, clock, isOfUser), how), auth)
    },
    insufficientScope: (scopes) =>
      withChallenge(insufficientScope(scopesOf(scopes, 'insufficientScope')), undefined, how)
  }
}

/**
 * True for the token of a user. False for a client's own token, which has the client as its subject. False also for an
 * API key, because a sign-in would not change the key. @see RFC 9068 §2.2
 */
const isOfUser = ({ sub, client_id, api_key }: AccessTokenClaims): boolean => sub !== client_id && api_key === undefined

/** The resources of each server. The root path serves metadata only while the server has one resource. */
const resourcesOf = new WeakMap<object, Set<string>>()

/**
 * Serves the metadata of the resource at its well-known path, and at the root path while there is no other resource. If
 * a resource of another host already has the path, serves the new one only for its own host.
 * @see RFC 9728 §3
 */
export function serveMetadata(app: FastifyInstance, facts: ResourceFacts): void {
  const all = resourcesOf.get(app.server) ?? new Set<string>()
  resourcesOf.set(app.server, all)
  if (all.has(facts.resource)) return
  const { pathname, host } = resourceMetadataUrl(facts.resource)
  all.add(facts.resource)
  const isTaken = (url: string): boolean => app.hasRoute({ method: 'GET', url })
  metadataRoute(app, facts, pathname, isTaken(pathname) ? { host } : {})
  const root = '/.well-known/oauth-protected-resource'
  if (pathname !== root && !isTaken(root)) metadataRoute(app, facts, root, {}, () => all.size === 1)
}

function metadataRoute(
  app: FastifyInstance,
  facts: ResourceFacts,
  path: string,
  constraints: { host?: string },
  isOn: () => boolean = () => true
): void {
  const document = JSON.stringify(resourceMetadata(facts))
  app.get(path, { ...NOT_IN_DOCS, constraints }, async (_request, reply) => {
    if (!isOn()) {
      reply.callNotFound()
      return reply
    }
    reply
      .headers({ 'access-control-allow-origin': '*', 'cache-control': 'public, max-age=300' })
      .type('application/json; charset=utf-8')
      .serializer((text: string) => text)
    return document
  })
  app.options(path, { ...NOT_IN_DOCS, constraints }, async (_request, reply) =>
    reply
      .code(204)
      .headers({
        'access-control-allow-origin': '*',
        'access-control-allow-methods': 'GET, HEAD',
        'access-control-allow-headers': '*',
        'access-control-max-age': '600'
      })
      .send()
  )
}

/** Caches the facts by the claims object, which stays the same while the token is cached. */
const toldOf = new WeakMap<AccessTokenClaims, McpAuth>()

function tellMcp({ raw, headers }: FastifyRequest, claims: AccessTokenClaims, resource: string): void {
  let auth = toldOf.get(claims)
  if (auth === undefined)
    toldOf.set(claims, (auth = mcpAuth(headers.authorization ?? String(headers['x-api-key']), claims, resource)))
  raw.auth = auth
}

function mcpAuth(authorization: string, claims: AccessTokenClaims, resource: string): McpAuth {
  return {
    token: authorization.replace(AUTHORIZATION, ''),
    clientId: claims.client_id ?? '',
    scopes: claims.scope?.split(' ') ?? [],
    expiresAt: claims.exp,
    resource: new URL(resource),
    extra: { sub: claims.sub }
  }
}
