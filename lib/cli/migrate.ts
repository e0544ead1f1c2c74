import { settingsOf } from '../composition/compose.ts'
import { type ConfigCommand, counted, Said } from './command.ts'
import { placesOf } from './stores.ts'

export const MIGRATE: ConfigCommand = {
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
