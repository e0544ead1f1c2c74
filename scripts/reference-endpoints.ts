import type { TSchema } from '@sinclair/typebox'
import Fastify, { type FastifySchema, type RouteOptions } from 'fastify'
import { authPlugin, memoryUserStore } from '../lib/index.ts'

export interface Endpoint {
  method: string
  url: string
  schema: FastifySchema & { consumes?: string[], security?: unknown[] }
  /** The name in the option `paths`. */
  pathName: string
}

const NAMES = ['token', 'refresh', 'revoke', 'register', 'password', 'passwordReset', 'passwordResetConfirm', 'emailVerify', 'sessions', 'jwks', 'metadata'] as const

/** The routes that the plugin registers where the host offers everything, in their order. */
export async function endpoints (): Promise<Endpoint[]> {
  // Moved one and all by the option `paths`, the same routes in the same order tell their names.
  const [plain, moved] = [await registered({}), await registered(Object.fromEntries(NAMES.map((name) => [name, `/${name}`])))]
  return plain.map((route, index) => ({
    method: String(route.method),
    url: route.url,
    schema: (route.schema ?? {}) as Endpoint['schema'],
    pathName: moved[index]?.url.split('/')[1] ?? ''
  }))
}

async function registered (paths: Record<string, string>): Promise<RouteOptions[]> {
  const routes: RouteOptions[] = []
  const app = Fastify({ exposeHeadRoutes: false, logger: false })
  app.addHook('onRoute', (route) => { routes.push(route) })
  try {
    await app.register(authPlugin, { issuer: 'http://localhost:3000', users: memoryUserStore(), sendMessage: () => {}, paths })
    await app.ready()
  } finally {
    await app.close()
  }
  return routes
}

interface Prose {
  what: string
  failures: string
}

