/**
 * `fastify-authority/resource`: guards for an API that runs in another process than its issuer. The issuer is this
 * plugin, or any other authorization server with JWT access tokens (RFC 9068).
 *
 * @example
 * import resourceServer from 'fastify-authority/resource'
 * await app.register(resourceServer, {
 *   issuer: 'https://auth.example.com',
 *   resource: 'https://api.example.com',
 *   scopes: ['orders:read', 'orders:write']
 * })
 * app.get('/orders', { onRequest: [app.authenticate, app.requireScope('orders:read')] }, handler)
 */
export { resourceServer, resourceServer as default } from './plugin.ts'
export type { ResourceServerOptions } from './plugin.ts'

export { OAuthError, StartError } from '../errors.ts'
export type { Hook } from '../http/edge/hook.ts'
export type { AccessTokenClaims } from '../protocol/access-token.ts'
export type { AuthRequirements } from '../settings/auth-requirements.ts'
export type { McpAuth, ResourceGuards } from './resource-guards.ts'
