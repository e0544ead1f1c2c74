import { Type } from '@sinclair/typebox'
import { auditedOn } from '../../../accounts/acted-on.ts'
import { lastSignInMethod, linkIdOf, listLinks, unlinkIdentity } from '../../../accounts/identities.ts'
import type { AccountSlots } from '../../../accounts/slots.ts'
import { OAuthError } from '../../../errors.ts'
import { type AuditAction, NO_REQUEST, type Origin } from '../../../events.ts'
import { type Endpoint, endpoint } from '../../../http/edge/endpoint.ts'
import type { User } from '../../../ports/user-store.ts'
import { acting, type Acting, type AdminDeps, Id, userOf } from './acting.ts'
import { shownSession } from '../../../accounts/export-user.ts'
import { listSessions } from '../../../sessions/browser-sessions.ts'

const Item = Type.Object({ id: Type.String() }, { additionalProperties: true, description: 'As in the export.' })
const IdOfOne = Type.Object({ ...Id.properties, one: Id.properties.id })

/** A kind of item that a user has and that administrators can list and remove: links, second factors or API keys. */
export interface UserItemKind {
  name: 'connections' | 'factors' | 'api_keys'
  path: 'connections' | 'factors' | 'api-keys'
  title: string
  /** The name of the removal in the audit log. */
  action: AuditAction
  list(user: User): Promise<unknown>
  /**
   * Resolves to `false`, or throws `not_found`, if the user has no item with this id. Throws `last_sign_in_method` for
   * the user's last way to sign in.
   */
  remove(user: User, id: string, cause: { admin: string; origin: Origin }): Promise<boolean>
}

/**
 * The kinds that administrators can list and remove. `list` resolves to `undefined` if second factors or API keys are
 * off.
 */
export function userItemKinds({ accounts }: Pick<AdminDeps, 'accounts'>): UserItemKind[] {
  const featureWith = (slot: keyof AccountSlots): AccountSlots | undefined =>
    accounts.slots.find((one) => one[slot] !== undefined)
  return [
    {
      name: 'connections',
      path: 'connections',
      title: 'connected account',
      action: 'identity_unlinked',
      list: async (user) =>
        (await listLinks(user.id, accounts)).map((link) => ({
          id: linkIdOf(link),
          connection: link.connection,
          email: link.email ?? null,
          linked_at: new Date(link.linkedAt).toISOString(),
          last_used_at: new Date(link.lastUsedAt).toISOString()
        })),
      async remove(user, id) {
        // No request: the message to the user must not contain the administrator's IP address.
        const cause = { by: 'host', locale: undefined, origin: NO_REQUEST } as const
        const outcome = await unlinkIdentity(user, id, cause, accounts)
        if (outcome === 'last_sign_in_method') throw lastSignInMethod()
        return outcome === 'unlinked'
      }
    },
    {
      name: 'factors',
      path: 'factors',
      title: 'second factor',
      action: 'factor_removed',
      list: async (user) => (await featureWith('removeFactor')?.exported?.(user))?.['factors'],
      async remove(user, factorId, cause) {
        const feature = featureWith('removeFactor')
        await feature?.removeFactor?.({ user, factorId, ...cause })
        return feature !== undefined
      }
    },
    {
      name: 'api_keys',
      path: 'api-keys',
      title: 'API key',
      action: 'api_key_revoked',
      list: async (user) => (await featureWith('apiKeys')?.exported?.(user))?.['api_keys'],
      remove: async (user, id, { origin }) =>
        (await featureWith('apiKeys')?.apiKeys?.revoke(user.id, id, { by: 'host', origin })) ?? false
    }
  ]
}

/**
 * Removes an item of a user and audits the removal.
 * @throws OAuthError `not_found`, `last_sign_in_method`; the errors of `auditedOn`
 */
export async function removeUserItem(
  { action, title, remove }: UserItemKind,
  { id, one }: { id: string; one: string },
  act: Acting,
  { accounts }: Pick<AdminDeps, 'accounts'>
): Promise<void> {
  const { by, origin = NO_REQUEST } = act
  await auditedOn(
    { action, id },
    act,
    async (user) => {
      if (!(await remove(user, one, { admin: by.id, origin })))
        throw new OAuthError('not_found', `There is no such ${title}.`)
    },
    accounts
  )
}

