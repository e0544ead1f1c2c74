import type { OAuthErrorCode } from '../../errors.ts'
import type { PathName } from '../../settings/paths.ts'
import type { Callers, Codes, Declaration } from './callers.ts'
import { grantTypesOn } from '../../oauth/grants/registry.ts'
import type { HttpDeps } from './endpoint.ts'

/** Error codes by status. */
export type OperationErrors = Readonly<Record<number, readonly OAuthErrorCode[]>>

/** The facts of an operation from which its errors and its security follow. */
export interface Operation {
  method: string
  declared: Partial<Declaration>
  /** True if the route is a page. Its errors are pages too. */
  isPage: boolean
}

const OF_REQUESTS: OperationErrors = { 400: ['invalid_client', 'invalid_request'] }

/** Every error of an operation, by status. */
export function errorsOf(operation: Operation): OperationErrors {
  const found = new Map<number, Set<OAuthErrorCode>>()
  for (const part of [operation.declared.errors ?? {}, ofKind(operation), ofCallers(operation.declared.callers)]) {
    for (const [status, codes] of Object.entries(part))
      found.set(Number(status), new Set([...(found.get(Number(status)) ?? []), ...codesOf(codes)]))
  }
  return Object.fromEntries([...found].map(([status, codes]) => [status, [...codes].sort()]))
}

function codesOf(codes: Codes): readonly OAuthErrorCode[] {
  if (typeof codes === 'string') return [codes]
  return Array.isArray(codes) ? (codes as OAuthErrorCode[]) : (Object.keys(codes) as OAuthErrorCode[])
}

function ofKind({ method, declared: { callers, fromAnyPage, takes }, isPage }: Operation): OperationErrors {
  const isSafe = method === 'GET' || method === 'HEAD'
  const hasBody = !isSafe && takes !== 'nothing'
  const ofBody: OperationErrors = hasBody ? { 413: ['invalid_request'], 415: ['invalid_request'] } : {}
  return {
    ...ofBody,
    // The address of a page may contain an invalid authorization request.
    ...(isPage ? OF_REQUESTS : hasBody ? { 400: ['invalid_request'] } : {}),
    ...(callers === 'own_page' || (!isSafe && fromAnyPage !== true) ? { 403: ['access_denied'] } : {}),
    500: ['server_error'],
    503: ['temporarily_unavailable']
  }
}

function ofCallers(callers: Callers | undefined): OperationErrors {
  if (callers === 'account') return { 401: ['invalid_token'], 403: ['access_denied', 'insufficient_scope'] }
  if (callers === 'client') return { 401: ['invalid_client'], 403: ['access_denied'] }
  if (typeof callers !== 'object') return {}
  return 'scope' in callers
    ? { 401: ['invalid_token'], 403: ['insufficient_scope'] }
    : {
        401: ['invalid_token', 'insufficient_user_authentication'],
        403: ['insufficient_scope'],
        429: ['too_many_requests']
      }
}

type SchemeName = 'accessToken' | 'refreshToken' | 'clientSecret' | 'browserSession' | 'oauth2' | 'openId'
type Security = ReadonlyArray<Readonly<Record<string, readonly string[]>>>

/** The credentials of the routes, as documents of OpenAPI 3 and of Swagger 2.0 declare them. */
export interface SecuritySchemes {
  openapi: Readonly<Record<string, object>>
  swagger: Readonly<Record<string, object>>
  /**
   * The security of one operation. `[]`: none. An empty alternative (`{}`): the operation also works without
   * credentials.
   */
  of(operation: { declared: Partial<Declaration>; isPage: boolean }): Security
}

const SCOPES: Readonly<Record<string, string>> = {
  openid: 'Identity of the user.',
  profile: 'The profile.',
  email: 'The email address.',
  offline_access: 'Access while the person is away.'
}

interface SchemesDeps extends Pick<HttpDeps, 'grants' | 'openid' | 'path'> {
  /** The prefix of the host's Fastify instance. */
  hostPrefix: string
  /** The name of the session cookie; `null`: there are no hosted pages. */
  cookieName: string | null
}

/**
 * Describes the credentials of the routes for API documents. All addresses are made from the issuer and the mounted
 * paths.
 */
export function securitySchemes({ grants, openid, path, hostPrefix, cookieName }: SchemesDeps): SecuritySchemes {
  const { origin } = new URL(grants.accounts.issuer)
  const urlOf = (name: PathName): string => `${origin}${hostPrefix}${path(name)}`
  const schemes: Readonly<Partial<Record<SchemeName, object>>> = {
    accessToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'An access token.' },
    refreshToken: { type: 'http', scheme: 'bearer', description: 'A refresh token.' },
    clientSecret: { type: 'http', scheme: 'basic', description: 'The id and the secret of a client, form-encoded.' },
    ...(cookieName === null
      ? {}
      : {
          browserSession: {
            type: 'apiKey',
            in: 'cookie',
            name: cookieName,
            description: 'The browser session of the hosted pages, from a page of the same origin.'
          }
        }),
    oauth2: { type: 'oauth2', description: 'An access token by one of the grants.', flows: flows() },
    ...(openid === null
      ? {}
      : {
          openId: {
            type: 'openIdConnect',
            openIdConnectUrl: urlOf('openidConfiguration'),
            description: 'An access token, as the metadata tells how to get one.'
          }
        })
  }

  function flows(): object {
    const scopes = Object.fromEntries(grants.scopes.map((scope) => [scope, SCOPES[scope] ?? scope]))
    const urls = { tokenUrl: urlOf('token'), refreshUrl: urlOf('token'), scopes }
    const on = grantTypesOn(grants)
    return {
      ...(on.includes('authorization_code')
        ? { authorizationCode: { authorizationUrl: urlOf('authorize'), ...urls } }
        : {}),
      ...(on.includes('password') ? { password: urls } : {}),
      // Always listed, because a client store may get a client with this grant at any time.
      clientCredentials: {
        tokenUrl: urls.tokenUrl,
        scopes: Object.fromEntries(Object.entries(scopes).filter(([scope]) => !(scope in SCOPES)))
      }
    }
  }

  const existing = (...alternatives: Array<[SchemeName, ...string[]]>): Security =>
    alternatives.filter(([name]) => name in schemes).map(([name, ...scopes]) => ({ [name]: scopes }))

  return {
    openapi: schemes,
    // Describes tokens as API keys in a header and omits the browser session, because Swagger 2.0 knows neither bearer
    // tokens nor cookies.
    swagger: {
      accessToken: { type: 'apiKey', in: 'header', name: 'Authorization', description: 'Bearer and an access token.' },
      refreshToken: { type: 'apiKey', in: 'header', name: 'Authorization', description: 'Bearer and a refresh token.' },
      clientSecret: { type: 'basic', description: 'The id and the secret of a client, form-encoded.' }
    },
    of({ declared: { callers, proof }, isPage }) {
      if (proof === 'refresh_token') return existing(['refreshToken'])
      if (proof === 'client_secret') return [...existing(['clientSecret']), {}]
      if (proof === 'browser_session') return existing(['browserSession'])
      if (isPage) return [...existing(['browserSession']), {}]
      if (callers === 'account') return existing(['accessToken'], ['oauth2'], ['browserSession'])
      if (callers === 'client') return existing(['clientSecret'])
      if (typeof callers === 'object' && 'admin' in callers) return existing(['accessToken'])
      return typeof callers === 'object'
        ? existing(['accessToken'], ['oauth2', callers.scope], ['openId', callers.scope])
        : []
    }
  }
}
