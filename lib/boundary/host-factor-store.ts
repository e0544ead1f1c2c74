import type { Clock } from '../ports/clock.ts'
import type { FactorStore } from '../ports/factor-store.ts'
import { addedFrom, countFrom, factorsByHandleFrom, flagFrom, handleFrom, outcomeFrom, usedPasskeyFrom, usedRecoveryCodeFrom, userFactorsFrom } from './factor-answers.ts'
import { within } from './within.ts'

/** How long a store may take for one answer. */
const BUDGET_MS = 5000

/** What browsers send for a handle, up to 64 bytes, and for the id of a credential, up to 1,023. */
const HANDLE = /^[A-Za-z0-9_-]{1,86}$/
const CREDENTIAL_ID = /^[A-Za-z0-9_-]{1,1364}$/

/**
 * A factor store with an answer or a rejection within five seconds, and every answer checked. What does not fit rejects with `MisfitError`,
 * and no answer is none of "this user has no factor": that would be a sign-in with the password alone.
 */
export function hostFactorStore (store: FactorStore, clock: Clock): FactorStore {
  /** A method that asks the store's own, called on the store, and reads what it answers. */
  const asked = <Args extends unknown[], Answer>(name: keyof FactorStore, read: (source: string, answer: unknown, ...args: Args) => Answer) => async (...args: Args): Promise<Answer> => {
    const method = store[name] as (...args: Args) => unknown
    return read(`factors.${name}`, await within(BUDGET_MS, clock, () => method.apply(store, args)), ...args)
  }
  const outcomes = <Outcome extends string>(...all: Outcome[]) => (source: string, answer: unknown): Outcome => outcomeFrom(source, answer, all)
  const findByHandle = asked<[handle: string, credentialId: string], Awaited<ReturnType<FactorStore['findByHandle']>>>('findByHandle', factorsByHandleFrom)

  return {
    kind: store.kind,
    durable: store.durable,
    findFactors: asked('findFactors', (source, answer) => userFactorsFrom(source, answer)),
    // Strangers send both. A database that can't hold them would reject, and that would look like an outage.
    findByHandle: async (handle, credentialId) => HANDLE.test(handle) && CREDENTIAL_ID.test(credentialId) ? await findByHandle(handle, credentialId) : null,
    claimHandle: asked('claimHandle', handleFrom),
    addTotp: asked('addTotp', addedFrom),
    addPasskey: asked('addPasskey', addedFrom),
    useTotp: asked('useTotp', outcomes('used', 'replayed', 'disabled', 'unknown')),
    usePasskey: asked('usePasskey', usedPasskeyFrom),
    useRecoveryCode: asked('useRecoveryCode', usedRecoveryCodeFrom),
    replaceRecoveryCodes: asked('replaceRecoveryCodes', flagFrom),
    countFailure: asked('countFailure', outcomes('counted', 'disabled', 'unknown')),
    removeFactor: asked('removeFactor', outcomes('removed', 'last', 'unknown')),
    renameFactor: asked('renameFactor', flagFrom),
    forgetDevices: asked('forgetDevices', countFrom),
    removeFactorsOfUser: asked('removeFactorsOfUser', countFrom)
  }
}
