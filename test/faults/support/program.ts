/**
 * The process under test as one plain script. Ten processes that each translate the whole source anew would keep two processors
 * busy for longer than a short scenario lasts.
 */
import { hash } from 'node:crypto'
import { existsSync, mkdtempSync, symlinkSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

export interface Program {
  path: string
  remove(): Promise<void>
}

/**
 * `entry` is the module that the process begins with: by default, the instance of the fault scenarios. In a run of several files it is
 * built once, in the directory that the runner names in `TEST_PROGRAMS` and removes.
 */
export async function buildProgram (entry = new URL(`instance${extname(import.meta.url)}`, import.meta.url)): Promise<Program> {
  const shared = process.env['TEST_PROGRAMS']
  if (shared === undefined) return await buildIn(mkdtempSync(join(tmpdir(), 'authority-instance-')), entry)
  const directory = join(shared, hash('sha256', entry.href))
  const program = { path: join(directory, 'instance.mjs'), remove: async () => {} }
  if (existsSync(program.path)) return program
  // Renamed into place, so that nobody starts half of it. Of two that build it at once one comes late.
  const built = await buildIn(mkdtempSync(`${directory}-`), entry)
  await rename(dirname(built.path), directory).catch(async () => { await built.remove() })
  return program
}

async function buildIn (directory: string, entry: URL): Promise<Program> {
  const remove = async (): Promise<void> => { await rm(directory, { recursive: true, force: true }) }
  const path = join(directory, 'instance.mjs')
  try {
    // Of the packages those with a binary are looked for beside the script. The others go into it: reading them file by file was half of a start.
    symlinkSync(nodeModules(), join(directory, 'node_modules'), 'dir')
    await build({
      entryPoints: [fileURLToPath(entry)],
      outfile: path, bundle: true, platform: 'node', target: 'node20', format: 'esm', minifySyntax: true, minifyWhitespace: true,
      external: ['libsql', 'argon2', '@node-rs/*', 'pg-native'],
      banner: { js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url)" },
      logLevel: 'error'
    })
    return { path, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

/** Where this project's packages are: the folder that the bundler itself was found in. */
function nodeModules (): string {
  const [before = ''] = createRequire(import.meta.url).resolve('esbuild').split(/node_modules/)
  return join(before, 'node_modules')
}
