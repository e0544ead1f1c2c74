import { StartError } from '../errors.ts'
import type { State } from '../ports/state.ts'
import { digest } from '../protocol/digest.ts'

/** What to do where two services have been given one state. */
const MENDS: Readonly<Record<string, string>> = {
  memory: 'Give each its own memoryState().',
  sqlite: 'Give each a file of its own.',
  redis: "Give each a prefix of its own, such as redisState(client, { prefix: 'shop:' }).",
  postgres: "Give each a schema of its own, such as postgresState(db, { schema: 'shop' })."
}

/** Whether the state is this issuer's. */
interface StateOwner {
  /**
   * Checks it. Every call asks the state until one call has succeeded; later calls do nothing. @throws StartError where
   * it is another's
   */
  claim(): Promise<void>
  isClaimed(): boolean
}

/**
 * A state is of one issuer, the first that uses it: in a shared one, a token of one service would be good at the other,
 * for whichever user has the same id there. A state that can't tell whose it is takes anybody.
 */
export function stateOwner(state: State, issuer: string): StateOwner {
  const own = digest(issuer)
  let claimed = state.claimFor === undefined
  return {
    isClaimed: () => claimed,
    async claim() {
      if (claimed || state.claimFor === undefined) return
      if ((await state.claimFor(own)) !== own) {
        throw new StartError(
          'FST_AUTHORITY_FOREIGN_STATE',
          `The ${state.kind} state is that of a service with another issuer than ${issuer}. ` +
            `${MENDS[state.kind] ?? 'Give each a state of its own.'} Where the issuer of this service ` +
            'has changed, docs/guides/state.md says how to keep its state.'
        )
      }
      claimed = true
    }
  }
}
