import { counted } from '../pages/counted.ts'
import { systemRandom } from '../adapters/node/system.ts'
import { AUDIT_COMMANDS } from './audit.ts'
import { type Command, type ConfigCommand, FLAGS, type PlainCommand, type StoreCommand, Said } from './command.ts'
import { DOCTOR } from './doctor.ts'
import { IMPORT } from './import/command.ts'
import { KEY_COMMANDS } from './keys.ts'
import { USER_COMMANDS } from './user.ts'
import { settingsOf } from '../composition/compose.ts'
import { placesOf } from './stores.ts'

const MIGRATE: ConfigCommand = {
  name: 'migrate',
  takes: [],
  flags: ['dry-run'],
  does: 'Brings the tables of all stores up to date. `--dry-run` only lists the migrations.',
  async check({ options }, { 'dry-run': isDry = false }) {
    settingsOf(options)
    const rows: Array<{ store: string; migration: string }> = []
    for (const { option, pending, prepare } of placesOf(options)) {
      rows.push(...(await pending()).map((migration) => ({ store: option, migration })))
      if (!isDry) await prepare()
    }
    const found = rows.length === 0 ? 'No migration' : counted(rows.length, 'migration')
    return new Said(rows, `${found} ${isDry ? 'to make' : 'made'}.`, rows.length === 0 ? undefined : rows)
  }
}

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

/** Writes a command for the usage, with its arguments and optional flags. */
export const lineOfCommand = ({ name, takes, flags = [] }: Command): string =>
  [name, ...takes, ...flags.map((flag) => `[${[`--${flag}`, FLAGS[flag] ?? []].flat().join(' ')}]`)].join(' ')
