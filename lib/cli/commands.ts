import { systemRandom } from '../adapters/node/system.ts'
import { AUDIT_COMMANDS } from './audit.ts'
import { type Command, type ConfigCommand, FLAGS, type PlainCommand, type StoreCommand } from './command.ts'
import { DOCTOR } from './doctor.ts'
import { IMPORT } from './import/command.ts'
import { KEY_COMMANDS } from './keys.ts'
import { MIGRATE } from './migrate.ts'
import { USER_COMMANDS } from './user.ts'

export type AnyCommand = PlainCommand | StoreCommand | ConfigCommand

/** All commands, in the order of the usage and of docs/reference/command-line.md. */
export const COMMANDS: readonly AnyCommand[] = [
  {
    name: 'secret',
    takes: [],
    does: 'Prints 32 random bytes for the option `secret`.',
    print: () => systemRandom().secret()
  },
  DOCTOR,
  MIGRATE,
  ...USER_COMMANDS,
  IMPORT,
  ...KEY_COMMANDS,
  ...AUDIT_COMMANDS
]

/** A command as people type it. */
export const lineOfCommand = ({ name, takes, flags = [] }: Command): string =>
  [name, ...takes, ...flags.map((flag) => `[${[`--${flag}`, FLAGS[flag] ?? []].flat().join(' ')}]`)].join(' ')
