import type { ProvingDeps } from './deps.ts'
import { lookLater } from '../../accounts/background.ts'
import { addressed, type MessageCause } from '../../accounts/outbox.ts'
import type { AccountSlots, Ending } from '../../accounts/slots.ts'
import type { RemovedFactor, UserFactors } from '../../ports/factor-store.ts'
import type { User } from '../../ports/user-store.ts'
import { type AuthenticationContext, covers, EMAIL_ACR, MFA_ACR } from '../../protocol/authentication.ts'
import { hasFactor } from '../../protocol/second-factors.ts'

/** The answers of second factors to questions about accounts. */
export function accountSlots(
  accounts: ProvingDeps
): Required<Pick<AccountSlots, 'factors' | 'proof' | 'end' | 'endRest' | 'keepsAgainstMailbox'>> {
  const { store } = accounts.factors
  return {
    factors: async (userId) => await store.findFactors(userId),
    async proof(user) {
      const found = await store.findFactors(user.id)
      return hasFactor(found) ? (signIn) => covers(signIn.acr, MFA_ACR) || isAllByEmail(user, found, signIn) : null
    },
    end: async (user, ending, cause) => {
      await end(user, ending, cause, accounts)
    },
    async endRest(userId) {
      await store.removeFactorsOfUser(userId)
    },
    keepsAgainstMailbox: async (user) =>
      factorsIn(await store.findFactors(user.id)).some(({ provisional }) => !provisional)
  }
}

/**
 * A user without a password can show an emailed code and their second factor, and no more. A user with a passkey shows
 * that, or the recovery code that replaces a lost one.
 */
function isAllByEmail({ passwordHash }: User, { passkeys }: UserFactors, { acr, amr }: AuthenticationContext): boolean {
  return (
    passwordHash === null &&
    acr === EMAIL_ACR &&
    (amr.includes('recovery') || (passkeys.length === 0 && amr.includes('otp')))
  )
}

type EndingFactor = RemovedFactor & { createdAt: number; provisional: boolean }

/** The facts of each factor for its message, and those that decide whether it ends. */
const factorsIn = ({ totp, passkeys }: UserFactors): EndingFactor[] => [
  ...totp.map(({ id, createdAt, provisional }) => ({ id, createdAt, provisional, kind: 'totp' as const })),
  ...passkeys.map(({ id, createdAt, provisional }) => ({ id, createdAt, provisional, kind: 'passkey' as const }))
]

async function end(user: User, ending: Ending, cause: MessageCause, deps: ProvingDeps): Promise<void> {
  const { store } = deps.factors
  const userId = user.id
  const found = factorsIn(await store.findFactors(userId))
  switch (ending.what) {
    case 'provisional': {
      const ended = found.filter(({ provisional }) => provisional)
      // The owner of the address did not set it up, and a message about its end would only puzzle them.
      const outbox = ending.by === 'disowned' ? null : deps.outbox
      await endFactors(user, ended, async () => await store.removeProvisional(userId), cause, { ...deps, outbox })
      return
    }
    case 'taken_over':
      // An authenticator app stays.
      for (const { id, kind } of found)
        if (kind === 'passkey' && id !== ending.keeps)
          await store.removeFactor({ userId, factorId: id, keepOne: false })
      return
    case 'since':
      for (const factor of found.filter(({ createdAt }) => createdAt >= ending.since)) {
        const removal = { userId, factorId: factor.id, keepOne: false }
        const remove = async () => ((await store.removeFactor(removal)) === 'removed' ? [factor] : [])
        await endFactors(user, [factor], remove, cause, deps)
      }
      return
    case 'all':
      await endFactors(
        user,
        found,
        async () => ((await store.removeFactorsOfUser(userId)) > 0 ? found : []),
        cause,
        deps
      )
  }
}

/**
 * Ends factors of a user by `remove`, which resolves to the removed ones, and tells of each. If its answer is lost, a
 * repeat finds no factor to tell of, so the missing ones of `found` are told of behind the reply.
 */
async function endFactors(
  user: User,
  found: readonly EndingFactor[],
  remove: () => Promise<readonly RemovedFactor[]>,
  { locale, origin }: MessageCause,
  { background, events, factors: { store }, outbox }: ProvingDeps
): Promise<void> {
  const tell = ({ id, kind }: RemovedFactor): void => {
    events.emit('factor_removed', { userId: user.id, factorId: id, kind, by: 'mailbox' }, origin)
    outbox?.post({ kind: 'factor_removed', factor: kind, by: 'user', user: addressed(user), locale, origin })
  }
  const removed = await remove().catch((error: unknown) => {
    const what = 'second factors that may have ended could not be looked at'
    lookLater(background, `ending ${user.id}`, what, async () => {
      const left = factorsIn(await store.findFactors(user.id))
      if (left.some(({ id }) => found.some((one) => one.id === id))) return false
      found.forEach(tell)
      return true
    })
    throw error
  })
  removed.forEach(tell)
}
