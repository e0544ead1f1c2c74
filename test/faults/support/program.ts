/**
 * The process under test as one plain script. Ten processes that each translate the whole source would keep two
 * processors busy for longer than a short scenario lasts.
 */
import { hash } from 'node:crypto'
import { existsSync, mkdtempSync, symlinkSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

export interface Program {
  path: string
  remove(): Promise<void>
}

const START = 'start.cjs'
/**
 * Runs the script with the compile cache of an earlier process that ended normally. Without it, a process spends as
 * long on compiling as on all answers of a short scenario. If two end at once, one writes late, which does no harm.
 */
const RUNNER = `
const { existsSync, readFileSync, renameSync, writeFileSync } = require('node:fs')
const { pathToFileURL } = require('node:url')
const { Script, constants } = require('node:vm')
const filename = __dirname + '/instance.js'
const compiled = __dirname + '/compiled'
const cachedData = existsSync(compiled) ? readFileSync(compiled) : undefined
const script = new Script('(function (require, module, exports, importMetaUrl) {' + readFileSync(filename, 'latin1') + '})', { filename, cachedData, importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER })
if (cachedData === undefined) process.once('exit', () => {
  if (existsSync(compiled)) return
  writeFileSync(compiled + process.pid, script.createCachedData())
  renameSync(compiled + process.pid, compiled)
})
script.runInThisContext()(require, module, exports, pathToFileURL(filename).href)
`

/**
 * `entry` is the module that the process begins with: by default, the instance of the fault scenarios. In a run of
 * several files it is built once, in the directory that the runner names in `TEST_PROGRAMS` and removes.
 */
export async function buildProgram(
  entry = new URL(`instance${extname(import.meta.url)}`, import.meta.url)
): Promise<Program> {
  const shared = process.env['TEST_PROGRAMS']
  if (shared === undefined) return await buildIn(mkdtempSync(join(tmpdir(), 'authority-instance-')), entry)
  const directory = join(shared, hash('sha256', entry.href))
  const program = { path: join(directory, START), remove: async () => {} }
  if (existsSync(program.path)) return program
  // Renamed into place, so that no process starts a partial file. If two build it at once, one comes late.
  const built = await buildIn(mkdtempSync(`${directory}-`), entry)
  await rename(dirname(built.path), directory).catch(async () => {
    await built.remove()
  })
  return program
}

async function buildIn(directory: string, entry: URL): Promise<Program> {
  const remove = async (): Promise<void> => {
    await rm(directory, { recursive: true, force: true })
  }
  const path = join(directory, START)
  try {
    // Packages with a binary are loaded from next to the script. The others are bundled, because reading them file by
    // file took half of a start.
    symlinkSync(nodeModules(), join(directory, 'node_modules'), 'dir')
    await build({
      entryPoints: [fileURLToPath(entry)],
      outfile: join(directory, 'instance.js'),
      bundle: true,
      platform: 'node',
      target: 'node20',
      format: 'cjs',
      minifySyntax: true,
      minifyWhitespace: true,
      external: ['libsql', 'argon2', '@node-rs/*', 'pg-native'],
      define: { 'import.meta.url': 'importMetaUrl' },
      logLevel: 'error'
    })
    await writeFile(path, RUNNER)
    return { path, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

/** The folder of this project's packages, in which the bundler itself was found. */
function nodeModules(): string {
  const [before = ''] = createRequire(import.meta.url)
    .resolve('esbuild')
    .split(/node_modules/)
  return join(before, 'node_modules')
}
