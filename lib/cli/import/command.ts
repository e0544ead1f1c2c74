import { existsSync, statSync } from 'node:fs'
import { audited } from '../../accounts/acted-on.ts'
import { systemClock } from '../../adapters/node/system.ts'
import { settingsOf } from '../../composition/compose.ts'
import { NO_REQUEST } from '../../events.ts'
import type { UserImporter } from '../../ports/user-store.ts'
import type { AuthorityOptions } from '../../settings/options.ts'
import { hasBcrypt } from '../../adapters/imported-hashes/imported-hash-verifier.ts'
import { CliError, NO_BCRYPT, type StoreCommand } from '../command.ts'
import { placesOf, refuseMemory } from '../stores.ts'
import { FORMATS } from './formats.ts'
import { type ImportDeps, passOver } from './import-file.ts'

const isImporter = (store: object): store is UserImporter =>
  'importUsers' in store && typeof store.importUsers === 'function'

/** Prepares an import. @throws CliError for an unknown format, a missing file, or options that forbid the import */
function depsOf(options: AuthorityOptions, [name = '', path = '']: readonly string[]): ImportDeps {
  const format = Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined
  if (format === undefined)
    throw new CliError(2, `There is no format ${name}. Use one of ${Object.keys(FORMATS).join(' ')}.`)
  if (!existsSync(path) || !statSync(path).isFile()) throw new CliError(2, `There is no file ${path}.`)
  const store: object = options.users
  if (!isImporter(store)) throw new CliError(1, 'The user store has no importUsers, so it takes no users with an id.')
  const { firebase } = settingsOf(options).password
  if (name === 'firebase' && firebase === null)
    throw new CliError(1, 'Set the option password.firebase: the hashes of Firebase need the key of its project.')
  return { path, format, firebase, store, now: systemClock.now() }
}

type Report = Awaited<ReturnType<typeof passOver>>['report']

/** Reads the whole file and writes nothing. @throws CliError if two users would have the same username */
async function lookedAt(deps: ImportDeps, isDry: boolean): Promise<Report> {
  const { report, conflicts } = await passOver(deps, { dryRun: true })
  if (conflicts === 0) return report
  const problem =
    'Nothing was written, because two users would have one username. Rename one in the file or the service.'
  throw new CliError(1, problem, shown({ ...report, imported: 0, links: 0 }, isDry))
}

const shown = ({ rows, imported, ...others }: Report, isDry: boolean): object => ({
  rows,
  ...(isDry ? { wouldImport: imported } : { imported }),
  ...others
})

async function answered(report: Report, isDry: boolean): Promise<object> {
  if ((report.hashes['bcrypt'] ?? 0) > 0 && !(await hasBcrypt())) report.problems.unshift(NO_BCRYPT)
  if (report.skipped === 0) return shown(report, isDry)
  const advice = 'Mend them in the file and run the command again. It does not change users who are there.'
  throw new CliError(1, `Skipped rows: ${report.skipped}. ${advice}`, shown(report, isDry))
}

/** Imports users. `--dry-run` reads only: it does not start the service and creates no table. */
export const IMPORT: StoreCommand = {
  name: 'import',
  takes: ['<format>', '<file>'],
  flags: ['dry-run'],
  does: `Imports users with their ids and hashes. Formats: ${Object.keys(FORMATS).join(' ')}.`,
  async check({ options }, { words }) {
    const deps = depsOf(options, words)
    refuseMemory(options)
    const users = placesOf(options).find(({ option }) => option === 'users')
    if (((await users?.pending()) ?? []).length > 0)
      throw new CliError(1, 'A dry run makes no tables: run npx fastify-authority migrate first.')
    return await answered(await lookedAt(deps, true), true)
  },
  async run({ options, by, services }, { words }) {
    const deps = depsOf(options, words)
    await lookedAt(deps, false)
    const { report } = await audited(
      { action: 'users_imported', actor: by, target: null, origin: NO_REQUEST },
      async () => await passOver(deps, { dryRun: false }),
      services.grants.accounts
    )
    return await answered(report, false)
  }
}
