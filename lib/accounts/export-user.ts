import type { User } from '../ports/user-store.ts'
import { listSessions, type Session } from '../sessions/browser-sessions.ts'
import type { UserExport } from './managed-users.ts'
import type { AccountsDeps } from './deps.ts'
import { addressOf } from './outbox.ts'

/** The time as an ISO 8601 text, for an export. `null` if there is no time. */
export const timeOf = (at: number | Date | null | undefined): string | null =>
  at === null || at === undefined ? null : new Date(at).toISOString()

/** A sign-in as its user and administrators see it. */
export const shownSession = ({ id, kind, clientId, scope, userAgent, createdAt, lastUsedAt, expiresAt }: Session) => ({
  id,
  kind,
  client_id: clientId,
  scope,
  user_agent: userAgent,
  created_at: createdAt.toISOString(),
  last_used_at: lastUsedAt.toISOString(),
  expires_at: expiresAt.toISOString()
})

/**
 * Collects the data that the service keeps of a user: the profile with the columns `fields`, sign-ins, consents,
 * identity links, and the data of each feature.
 */
export async function exportUser(user: User, fields: readonly string[], deps: AccountsDeps): Promise<UserExport> {
  const { users, sessions, consents, slots, clock } = deps
  const [signIns, given, links, parts] = await Promise.all([
    listSessions(user.id, sessions),
    consents.listConsents(user.id, clock.now()),
    users.listIdentities?.(user.id) ?? [],
    Promise.all(slots.map(async ({ exported }) => (await exported?.(user)) ?? {}))
  ])
  const address = addressOf(user)
  return {
    profile: {
      ...Object.fromEntries(fields.filter((name) => Object.hasOwn(user, name)).map((name) => [name, user[name]])),
      id: user.id,
      username: user.username,
      email: address === '' ? null : address,
      email_verified: user.emailVerified === true,
      disabled: user.disabled === true,
      has_password: user.passwordHash !== null
    },
    sessions: signIns.map(shownSession),
    consents: given.map(({ clientId, scopes, grantedAt, expiresAt }) => ({
      client_id: clientId,
      scopes,
      granted_at: timeOf(grantedAt),
      expires_at: timeOf(expiresAt)
    })),
    connections: links.map(({ connection, issuer, subject, email = null, linkedAt, lastUsedAt }) => ({
      connection,
      issuer,
      subject,
      email,
      linked_at: timeOf(linkedAt),
      last_used_at: timeOf(lastUsedAt)
    })),
    ...(Object.assign({}, ...parts) as UserExport)
  }
}
