/** `npx fastify-authority` as a process of its own, and a directory with configuration files and a SQLite file. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { builtPackage } from '../../support/built-package.ts'
import t from '../../support/tap.ts'

const ROOT = new URL('../../../', import.meta.url)
const at = (path: string): string => new URL(path, ROOT).href

interface Ended {
  code: number
  stdout: string
  stderr: string
}

export const ISSUER = 'https://auth.example.com'
export const SECRET = 's3cr3t-of-a-test-'.repeat(3)

export const directory = mkdtempSync(join(tmpdir(), 'cli-'))
t.teardown(() => rmSync(directory, { recursive: true }))
export const database = join(directory, 'db.sqlite')

export const file = (name: string, text: string): string => {
  const path = join(directory, name)
  writeFileSync(path, text)
  return path
}

const built = await builtPackage()
t.teardown(built.remove)
/** The command line, for a process of its own. */
export const program = join(built.directory, 'cli.js')
/** For such a process: a configuration file then uses the same bundle. */
export const ENVIRONMENT = { TEST_LIBRARY: pathToFileURL(join(built.directory, 'index.js')).href }

/** The beginning of a configuration file, up to the first fields of its options. */
export const head =
  `const lib = await import(process.env.TEST_LIBRARY ?? '${at('lib/index.ts')}')\n` +
  `import Database from '${import.meta.resolve('libsql')}'\nconst db = new Database('${database}')\n` +
  `const options = { issuer: '${ISSUER}', secret: '${SECRET}', clients: [{ clientId: 'web', firstParty: true }], `

/** A configuration over the SQLite file, with more options. */
export const sqliteConfig = (name: string, more = ''): string =>
  file(
    name,
    `${head} users: lib.sqliteUserStore(db), state: lib.sqliteState(db), ${more} }\n` +
      'export default { options, close: () => db.close() }'
  )

export const cli = async (words: readonly string[], input = '', env: Record<string, string> = {}): Promise<Ended> =>
  await new Promise((done) => {
    const child = execFile(
      process.execPath,
      [program, ...words],
      { cwd: directory, env: { ...process.env, ...ENVIRONMENT, ...env }, maxBuffer: 2 ** 26 },
      (error, stdout, stderr) => done({ code: error === null ? 0 : Number(error.code), stdout, stderr })
    )
    child.stdin?.end(input)
  })
