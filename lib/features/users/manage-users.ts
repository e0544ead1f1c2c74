import { actedOn, auditTarget, isReason, REASON, unchanged, audited } from '../../accounts/acted-on.ts'
import { changedMeanwhile, MAX_TRIES } from '../../accounts/changed-meanwhile.ts'
import type { AccountsDeps } from '../../accounts/deps.ts'
import type { ManagedUser, RequestedUsers, UserWithRow } from '../../accounts/managed-users.ts'
import { exportUser } from '../../accounts/export-user.ts'
import { endAll } from '../../accounts/change-password.ts'
import { endOpenTokens } from '../../accounts/open-tokens.ts'
import { addressed, addressOf } from '../../accounts/outbox.ts'
import { endRest, removeAccount } from '../../accounts/remove-account.ts'
import { startPasswordReset } from '../../accounts/reset-password.ts'
import { normalizeUsername } from '../../accounts/username.ts'
import { requestEmailVerification } from '../../accounts/verify-email.ts'
import { type Invitations, slotOf } from '../../accounts/slots.ts'
import { ownerConnection } from '../../accounts/ways-in.ts'
import { OAuthError } from '../../errors.ts'
import { NO_REQUEST, type Origin } from '../../events.ts'
import { NotSupportedError, type User, type UserStore } from '../../ports/user-store.ts'
import { isStorable } from '../../protocol/bounds.ts'
import { actOf, type CheckedAct } from './act-input.ts'
import { createdAtOf, placeOfUser, USER_CURSOR } from './user-cursor.ts'
import { newUserOf, patchOf, refusedField, reportTakenName } from './user-input.ts'

const MAX_LIMIT = 200
/** Keeps only the request id. The IP address is the administrator's and must not appear in an event about a user. */
const originOfAct = ({ origin: { requestId } }: CheckedAct): Origin => ({ requestId })
const CAUSE = { locale: undefined, origin: NO_REQUEST }

/**
 * The use cases of `app.authority.users`. `fields`: the names of the profile fields to show and to accept. Actions
 * write the user first and end the sign-ins afterwards. A parallel sign-in reads the user again after its own write, so
 * either the action ends the sign-in, or the sign-in notices the change.
 */
