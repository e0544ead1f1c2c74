import { settingsOf } from '../composition/compose.ts'
import type { ConfigCommand } from './command.ts'
import { placesOf } from './stores.ts'

export const MIGRATE: ConfigCommand = {
  name: 'migrate',
  takes: [],
  flags: ['dry-run'],
  does: 'Brings the tables of all stores up to date. `--dry-run` only lists the migrations.',
  async check({ options }, { dryRun }) {
    settingsOf(options)
    const rows: Array<{ store: string; migration: string }> = []
    for (const { option, pending, prepare } of placesOf(options)) {
      rows.push(...(await pending()).map((migration) => ({ store: option, migration })))
      if (!dryRun) await prepare()
    }
    return rows
  }
}
