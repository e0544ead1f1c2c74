import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { requireProof } from '../../accounts/fresh-sign-in.ts'
import { lastSignInMethod, linkIdOf, listLinks, unlinkIdentity } from '../../accounts/identities.ts'
import { OAuthError } from '../../errors.ts'
import { accountOf } from '../edge/caller-guards.ts'
import { callableBy } from '../edge/callers.ts'
import { type HttpDeps, originOf } from '../edge/deps.ts'
import { guarded, noStoreHook } from '../edge/error-reply.ts'
import { localeOf } from '../edge/locale.ts'
import { ConnectionList, describeRoute, Empty, ErrorResponse, FOR_THE_ACCOUNT } from '../edge/schemas.ts'

/**
 * `GET /auth/connections` and `DELETE /auth/connections/:id`: the accounts at other providers that a person signs in
 * with, if there are connections.
 */
export function connectionRoutes(child: FastifyInstance, { grants: { accounts }, connections, path }: HttpDeps): void {
  if (
    connections.size === 0 ||
    accounts.users.listIdentities === undefined ||
    accounts.users.unlinkIdentity === undefined
  )
    return
  const shared = { ...callableBy('account'), onRequest: noStoreHook }
  child.get(
    path('connections'),
    {
      ...shared,
      schema: describeRoute({
        summary: 'List my connected accounts',
        description: FOR_THE_ACCOUNT,
        response: { 200: ConnectionList, '4xx': ErrorResponse }
      })
    },
    async (request) =>
      await guarded(async () => {
        const links = await listLinks(accountOf(request).user.id, accounts)
        return {
          connections: links.map((link) => ({
            id: linkIdOf(link),
            connection: link.connection,
            name: connections.get(link.connection)?.name ?? link.connection,
            email: link.email ?? null,
            linked_at: new Date(link.linkedAt).toISOString(),
            last_used_at: new Date(link.lastUsedAt).toISOString()
          }))
        }
      })
  )

  child.delete<{ Params: { id: string } }>(
    `${path('connections')}/:id`,
    {
      ...shared,
      schema: describeRoute({
        summary: 'Disconnect one of my connected accounts',
        description: FOR_THE_ACCOUNT,
        params: Type.Object({ id: Type.String({ maxLength: 128 }) }),
        response: { 204: Empty, '4xx': ErrorResponse }
      })
    },
    async (request, reply) =>
      await guarded(async () => {
        const { user, sid, authentication } = accountOf(request)
        const origin = originOf(request)
        // A thief of a session must not take away the ways by which its owner comes back.
        await requireProof('unlink', { user, sid, authentication, origin }, accounts)
        const outcome = await unlinkIdentity(
          user,
          request.params.id,
          { by: 'user', locale: localeOf(request), origin },
          accounts
        )
        if (outcome === 'unknown') throw new OAuthError('not_found', 'There is no such connected account.')
        if (outcome === 'last_sign_in_method') throw lastSignInMethod()
        reply.code(204)
      })
  )
}
