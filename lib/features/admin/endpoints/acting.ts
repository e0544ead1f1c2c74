import { type Static, type TObject, Type } from '@sinclair/typebox'
import type { FastifyRequest, FastifyReply } from 'fastify'
import { MAX_ID, REASON } from '../../../accounts/acted-on.ts'
import type { AccountsDeps } from '../../../accounts/deps.ts'
import type { ManagedUser, RequestedAct, RequestedUsers } from '../../../accounts/managed-users.ts'
import { OAuthError } from '../../../errors.ts'
import type { Origin } from '../../../events.ts'
import { type AdminCaller, adminOf, requireAdminScope } from '../../../http/edge/admin-guard.ts'
import { type Endpoint, endpoint } from '../../../http/edge/endpoint.ts'
import { originOf } from '../../../http/edge/request-origin.ts'
import { Empty } from '../../../http/edge/schemas.ts'
import type { User } from '../../../ports/user-store.ts'
import type { ActingParty } from '../allow.ts'
import type { AdminScope } from '../../../protocol/scope.ts'
import { isStorable } from '../../../protocol/bounds.ts'

/**
 * An administrator's action, as the use cases take it: the actor, the origin of the request, and the check for
 * protected users.
 */
export type Acting = RequestedAct & Pick<AdminCaller, 'by'>

export interface AdminDeps {
  accounts: AccountsDeps
  /** Additional fields of the user rows that administrators see (`admin.fields`). */
  fields: readonly string[]
  /** False: impersonation is off. */
  impersonates: boolean
  isProtected(user: User, actor: ActingParty): Promise<boolean>
  users(): RequestedUsers
}

const Why = Type.Object(
  { reason: Type.Optional(Type.String({ minLength: 1, maxLength: REASON.most })) },
  { additionalProperties: false }
)

export const Id = Type.Object({ id: Type.String({ minLength: 1, maxLength: MAX_ID }) })

/** The reason of an action that requires one. */
export const Reason = Type.String({ minLength: REASON.least, maxLength: REASON.most })

/** Finds the user whose id is in the URL of a read-only route. @throws OAuthError `not_found` */
export async function userOf({ params }: FastifyRequest, { accounts }: Pick<AdminDeps, 'accounts'>): Promise<User> {
  const user = await accounts.users.findById((params as { id: string }).id)
  if (user === null) throw new OAuthError('not_found', 'There is no such user.')
  return user
}

/** Describes an action of this administrator. `check` requires the scope `authority:protected` for protected users. */
export const actBy = (
  { by, scopes, user: admin, client }: Pick<AdminCaller, 'by' | 'scopes' | 'user' | 'client'>,
  origin: Origin,
  { isProtected }: Pick<AdminDeps, 'isProtected'>
): Acting => ({
  by,
  origin,
  async check(user) {
    if (await isProtected(user, { user: admin, client })) requireAdminScope({ scopes }, 'authority:protected')
  }
})

/** Describes the action that a request to the admin API asks for. */
export const askedBy = (request: FastifyRequest, deps: Pick<AdminDeps, 'isProtected'>): Acting =>
  actBy(adminOf(request), originOf(request), deps)

/** Creates an endpoint for an action on a user. The endpoint takes an optional `reason` and answers 204. */
export const acting = (
  action: {
    method: 'POST' | 'DELETE'
    path: `/${string}`
    scope: AdminScope
    summary: string
    what: string
    params?: TObject
    /** The error codes of the answer 409. @default 'conflict' */
    conflicts?: 'conflict' | Array<'conflict' | 'last_sign_in_method'>
  },
  act: (id: string, act: Acting, request: FastifyRequest) => Promise<void>,
  deps: AdminDeps
): Endpoint =>
  endpoint({
    method: action.method,
    path: action.path,
    callers: { admin: action.scope },
    takes: 'optional',
    summary: action.summary,
    what: `${action.what} A body is optional: \`reason\` goes to the audit log.`,
    params: action.params ?? Id,
    body: Why,
    answers: { 204: Empty },
    errors: { 404: 'not_found', 409: action.conflicts ?? 'conflict' },
    handle: async (request) => {
      const { reason } = (request.body as Static<typeof Why> | null | undefined) ?? {}
      await act((request.params as { id: string }).id, { ...askedBy(request, deps), reason }, request)
    }
  })

/**
 * Returns the query parameters of a request.
 * @throws OAuthError `invalid_request` for an unknown, repeated, empty or unstorable parameter
 */
export function queryOf<Name extends string>(
  { query }: FastifyRequest,
  names: readonly Name[]
): Partial<Record<Name, string>> {
  const given = Object.entries(query as Record<string, unknown>)
  for (const [name, value] of given) {
    if (!(names as readonly string[]).includes(name)) throw refused(name, 'there is no such condition.')
    if (typeof value !== 'string' || value === '' || !isStorable(value))
      throw refused(name, 'it must be there once, as a text that is not empty.')
  }
  return Object.fromEntries(given) as Partial<Record<Name, string>>
}

/** Parses a query parameter as a number. @throws OAuthError `invalid_request` for a text other than 1 to 9 digits */
export function numberIn(value: string | undefined, name: string): number | undefined {
  if (value === undefined) return undefined
  if (!/^\d{1,9}$/.test(value)) throw refused(name, 'it must be a whole number.')
  return Number(value)
}

export const refused = (name: string, problem: string): OAuthError =>
  new OAuthError('invalid_request', `${name}: ${problem}`, { field: name })

/** Writes the version of a user to the header `ETag`. Writes none if the user store has no versions. */
export function tagOf({ version }: ManagedUser, reply: FastifyReply): void {
  if (version !== null) reply.header('etag', `"${textOfVersion(version)}"`)
}

/** Encodes a version for the `ETag` header and for form fields. */
export const textOfVersion = (version: NonNullable<ManagedUser['version']>): string =>
  Buffer.from(JSON.stringify(version)).toString('base64url')

/**
 * Returns the version that the user must have for the change. `If-Match: *` accepts any version.
 * @throws OAuthError `invalid_request` if the header is missing or is no ETag of this service
 */
export function ifMatch({ headers }: FastifyRequest): { version?: number | string } {
  const { 'if-match': given } = headers
  if (given === undefined) throw refused('If-Match', 'it must have the ETag of the user, or *.')
  if (given === '*') return {}
  const [, text = ''] = /^"([^"]*)"$/.exec(given) ?? []
  const version = versionIn(text)
  if (version === null) throw refused('If-Match', 'it is no ETag of an answer.')
  return { version }
}

/**
 * Decodes a version that `textOfVersion` encoded. `null`: the text is no encoded version, or has more than 400
 * characters.
 */
export function versionIn(text: string): number | string | null {
  if (!/^[A-Za-z0-9_-]{1,400}$/.test(text)) return null
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    return typeof value === 'number' || typeof value === 'string' ? value : null
  } catch {
    return null
  }
}
