import type { Clock } from '../ports/clock.ts'
import type { FactorStore } from '../ports/factor-store.ts'
import {
  addedFrom,
  countFrom,
  factorsByHandleFrom,
  flagFrom,
  handleFrom,
  outcomeFrom,
  removedFrom,
  usedPasskeyFrom,
  usedRecoveryCodeFrom,
  userFactorsFrom
} from './factor-answers.ts'
import { within } from './within.ts'

/** How long a store may take for one answer. */
const BUDGET_MS = 5000

// What comes from outside, as browsers send it. A database that can't hold it would reject, and that would look like an
// outage.
const isHandle = (text: string): boolean => /^[A-Za-z0-9_-]{1,86}$/.test(text)
const isCredentialId = (text: string): boolean => /^[A-Za-z0-9_-]{1,1364}$/.test(text)
const isFactorId = ([{ factorId }]: readonly [{ factorId: string }]): boolean =>
  /^[^\0\p{Cs}]{1,10000}$/u.test(factorId)

/**
 * A factor store with an answer or a rejection within five seconds, and every answer checked. What does not fit rejects
 * with `MisfitError`, and no answer is none of "this user has no factor": that would be a sign-in with the password
 * alone.
 */
export function hostFactorStore(store: FactorStore, clock: Clock): FactorStore {
  /** `canBe`: whether there can be what is asked for; where not, the answer is `none`, and the store is not asked. */
  function asked<Args extends unknown[], Answer>(
    name: keyof FactorStore,
    read: (source: string, answer: unknown, args: NoInfer<Args>) => Answer,
    canBe?: (args: NoInfer<Args>) => boolean,
    none?: Answer
  ): (...args: Args) => Promise<Answer> {
    return async (...args) => {
      if (canBe?.(args) === false) return none as Answer
      const method = store[name] as (...args: Args) => unknown
      return read(`factors.${name}`, await within<unknown>(BUDGET_MS, clock, () => method.apply(store, args)), args)
    }
  }
  const outcomes =
    <Outcome extends string>(...all: Outcome[]) =>
    (source: string, answer: unknown): Outcome =>
      outcomeFrom(source, answer, all)

  return {
    kind: store.kind,
    durable: store.durable,
    findFactors: asked('findFactors', (source, answer) => userFactorsFrom(source, answer)),
    findByHandle: asked(
      'findByHandle',
      factorsByHandleFrom,
      ([handle, credentialId]) => isHandle(handle) && isCredentialId(credentialId),
      null
    ),
    claimHandle: asked('claimHandle', handleFrom),
    addTotp: asked('addTotp', addedFrom),
    addPasskey: asked('addPasskey', addedFrom),
    useTotp: asked('useTotp', outcomes('used', 'replayed', 'disabled', 'unknown'), isFactorId, 'unknown'),
    usePasskey: asked('usePasskey', usedPasskeyFrom, ([{ credentialId }]) => isCredentialId(credentialId), {
      outcome: 'unknown'
    }),
    useRecoveryCode: asked('useRecoveryCode', usedRecoveryCodeFrom),
    replaceRecoveryCodes: asked('replaceRecoveryCodes', flagFrom),
    setTwoStep: asked('setTwoStep', outcomes('changed', 'unchanged', 'refused')),
    countFailure: asked('countFailure', outcomes('counted', 'disabled', 'forgotten', 'unknown')),
    removeFactor: asked('removeFactor', outcomes('removed', 'last', 'unknown'), isFactorId, 'unknown'),
    removeProvisional: asked('removeProvisional', removedFrom),
    renameFactor: asked('renameFactor', flagFrom, isFactorId, false),
    forgetDevices: asked('forgetDevices', countFrom),
    removeFactorsOfUser: asked('removeFactorsOfUser', countFrom)
  }
}