/** What the schemas don't say, by method and default path. A route without an entry, and an entry without a route, fail the test. */
export const PROSE: Readonly<Record<string, Prose>> = {
  'POST /auth/token': {
    what: 'With `grant_type=password`: tokens for a username and password. `scope` narrows what is granted; without it all that may be granted is. The answer has a refresh token and starts a session.\n\nWith `grant_type=refresh_token`: new tokens for the `refresh_token` of this client, or of callers without a client where `passwordGrant` is `first-party`. `scope` narrows the access token; the session keeps its scope. The answer has the next refresh token, and the old one works on for `reuseGraceSeconds` only, with the same successor: after that it is a replay, which ends the session. With `refreshToken.rotate: \'never\'` the answer has no refresh token and the old one works on.\n\nWith `grant_type=client_credentials`: an access token of the client itself, for clients that have a secret and list the grant. `scope` narrows what the client may be granted, without `openid`, `profile`, `email` and `offline_access`, which speak of a user. There is no refresh token and no session: `sub` and `client_id` of the token are both the client\'s id, and it has no `sid`, by which a route that is for people can tell.\n\nParameters that are unknown are ignored, repeated ones refused. Clients authenticate by `client_secret_basic`, `client_secret_post` or, where they have no secret, by `client_id` alone.',
    failures: '400 `invalid_request`, `invalid_grant` (an unknown name, a wrong password and a disabled account look and time alike; or a refresh token is unknown, expired, revoked, replayed or another client\'s), `invalid_scope`, `unsupported_grant_type`, `unauthorized_client`; 401 `invalid_client`; 413, 415 `invalid_request`; 429 `too_many_requests` (rules `login` and `account` with a password, `refresh` else); 503 `temporarily_unavailable`'
  },
  'POST /auth/refresh': {
    what: 'A new access token. The refresh token is the Bearer token of the `Authorization` header; there is no body. With `refreshToken.rotate: \'always\'` the answer has the next refresh token, and the old one works on for `reuseGraceSeconds` only: after that it is a replay, which ends the session. Tokens of confidential third-party clients are refused: they use `POST /auth/token`.',
    failures: '401 `invalid_token` with `WWW-Authenticate`; 429 `too_many_requests` (rule `refresh`); 503 `temporarily_unavailable`'
  },
  'POST /auth/revoke': {
    what: 'Ends a session by one of its tokens (RFC 7009). By a refresh token, a replaced one too, or by an access token: all refresh and access tokens of the session end with it, the access tokens at once in this process and at the endpoints that look at the store, elsewhere when they expire. Clients authenticate as at the token endpoint and may revoke their own tokens only; a caller without a client may revoke those that were issued without one. A token that is unknown, expired or revoked gets the same answer, `{}`.',
    failures: '400 `invalid_request` (also for an access token that belongs to no session, which ends when it expires), `unauthorized_client` (another client\'s token, which stays alive); 401 `invalid_client`; 413, 415 `invalid_request`; 429 `too_many_requests` (rule `refresh`; unknown tokens count as failed); 503 `temporarily_unavailable`: the token may be alive, try again'
  },
  'POST /auth/register': {
    what: 'Creates an account and signs nobody in. A username is an e-mail address or 3 to 64 of `a-z 0-9 . _ -`; it is compared in lower case. Exists where the user store has `create` and `registration` is not `false`. The fields of `registration.fields` are taken beside username and password, all others refused. With `registration.verifyEmail` the answer is 202 whether the name was free or not.',
    failures: '400 `invalid_request` naming the field, `invalid_password` with the reason; 409 `username_taken`; 429 `too_many_requests` (rule `register`); 503 `temporarily_unavailable`'
  },
  'POST /auth/password': {
    what: 'Changes the password of the user who is signed in and ends all their other sessions. Exists where the user store has `setPasswordHash`.',
    failures: '400 `invalid_grant` (the current password is wrong), `invalid_password`, `invalid_request`; 401 `invalid_token`; 429 `too_many_requests` (rules `login` and `account`); 503 `temporarily_unavailable`'
  },
  'POST /auth/password-reset': {
    what: 'Sends a message with a token to the stored e-mail address of the account, or to its username where that is an address. The answer is the same, and comes as fast, whether there is such an account or not. The token is good for 30 minutes, works once, and ends the one before. Exists where the user store has `setPasswordHash` and `sendMessage` is set.',
    failures: '400 `invalid_request`; 429 `too_many_requests` (rule `passwordReset`); 503 `temporarily_unavailable`'
  },
  'POST /auth/password-reset/confirm': {
    what: 'Sets a new password by the token of a message. Ends all sessions of the user and signs nobody in. Exists together with the endpoint before.',
    failures: '400 `invalid_token`, `invalid_password`, `invalid_request`; 429 `too_many_requests` (rule `refresh`); 503 `temporarily_unavailable`'
  },
  'POST /auth/email/verify': {
    what: 'Marks the e-mail address as the user\'s own by the token of a message, which is good for 24 hours. Exists where the user store has `setEmailVerified` and `sendMessage` is set. There is deliberately no GET: mail scanners follow links.',
    failures: '400 `invalid_token`, `invalid_request`; 429 `too_many_requests` (rule `refresh`); 503 `temporarily_unavailable`'
  },
  'GET /auth/sessions': {
    what: 'The sessions of the user who is signed in, newest first: one a sign-in. `current` is the one that this request belongs to.',
    failures: '401 `invalid_token`; 503 `temporarily_unavailable`'
  },
  'DELETE /auth/sessions/:id': {
    what: 'Ends one of the user\'s own sessions: its refresh token at once, its access tokens at once in this process and at the endpoints that look at the store, elsewhere when they expire. Of the current session, this is the sign-out.',
    failures: '401 `invalid_token`; 404 `not_found`; 503 `temporarily_unavailable`'
  },
  'GET /.well-known/jwks.json': {
    what: 'The public signing keys (RFC 7517), for services that verify access tokens by themselves. May be cached for five minutes. Any origin may read it. Does not exist where `keys` is a shared secret.',
    failures: '503 `temporarily_unavailable`'
  },
  'GET /.well-known/oauth-authorization-server': {
    what: 'The metadata of this authorization server (RFC 8414): just what this configuration offers. May be cached for five minutes. Any origin may read it. For an issuer with a path, that path follows: `https://example.com/one` has it at `/.well-known/oauth-authorization-server/one`. The URLs in it are the issuer\'s origin and the paths as they are mounted in this app, never anything of the request. So a proxy in front must not change paths, and where the plugin is registered under a prefix, this document is under it too: let the proxy, or a route of the host, serve it from the root as well.',
    failures: 'none of its own'
  }
}

/** The fields of a body or an answer as a table; nothing where there are none. */
export function fieldTable (schema: unknown, requiredHeading: string): string[] {
  const { properties = {}, required = [] } = (schema ?? {}) as { properties?: Record<string, TSchema>, required?: string[] }
  const rows = Object.entries(properties).map(([name, field]) => `| \`${name}\` | ${typeOf(field)} | ${required.includes(name) ? 'yes' : 'no'} |`)
  return rows.length === 0 ? [] : [`| field | type | ${requiredHeading} |`, '| --- | --- | --- |', ...rows]
}

function typeOf (schema: TSchema): string {
  const text = (value: unknown): string => typeof value === 'string' ? value : ''
  const alternatives = (schema['anyOf'] ?? []) as TSchema[]
  const type = 'const' in schema ? `\`${String(schema['const'])}\`` : alternatives.length > 0 ? alternatives.map(typeOf).join(' or ') : text(schema['type'])
  const nested = schema['items'] as { properties?: Record<string, TSchema> } | undefined
  const inner = nested?.properties === undefined ? '' : ` of { ${Object.entries(nested.properties).map(([name, field]) => `\`${name}\`: ${typeOf(field)}`).join(', ')} }`
  const description = text(schema['description'])
  return `${type}${inner}${description === '' ? '' : ` (${description.replace(/\.$/, '')})`}`
}