export function manageUsers(deps: AccountsDeps, fields: readonly string[]): RequestedUsers {
  const { users, events, sessions } = deps

  function method<Name extends keyof UserStore>(name: Name): NonNullable<UserStore[Name]> {
    const found = users[name]
    if (found === undefined) throw new NotSupportedError(name)
    return found
  }

  function invitations(): Invitations {
    for (const name of ['setPasswordHash', 'setEmailVerified'] as const) method(name)
    const found = slotOf(deps, 'invitations')
    if (found === null) throw new OAuthError('invalid_request', 'An invitation needs sendMessage and the hosted pages.')
    return found
  }

  async function send(
    user: User,
    { actor, reason }: Pick<CheckedAct, 'actor' | 'reason'>,
    inviting: Invitations
  ): Promise<void> {
    await inviting.send(user)
    events.emit('user_invited', { userId: user.id, actor, ...reason }, NO_REQUEST)
  }

  async function find(id: unknown): Promise<User | null> {
    return typeof id === 'string' && id !== '' && isStorable(id) ? await users.findById(id) : null
  }

  async function existing(id: unknown, act: CheckedAct): Promise<User> {
    return unchanged(await actedOn(id, act, deps), act.version)
  }

  function shown(user: User): ManagedUser {
    const address = addressOf(user)
    const createdAt = createdAtOf(user)
    return {
      ...Object.fromEntries(fields.filter((name) => Object.hasOwn(user, name)).map((name) => [name, user[name]])),
      id: user.id,
      username: user.username,
      email: address === '' ? null : address,
      emailVerified: user.emailVerified === true,
      disabled: user.disabled === true,
      hasPassword: user.passwordHash !== null,
      createdAt: createdAt === null ? null : new Date(createdAt),
      version: user.version ?? null
    }
  }

  const withRow = (row: User): UserWithRow => ({ user: shown(row), row })

  return {
    async list({ limit = 50, after, prefix, email, connection, ...others } = {}) {
      const list = method('list')
      const [unknown] = Object.keys(others)
      if (unknown !== undefined) throw refusedField(unknown, 'there is no such condition.')
      if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
        throw refusedField('limit', `it must be a whole number from 1 to ${MAX_LIMIT}.`)
      for (const [name, value] of Object.entries({ prefix, email, connection }))
        if (value !== undefined && (typeof value !== 'string' || value === '' || !isStorable(value)))
          throw refusedField(name, 'it must be a string that is not empty.')
      const found = await list({
        // Asks for one user more than the page shows, to learn whether another page follows.
        limit: limit + 1,
        after: after === undefined ? undefined : USER_CURSOR.read(after),
        prefix: prefix === undefined ? undefined : (normalizeUsername(prefix) ?? prefix),
        email,
        connection
      })
      const page = found.slice(0, limit)
      const last = page.at(-1)
      return {
        users: page.map(withRow),
        next: found.length > limit && last !== undefined ? USER_CURSOR.write(placeOfUser(last)) : null
      }
    },
    async get(id) {
      const row = await find(id)
      return row === null ? null : withRow(row)
    },
    async create({ invite = false, ...given }, act) {
      const { actor, reason, origin } = actOf(act)
      const create = method('create')
      if (typeof invite !== 'boolean') throw refusedField('invite', 'it must be true or false.')
      const inviting = invite ? invitations() : null
      // Allows an address that a connection manages if the user is invited: a sign-in there accepts the invitation.
      const asked = newUserOf(given, fields, { ...deps, connections: invite ? new Map() : deps.connections })
      if (invite && asked.email === undefined) throw refusedField('email', 'an invitation needs one.')
      const made = async (): Promise<User> => {
        const user = await reportTakenName(create(asked))
        events.emit('user_created', { userId: user.id, actor, ...reason }, NO_REQUEST)
        return user
      }
      if (inviting === null) return shown(await made())
      const user = await audited(
        { action: 'user_invited', actor, target: null, targetOf: ({ id }) => auditTarget(id), ...reason, origin },
        async () => {
          const invited = await made()
          await send(invited, { actor, reason }, inviting)
          return invited
        },
        deps
      )
      return shown(user)
    },
    async update(id, changes, act) {
      const acting = actOf(act)
      const { actor, reason } = acting
      const update = method('update')
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const user = await existing(id, acting)
        const patch = patchOf(user, changes, fields, deps)
        if (Object.keys(patch).length === 0) return shown(user)
        const read = user.version ?? null
        const changed = await reportTakenName(read === null ? update(user.id, patch) : update(user.id, patch, read))
        if (changed === null) continue
        events.emit(
          'user_updated',
          { userId: user.id, actor, ...reason, fields: Object.keys(patch) },
          originOfAct(acting)
        )
        // If the process crashes here, open links to the former address still don't work, because they are bound to it.
        if ('emailVerified' in patch) {
          // Notifies the former mailbox first, because a repeat of the call would find nothing to change.
          if (addressOf(user) !== '') deps.outbox?.post({ kind: 'email_changed', user: addressed(user), ...CAUSE })
          await endOpenTokens(user.id, 'owner', deps)
          await requestEmailVerification(changed, CAUSE, deps)
        }
        return shown(changed)
      }
      throw changedMeanwhile()
    },
    async disable(id, act) {
      const acting = actOf(act)
      const { actor, reason } = acting
      const setDisabled = method('setDisabled')
      const user = await existing(id, acting)
      if (!(await setDisabled(user.id, true))) throw new OAuthError('not_found', 'There is no such user.')
      if (user.disabled !== true)
        events.emit('user_disabled', { userId: user.id, actor, ...reason }, originOfAct(acting))
      await sessions.revokeAll(user.id, 'disabled', { origin: NO_REQUEST })
      await endOpenTokens(user.id, 'owner', deps)
    },
    async enable(id, act) {
      const acting = actOf(act)
      const { actor, reason } = acting
      const setDisabled = method('setDisabled')
      const user = await existing(id, acting)
      if (!(await setDisabled(user.id, false))) throw new OAuthError('not_found', 'There is no such user.')
      if (user.disabled === true)
        events.emit('user_enabled', { userId: user.id, actor, ...reason }, originOfAct(acting))
    },
    async requireReset(id, act) {
      const acting = actOf(act)
      const { actor, reason } = acting
      const setPasswordHash = method('setPasswordHash')
      if (deps.outbox === null)
        throw new OAuthError('invalid_request', 'There is no sendMessage to send the message with.')
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const user = await existing(id, acting)
        if (user.disabled === true) throw new OAuthError('conflict', 'The user is disabled.')
        if (addressOf(user) === '') throw new OAuthError('conflict', 'The user has no address for the link.')
        if (ownerConnection(user, deps) !== null)
          throw new OAuthError('conflict', 'The user signs in through a connection alone.')
        const { passwordHash } = user
        if (passwordHash !== null && !(await setPasswordHash(user.id, null, passwordHash, deps.clock.now()))) continue
        events.emit('password_reset_required', { userId: user.id, actor, ...reason }, originOfAct(acting))
        await sessions.revokeAll(user.id, 'admin', { origin: NO_REQUEST })
        await endAll(user, { by: 'change', origin: NO_REQUEST }, deps)
        await endOpenTokens(user.id, 'owner', deps)
        await startPasswordReset(user.id, deps)
        return
      }
      throw changedMeanwhile()
    },
    async invite(id, act) {
      const acting = actOf(act)
      const { actor, reason } = acting
      const inviting = invitations()
      const user = await existing(id, acting)
      if (user.passwordHash !== null) throw new OAuthError('conflict', 'The user has a password.')
      if (addressOf(user) === '') throw new OAuthError('conflict', 'The user has no address for the link.')
      await send(user, { actor, reason }, inviting)
    },
    async export(id, act) {
      const { version } = actOf(act)
      const user = await find(id)
      if (user === null) throw new OAuthError('not_found', 'There is no such user.')
      return await exportUser(unchanged(user, version), fields, deps)
    },
    async impersonate(id, { scope, signIn, ...act } = {}) {
      const acting = actOf(act)
      const { actor, reason: given } = acting
      const { reason = '' } = given
      if (scope !== undefined && typeof scope !== 'string') throw refusedField('scope', 'it must be a string.')
      if (!isReason(reason))
        throw refusedField('reason', `it must have ${REASON.least} to ${REASON.most} visible characters.`)
      const impersonate = slotOf(deps, 'impersonate')
      if (impersonate === null) throw new OAuthError('invalid_request', 'Impersonation needs the option admin.')
      return await impersonate({ user: await existing(id, acting), actor, reason, scope, signIn: signIn ?? null })
    },
    async remove(id, act) {
      const acting = actOf(act)
      const { actor } = acting
      method('remove')
      // Finishes an earlier call that failed after the store had removed the user.
      if (typeof id === 'string' && isStorable(id) && (await find(id)) === null) await endRest(id, NO_REQUEST, deps)
      const user = await existing(id, acting)
      await users.setDisabled?.(user.id, true)
      await removeAccount({ user, stays: null, admin: actor.id, ...CAUSE }, deps)
    }
  }
}