export function userItemEndpoints(deps: AdminDeps): Endpoint[] {
  return userItemKinds(deps).flatMap((kind) => {
    const { name, path, title, list } = kind
    return [
      endpoint({
        method: 'GET',
        path: `/admin/users/:id/${path}`,
        callers: { admin: 'authority:users:read' },
        summary: `List a user's ${title}s`,
        what: `Lists each ${title} of the user, without a secret.`,
        params: Id,
        answers: { 200: Type.Object({ [name]: Type.Array(Item) }) },
        errors: { 404: 'not_found' },
        handle: async (request) => ({ [name]: (await list(await userOf(request, deps))) ?? [] })
      }),
      acting(
        {
          method: 'DELETE',
          path: `/admin/users/:id/${path}/:one`,
          scope: 'authority:users:write',
          summary: `Remove a user's ${title}`,
          what: `Removes one ${title} of the user. The last way to sign in stays.`,
          params: IdOfOne,
          conflicts: ['conflict', 'last_sign_in_method']
        },
        async (id, act, request) => {
          await removeUserItem(kind, { id, one: (request.params as { one: string }).one }, act, deps)
        },
        deps
      )
    ]
  })
}

const TextOrNull = Type.Union([Type.String(), Type.Null()])
const Session = Type.Object({
  id: Type.String(),
  kind: Type.String(),
  client_id: TextOrNull,
  scope: Type.String(),
  user_agent: TextOrNull,
  created_at: Type.String(),
  last_used_at: Type.String(),
  expires_at: Type.String()
})

/**
 * Ends the session or token family `sid` of a user. If `sid` is `null`, ends all of them.
 * @throws OAuthError `not_found`; the errors of `auditedOn`
 */
export async function endSessions(
  id: string,
  sid: string | null,
  act: Acting,
  { accounts }: Pick<AdminDeps, 'accounts'>
): Promise<void> {
  const { origin = NO_REQUEST } = act
  await auditedOn(
    { action: 'sessions_ended', id },
    act,
    async (user) => {
      if (sid === null) await accounts.sessions.revokeAll(user.id, 'admin', { origin })
      else if (!(await accounts.sessions.revoke(user.id, sid, 'admin', origin)))
        throw new OAuthError('not_found', 'There is no such session.')
    },
    accounts
  )
}

/** The routes for browser sessions and refresh token families of a user. */
export function sessionEndpoints(deps: AdminDeps): Endpoint[] {
  const { accounts } = deps

  return [
    endpoint({
      method: 'GET',
      path: '/admin/users/:id/sessions',
      callers: { admin: 'authority:users:read' },
      summary: "List a user's sessions",
      what: 'Lists token families and browser sessions, the newest first.',
      params: Id,
      answers: { 200: Type.Object({ sessions: Type.Array(Session) }) },
      errors: { 404: 'not_found' },
      handle: async (request) => {
        const { id } = await userOf(request, deps)
        return { sessions: (await listSessions(id, accounts.sessions)).map(shownSession) }
      }
    }),
    acting(
      {
        method: 'DELETE',
        path: '/admin/users/:id/sessions',
        scope: 'authority:sessions:write',
        summary: "End a user's sessions",
        what: 'Ends all sign-ins of the user.'
      },
      async (id, act) => {
        await endSessions(id, null, act, deps)
      },
      deps
    ),
    acting(
      {
        method: 'DELETE',
        path: '/admin/users/:id/sessions/:sid',
        scope: 'authority:sessions:write',
        summary: "End one of a user's sessions",
        what: 'Ends one sign-in of the user.',
        params: Type.Object({ ...Id.properties, sid: Id.properties.id })
      },
      async (id, act, request) => {
        await endSessions(id, (request.params as { sid: string }).sid, act, deps)
      },
      deps
    )
  ]
}
