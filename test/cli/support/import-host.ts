/** Files of users, each with a host's configuration file for the command line. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'libsql'
import t, { rootOf } from '../../support/tap.ts'
import { run } from '../../../lib/cli/run.ts'

const ROOT = new URL('../../../', import.meta.url)
export const at = (path: string): string => new URL(path, ROOT).href
export const exportOf = (name: string): string => fileURLToPath(new URL(`../exports/${name}`, import.meta.url))
export const directory = mkdtempSync(join(tmpdir(), 'cli-import-'))
// The files that use it share a process.
rootOf(t).teardown(() => rmSync(directory, { recursive: true }))
export const file = (name: string, text: string): string => {
  const path = join(directory, name)
  writeFileSync(path, text)
  return path
}

let databases = 0
/** A file of users, and the host's file for it. `wrap` changes the store `users`, and `audit` sets the log. */
export function host({
  wrap = '',
  audit = '',
  options: more = {},
  path = join(directory, `${++databases}.sqlite`)
}: { wrap?: string; audit?: string; options?: object | undefined; path?: string } = {}): {
  path: string
  config: string
} {
  const config = file(
    `${++databases}.mjs`,
    `import * as lib from '${at('lib/index.ts')}'
import Database from '${import.meta.resolve('libsql')}'
export default async () => {
  const db = new Database('${path}')
  const stored = lib.sqliteUserStore(db)
  let users = stored
  let calls = 0
  ${wrap}
  const options = { issuer: 'https://auth.example.com', secret: '${'s3cr3t-of-a-test-'.repeat(3)}', clients: [],
    users, state: lib.sqliteState(db), ...${JSON.stringify(more)} }
  ${audit}
  return { options, close: () => db.close() }
}`
  )
  return { path, config }
}

interface Report extends Record<string, unknown> {
  imported: number
  unchanged: number
  problems: string[]
}

export async function importing(
  config: string,
  ...words: string[]
): Promise<{ code: number; report: Report; text: string }> {
  const { code, text, problem } = await run(['import', ...words, '--json', '--config', config])
  return { code, report: JSON.parse(text === '' ? 'null' : text) as Report, text: problem + text }
}

export function rowsIn(path: string): Array<Record<string, unknown>> {
  const db = new Database(path)
  try {
    if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'authority_users'").all().length === 0) return []
    return ['authority_users', 'authority_users_identities'].flatMap(
      (table) => db.prepare(`SELECT * FROM ${table} ORDER BY 1, 2`).all() as Array<Record<string, unknown>>
    )
  } finally {
    db.close()
  }
}
