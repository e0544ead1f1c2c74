import { invalidOptions, misfit, StartError } from '../errors.ts'
import type { State } from '../ports/state.ts'
import { digest } from '../protocol/digest.ts'
import type { FactorStore } from '../ports/factor-store.ts'
import type { Sealer } from '../ports/cryptography.ts'

/** How to give each of two services a state of its own, by `state.kind`. */
const MENDS: Readonly<Record<string, string>> = {
  memory: 'Give each its own memoryState().',
  sqlite: 'Give each a file of its own.',
  redis: "Give each a prefix of its own, such as redisState(client, { prefix: 'shop:' }).",
  postgres: "Give each a schema of its own, such as postgresState(db, { schema: 'shop' })."
}

/** Checks that the state belongs to this service. */
interface StateOwner {
  /**
   * Claims the state for this service. After the first success, calls do nothing.
   * @throws StartError if the state belongs to another service
   */
  claim(): Promise<void>
  isClaimed(): boolean
}

/**
 * Binds a state to one service: the issuer and prefix that use it first. In a shared state, a token of one service
 * would be valid at the other for the user with the same id, who may be a customer here and a member of staff there. A
 * state without `claimFor` accepts any service.
 */
export function stateOwner(state: State, { issuer, prefix }: { issuer: string; prefix: string }): StateOwner {
  const own = digest(JSON.stringify([issuer, prefix]))
  let claimed = state.claimFor === undefined
  return {
    isClaimed: () => claimed,
    async claim() {
      if (claimed || state.claimFor === undefined) return
      if ((await state.claimFor(own)) !== own) {
        throw new StartError(
          'FST_AUTHORITY_FOREIGN_STATE',
          `The ${state.kind} state is that of a service with another issuer than ${issuer}, or with another prefix ` +
            `than ${prefix}. ${MENDS[state.kind] ?? 'Give each a state of its own.'} Where the issuer or the ` +
            'prefix of this service has changed, docs/guides/state.md says how to keep its state.'
        )
      }
      claimed = true
    }
  }
}

const CONTEXT = 'seal of the second factors'
const ON_PURPOSE =
  'To go on all the same, remove the record of kind "seal" from the factor store: the authenticator apps of before ' +
  'then answer 503 (docs/deployment.md).'

/**
 * Checks at the start whether `secret` opens the keys of authenticator apps. The first start stores a sealed text that
 * names the issuer. Every later start opens that text and seals it again under the first secret. Without this check, a
 * wrong secret would show only when a user enters a code. Passkeys need no secret: with `seals: false`, a start checks
 * a stored text, but stores no first text. Checks nothing if the store lacks `keepSeal`.
 * @throws StartError if no secret opens the text, or if the text names another issuer
 * @throws MisfitError if the store returns no text
 */
export async function checkFactorSeal(
  store: Pick<FactorStore, 'keepSeal'>,
  { issuer, sealer, seals }: { issuer: string; sealer: Sealer; seals: boolean }
): Promise<void> {
  if (store.keepSeal === undefined) return
  const next = sealer.seal(issuer, CONTEXT)
  // `''` is never stored, so this call only reads.
  const kept: unknown = await store.keepSeal(next, seals ? null : '')
  if (!seals && (kept === null || kept === undefined)) return
  // A host's store may return any value. A missing text does not count as an opened text.
  if (typeof kept !== 'string')
    throw misfit('store', { source: 'factors.keepSeal', got: kept, takes: 'the text that is kept' })
  if (kept === next) return
  const former = sealer.open(kept, CONTEXT)
  if (former === null)
    throw invalidOptions(
      'secret: it does not open the second factors in the factor store, which were sealed under another one. ' +
        `Give both, as in secret: [new, former]. ${ON_PURPOSE}`
    )
  if (former !== issuer)
    throw invalidOptions(
      `issuer: got ${JSON.stringify(issuer)}, and the second factors in the factor store are sealed for ` +
        `${JSON.stringify(former)}. ${ON_PURPOSE}`
    )
  await store.keepSeal(next, kept)
}
