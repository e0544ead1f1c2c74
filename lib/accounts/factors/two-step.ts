import { hasFactor } from '../../protocol/second-factors.ts'
import { OAuthError } from '../../errors.ts'
import type { UserFactors } from '../../ports/factor-store.ts'
import type { User } from '../../ports/user-store.ts'
import { addressed, type MessageCause } from '../outbox.ts'
import { holds, orInBackground } from './addition.ts'
import { twoStepNow } from './policy.ts'
import type { Staying } from './passkeys.ts'
import type { ProvingDeps } from './prove-factor.ts'
import { newRecoveryCodes } from './recovery-codes.ts'

interface Asker extends MessageCause {
  user: User
  sid: string
}

/**
 * Turns two-step sign-in on for a user with a passkey. All their other sign-ins end, since these took one step. To be
 * asked by a fresh sign-in. Resolves to new recovery codes; to `null` where it was on, or codes are not set up here.
 * @throws OAuthError `last_factor` where there is neither app nor passkey; `login_required` where the sign-in has ended
 */
export async function turnTwoStepOn({ stays, ...asker }: Asker & Staying, deps: ProvingDeps): Promise<string[] | null> {
  const { user, origin } = asker
  const { store, policy } = deps.factors
  const endOthers = async (): Promise<void> => {
    await deps.sessions.revokeAll(user.id, 'factors_changed', { stays, origin })
  }
  const found = await store.findFactors(user.id)
  if (!hasFactor(found)) throw noFactor()
  const wasOn = (await twoStepNow(user, found, deps)).on
  const { codes, digests } = newRecoveryCodes(user, deps)
  const gives = !wasOn && policy.methods.includes('recovery_code')
  const outcome = await orTellLater(
    asker,
    { on: true, before: found, finish: endOthers },
    async () => await store.setTwoStep({ userId: user.id, on: true, recoveryDigests: gives ? digests : undefined }),
    deps
  )
  if (outcome === 'refused') throw noFactor()
  if (outcome === 'unchanged' || wasOn) return null
  if (!(await holds(asker, deps))) {
    // An event that ended the sign-in, such as a reset of the password, could not end this choice.
    await store.setTwoStep({ userId: user.id, on: false })
    throw new OAuthError('login_required', 'The sign-in has ended meanwhile. Sign in again.', { statusCode: 401 })
  }
  tell(asker, true, deps)
  await orInBackground(`two-step ${user.id}`, endOthers, deps)
  return gives ? codes : null
}

/**
 * Turns it off, so that the first factor is enough again, and ends the recovery codes. To be asked by a fresh sign-in.
 * @throws OAuthError `last_factor` where the account has an app, or the host requires a second factor of it
 */
export async function turnTwoStepOff(asker: Asker, deps: ProvingDeps): Promise<void> {
  const { user } = asker
  const { store } = deps.factors
  const found = await store.findFactors(user.id)
  const { because } = await twoStepNow(user, found, deps)
  if (because === 'required') throw new OAuthError('last_factor', 'The account must have two-step sign-in.')
  const outcome = await orTellLater(
    asker,
    { on: false, before: found, finish: async () => {} },
    async () => await store.setTwoStep({ userId: user.id, on: false }),
    deps
  )
  if (outcome === 'refused') throw new OAuthError('last_factor', 'Remove the authenticator app first.')
  if (outcome === 'changed') tell(asker, false, deps)
}

const noFactor = (): OAuthError => new OAuthError('last_factor', 'Add an authenticator app or a passkey first.')

function tell({ user, sid, locale, origin }: Asker, on: boolean, { events, outbox }: ProvingDeps): void {
  events.emit('two_step_changed', { userId: user.id, sid, on }, origin)
  const to = { user: addressed(user), locale, origin }
  if (on) outbox?.post({ kind: 'factor_added', factor: 'two_step', ...to })
  else outbox?.post({ kind: 'factor_removed', factor: 'two_step', by: 'user', ...to })
}

/**
 * A change whose answer was lost may have been made. It is looked for behind the reply, and told and finished as one
 * that was answered: two-step sign-in is never turned off again because of it.
 */
async function orTellLater<Outcome>(
  asker: Asker,
  { on, before, finish }: { on: boolean; before: UserFactors; finish(): Promise<void> },
  change: () => Promise<Outcome>,
  deps: ProvingDeps
): Promise<Outcome> {
  const { store } = deps.factors
  const userId = asker.user.id
  try {
    return await change()
  } catch (error) {
    deps.background.run(
      `two-step ${userId}`,
      'whether two-step sign-in was changed could not be looked up',
      async () => {
        const { twoStepChosen } = await store.findFactors(userId)
        if (twoStepChosen !== on || before.twoStepChosen === on) return
        await finish()
        tell(asker, on, deps)
      },
      { retries: true }
    )
    throw error
  }
}
