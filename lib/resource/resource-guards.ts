/**
 * The guards of an API that is a resource, with their challenges. @see RFC 6750 §3, RFC 9449 §7, RFC 9728 §5
 */
import type { FastifyInstance, FastifyRequest, FastifySchema } from 'fastify'
import { OAuthError } from '../errors.ts'
import { type Check, claimsCheck, type Hook, hookOf, scopeCheck, signInCheck } from '../http/edge/hook.ts'
import type { Clock } from '../ports/clock.ts'
import type { AccessTokenClaims } from '../protocol/access-token.ts'
import { DPOP_ALGS } from '../protocol/dpop.ts'
import { resourceMetadata, resourceMetadataUrl } from '../protocol/resource.ts'
import { type AuthRequirements, scopesOf, stepUpOf } from '../settings/auth-requirements.ts'

export interface ResourceGuards {
  /**
   * An `onRequest` hook: verifies the access token, which must be for this resource, and sets `request.auth`. 401
   * otherwise. Takes tokens that are bound to a key under the scheme `DPoP`, with a proof.
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
   * at least this `acr`. Otherwise 401 `insufficient_user_authentication`.
   * @throws StartError `FST_AUTHORITY_INVALID_OPTIONS` at the call, for a requirement that cannot be met
   * @see RFC 9470 §3
   */
  requireAuth: (required: AuthRequirements) => Hook
}

interface ResourceFacts {
  resource: string
  issuer: string
  name: string | null
  /** The usual scopes of the API, which the first challenge names. */
  scopes: readonly string[]
}

/** The facts about a verified token as the MCP SDK hands them to tools, in `request.raw.auth`. */
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

/** @param acrValues the values that a requirement may name; `null`: any */
export function resourceGuards(
  check: Check<AccessTokenClaims>,
  { resource, scopes }: ResourceFacts,
  { clock, acrValues }: { clock: Clock; acrValues: readonly string[] | null }
): ResourceGuards {
  const url = resourceMetadataUrl(resource).href
  const challenged =
    (inner: Check<AccessTokenClaims>): Check<AccessTokenClaims> =>
    async (request) => {
      const found = await Promise.resolve(inner(request)).catch((error: unknown) => {
        if (error instanceof OAuthError) return error
        throw error
      })
      return found instanceof OAuthError ? withChallenge(found, request, { url, scopes }) : found
    }
  const claims = (hook: string): ReturnType<typeof claimsCheck> => claimsCheck('auth', hook)
  return {
    authenticate: hookOf(
      challenged(async (request) => {
        const found = await check(request)
        if (!(found instanceof OAuthError)) tellMcp(request, found, resource)
        return found
      }),
      'auth'
    ),
    requireScope(...given) {
      return hookOf(challenged(scopeCheck(claims('requireScope'), scopesOf(given, 'requireScope'))), 'auth')
    },
    requireAuth(required) {
      const values = acrValues ?? (required.acr === undefined ? [] : [required.acr])
      const stepUp = stepUpOf(required, 'requireAuth', values)
      return hookOf(challenged(signInCheck(claims('requireAuth'), stepUp, values, clock, isOfUser)), 'auth')
    }
  }
}

/** The own token of a client has the client as its subject. @see RFC 9068 §2.2 */
const isOfUser = ({ sub, client_id }: AccessTokenClaims): boolean => sub !== client_id

/**
 * Serves the metadata of the resource at these paths, while `isOn`.
 * @see RFC 9728 §3
 */
export function metadataRoutes(
  app: FastifyInstance,
  facts: ResourceFacts,
  paths: readonly string[],
  isOn: () => boolean = () => true
): void {
  const document = JSON.stringify(resourceMetadata({ ...facts, dpopAlgs: DPOP_ALGS }))
  for (const path of paths) {
    app.get(path, NOT_IN_DOCS, async (_request, reply) => {
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
    app.options(path, NOT_IN_DOCS, async (_request, reply) =>
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
}

/** Adds the place of the metadata and the scheme `DPoP` to the challenge of a refusal. */
function withChallenge(
  refusal: OAuthError,
  request: FastifyRequest,
  { url, scopes }: { url: string; scopes: readonly string[] }
): OAuthError {
  const { error, message, headers, statusCode, detail, cause, code, members } = refusal
  const ofProof = error === 'invalid_dpop_proof'
  const given =
    headers['www-authenticate'] ?? (ofProof ? `Bearer error="${error}", error_description="${message}"` : '')
  if (given === '') return refusal
  const [, params = ''] = /^Bearer ?(.*)$/s.exec(given) ?? []
  const isMissing = params === ''
  const metadata = `resource_metadata="${url}"`
  const asked = isMissing && scopes.length > 0 ? `, scope="${scopes.join(' ')}"` : ''
  const algs = `algs="${DPOP_ALGS.join(' ')}"`
  const challenge =
    ofProof || (!isMissing && /^dpop /i.test(request.headers.authorization ?? ''))
      ? `Bearer ${metadata}, DPoP ${params}, ${algs}`
      : `Bearer ${params}${isMissing ? '' : ', '}${metadata}${asked}, DPoP ${algs}`
  return new OAuthError(error, message, {
    statusCode: ofProof ? 401 : statusCode,
    headers: { ...headers, 'www-authenticate': challenge },
    code,
    members,
    withoutStack: true,
    ...(detail === undefined ? {} : { detail }),
    ...(cause === undefined ? {} : { cause })
  })
}

function tellMcp(request: FastifyRequest, claims: AccessTokenClaims, resource: string): void {
  const auth: McpAuth = {
    token: (request.headers.authorization ?? '').replace(AUTHORIZATION, ''),
    clientId: claims.client_id ?? '',
    scopes: claims.scope?.split(' ') ?? [],
    expiresAt: claims.exp,
    resource: new URL(resource),
    extra: { sub: claims.sub }
  }
  Object.assign(request.raw, { auth })
}
