import { OAuthError } from '../errors.ts'
import type { User } from '../ports/user-store.ts'
import type { Origin, StayingSignIn } from '../sessions/sessions.ts'
import { onceForStore } from './background.ts'
import type { AccountsDeps } from './deps.ts'
import { listLinks, withdrawGrant } from './identities.ts'
import { endOpenTokens } from './open-tokens.ts'
import { endConsents } from './change-password.ts'
import { addressed, type MessageCause } from './outbox.ts'

const onceRemoved = onceForStore<void>()

interface Removal extends MessageCause {
  user: User
  /** The sign-in that asks for the removal; `null`: the host asks. */
  stays: StayingSignIn | null
  /** The host's administrator, if the host names one. */
  admin?: string | undefined
}

/**
 * Removes the account for good: ends the sign-ins, consents and open links, then removes the user from the store.
 * A signed-in caller must have passed `requireProof`. The sign-in that asks ends last, so that the same request can be
 * repeated after a failure (503). After the removal, ends everything once more, for sign-ins that began meanwhile. A
 * failure of this last step does not fail the removal, because no sign-in of a removed user is accepted.
 * In the background, revokes the permissions at providers that the removed links have stored. Parallel calls in this
 * process share one removal.
 * @throws OAuthError `temporarily_unavailable`; `server_error` if the user store has no `remove`
 */
export async function removeAccount(removal: Removal, deps: AccountsDeps): Promise<void> {
  await onceRemoved(deps.users, removal.user.id, async () => {
    // An earlier call may have removed the user after this caller read them.
    if ((await deps.users.findById(removal.user.id)) !== null) await remove(removal, deps)
  })
}

async function remove({ user, stays, admin, locale, origin }: Removal, deps: AccountsDeps): Promise<void> {
  const sid = stays?.sid ?? null
  if (deps.users.remove === undefined)
    throw new OAuthError('server_error', 'Accounts can not be removed here.', {
      detail: 'the user store has no remove'
    })
  await endAll(user.id, { tokens: 'owner', stays, origin }, deps)
  const links = await listLinks(user.id, deps)
  try {
    await deps.users.remove(user.id)
  } catch (error) {
    // The store may have removed the user although its answer was lost. Then nobody is left to repeat the request, so
    // the removal goes on.
    if ((await deps.users.findById(user.id)) !== null) throw error
  }
  // This process now refuses the access tokens of the asking sign-in, even if the state store could not end it.
  if (sid !== null) deps.sessions.forget(sid)
  for (const link of links) withdrawGrant(link, deps)
  deps.events.emit('account_removed', { userId: user.id, sid, ...(admin === undefined ? {} : { admin }) }, origin)
  deps.outbox?.post({
    kind: 'account_removed',
    by: sid === null ? 'host' : 'user',
    user: addressed(user),
    locale,
    origin
  })
  const what = 'what a removed user left behind could not be ended'
  try {
    await endRest(user.id, origin, deps)
  } catch (error) {
    deps.onError(error, what)
    deps.background.run(
      `end ${user.id}`,
      what,
      async () => {
        await endRest(user.id, origin, deps)
      },
      { retries: true }
    )
  }
}

/**
 * Ends everything that may be left of a removed user. Second factors are removed last: as long as the account exists, a
 * sign-in must require them.
 */
export async function endRest(userId: string, origin: Origin, deps: AccountsDeps): Promise<void> {
  // Ends undo links too, because the host may give the id to another user.
  await endAll(userId, { tokens: 'account', origin }, deps)
  for (const slot of deps.slots) await slot.endRest?.(userId, origin)
}

/**
 * Ends the user's sign-ins except `stays`, all consents, and the open links, with `account` undo links too. Sign-ins
 * end first, because a signed-in user could make a new consent or link. Runs each step even if another has failed, and
 * then rejects with the first failure.
 */
async function endAll(
  userId: string,
  { tokens, stays = null, origin }: { tokens: 'owner' | 'account'; stays?: StayingSignIn | null; origin: Origin },
  deps: AccountsDeps
): Promise<void> {
  const steps = [
    async () => {
      await deps.sessions.revokeAll(userId, 'account_removed', { stays, origin })
    },
    async () => {
      await endConsents(userId, { by: 'account_removed', origin }, deps)
    },
    async () => {
      await endOpenTokens(userId, tokens, deps)
    }
  ]
  const outcomes: Array<PromiseSettledResult<void>> = []
  for (const step of steps) outcomes.push(...(await Promise.allSettled([step()])))
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
}
