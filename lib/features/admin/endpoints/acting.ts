import { type TObject, Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type { AccountsDeps } from '../../../accounts/deps.ts'
import type { ManagedUsers, RequestedAct } from '../../../accounts/managed-users.ts'
import { OAuthError } from '../../../errors.ts'
import { type AdminCaller, adminOf, conflict, requireAdminScope } from '../../../http/edge/admin-guard.ts'
import { type Endpoint, endpoint } from '../../../http/edge/endpoint.ts'
import { Empty } from '../../../http/edge/schemas.ts'
import type { User } from '../../../ports/user-store.ts'
import type { AdminScope } from '../../../protocol/admin-scopes.ts'

/** The administrator, for a use case. */
export type Acting = Pick<AdminCaller, 'by'>

export interface AdminDeps {
  accounts: AccountsDeps
  /** Fields of the rows that administrators see besides. */
  fields: readonly string[]
  /** False: nobody acts in the name of another person. */
  impersonates: boolean
  isProtected(user: User): Promise<boolean>
  users(): ManagedUsers<RequestedAct>
}

export const Id = Type.Object({ id: Type.String({ minLength: 1, maxLength: 255 }) })

/** The user of a route, on whom this administrator may act. */
export async function target(
  request: FastifyRequest,
  acts: boolean,
  deps: AdminDeps
): Promise<{ caller: AdminCaller; user: User }> {
  const caller = adminOf(request)
  const { id } = request.params as { id: string }
  const user = await deps.accounts.users.findById(id)
  if (user === null) throw new OAuthError('not_found', 'There is no such user.')
  if (acts && user.id === caller.user?.id) throw conflict('Nobody administrates their own account.')
  if (acts && (await deps.isProtected(user))) requireAdminScope(caller, 'authority:protected')
  return { caller, user }
}

/** A route that acts on a user. */
export const acting = (
  action: {
    method: 'POST' | 'DELETE'
    path: `/${string}`
    scope: AdminScope
    summary: string
    what: string
    params?: TObject
    /** The codes of its answer 409. Default `conflict`. */
    conflicts?: 'conflict' | Array<'conflict' | 'last_sign_in_method'>
  },
  act: (user: User, by: Acting, request: FastifyRequest) => Promise<void>,
  deps: AdminDeps
): Endpoint =>
  endpoint({
    method: action.method,
    path: action.path,
    callers: { admin: action.scope },
    takes: 'nothing',
    summary: action.summary,
    what: action.what,
    params: action.params ?? Id,
    answers: { 204: Empty },
    errors: { 404: 'not_found', 409: action.conflicts ?? 'conflict' },
    handle: async (request) => {
      const { caller, user } = await target(request, true, deps)
      await act(user, { by: caller.by }, request)
    }
  })
