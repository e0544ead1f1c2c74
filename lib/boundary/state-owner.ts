import { StartError } from '../errors.ts'
import type { State } from '../ports/state.ts'
import { digest } from '../protocol/digest.ts'

/** Advice for two services that share one state. */
const MENDS: Readonly<Record<string, string>> = {
  memory: 'Give each its own memoryState().',
  sqlite: 'Give each a file of its own.',
  redis: "Give each a prefix of its own, such as redisState(client, { prefix: 'shop:' }).",
  postgres: "Give each a schema of its own, such as postgresState(db, { schema: 'shop' })."
}

/** Checks that the state belongs to this service. */
interface StateOwner {
  /**
   * Asks the state until one call has succeeded. Later calls do nothing.
   * @throws StartError if the state belongs to another service
   */
  claim(): Promise<void>
  isClaimed(): boolean
}

/**
 * A state belongs to one issuer at one prefix, the first that uses it. In a shared state, a token of one service would
 * be valid at the other for the user with the same id, who may be a customer here and a member of staff there. A state
 * without this method accepts any service.
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
