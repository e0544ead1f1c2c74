import { existsSync, statSync } from 'node:fs'
import { systemClock } from '../../adapters/node/system.ts'
import type { UserImporter } from '../../ports/user-import.ts'
import { resolvePassword } from '../../settings/sections/password.ts'
import { CliError, type StoreCommand } from '../command.ts'
import { FORMATS } from './formats.ts'
import { passOver } from './import-file.ts'

const isImporter = (store: object | undefined): store is UserImporter =>
  store !== undefined && 'importUsers' in store && typeof store.importUsers === 'function'

export const IMPORT: StoreCommand = {
  name: 'import',
  takes: ['<format>', '<file>'],
  flags: ['dry-run'],
  does: `Imports users with their ids and hashes. Formats: ${Object.keys(FORMATS).join(' ')}.`,
  async run({ options }, { words: [name = '', path = ''], dryRun }) {
    const format = Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined
    if (format === undefined)
      throw new CliError(2, `There is no format ${name}. Use one of ${Object.keys(FORMATS).join(' ')}.`)
    if (!existsSync(path) || !statSync(path).isFile()) throw new CliError(2, `There is no file ${path}.`)
    const { users: store, password } = options
    if (!isImporter(store)) throw new CliError(1, 'The user store has no importUsers, so it takes no users with an id.')
    const { firebase } = resolvePassword(password)
    if (name === 'firebase' && firebase === null)
      throw new CliError(1, 'Set the option password.firebase: the hashes of Firebase need the key of its project.')
    const deps = { path, format, firebase, store, now: systemClock.now() }

    const seen = await passOver(deps, { dryRun: true })
    if (seen.conflicts > 0)
      throw new CliError(1, 'Nothing was written, because two users would have one username.', {
        ...seen.report,
        imported: 0
      })
    const { report } = dryRun ? seen : await passOver(deps, { dryRun: false })
    if (report.skipped > 0) throw new CliError(1, `Skipped rows: ${report.skipped}.`, report)
    return report
  }
}
