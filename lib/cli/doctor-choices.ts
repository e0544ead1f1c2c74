import type { AuthorityOptions } from '../settings/options.ts'
import type { Place } from './stores.ts'

/** A thing to mend. `check` is a word for programs, `problem` a sentence with the means. */
export interface Fault {
  check:
    | 'options'
    | 'settings'
    | 'store'
    | 'migrations'
    | 'clock'
    | 'keys'
    | 'workers'
    | 'redis'
    | 'proxy'
    | 'messages'
    | 'connection'
    | 'memory'
    | 'roles'
    | 'hashes'
    | 'limits'
  problem: string
}

export type Found = (check: Fault['check'], problem: string) => void

/** Names of fields by which many apps decide on rights. */
const RIGHTS = /^(?:is)?_?(?:admin|superuser|roles?|groups?|permissions?|scopes?|rights)$/i

/** Options that the plugin accepts, and that are seldom meant in a service. */
export function examineChoices(options: AuthorityOptions, stores: readonly Place[], found: Found, noted: Found): void {
  // The plugin may have refused the options, so nothing is sure about their types.
  const registration = options.registration as { fields?: { properties?: object } | null } | false | null | undefined
  const memory = stores.flatMap(({ option, isMemory }) => (isMemory ? [option] : []))
  if (memory.includes('users'))
    found('memory', 'The users are in memory, so they are gone when the process ends. Set users to a store.')
  else if (memory.includes('state'))
    noted('memory', 'The state is in memory, so a restart signs all people out. Set state or redis.')
  if (options.rateLimit === false)
    noted('limits', 'rateLimit is false, so nothing here slows down guesses of passwords. Leave the option out.')
  const fields = Object.keys((registration || {}).fields?.properties ?? {})
  for (const field of fields.filter((name) => RIGHTS.test(name)))
    found('roles', `registration.fields has ${field}, so people choose it for themselves. Keep it out of these fields.`)
}
