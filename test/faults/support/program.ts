/**
 * The process under test as one plain script. Ten processes that each translate the whole source anew would keep two processors
 * busy for longer than a short scenario lasts.
 */
import { mkdtempSync, symlinkSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

export interface Program {
  path: string
  remove(): Promise<void>
}

/** `entry` is the module that the process begins with: by default, the instance of the fault scenarios. */
export async function buildProgram (entry = new URL(`instance${extname(import.meta.url)}`, import.meta.url)): Promise<Program> {
  const directory = mkdtempSync(join(tmpdir(), 'authority-instance-'))
  const remove = async (): Promise<void> => { await rm(directory, { recursive: true, force: true }) }
  const path = join(directory, 'instance.mjs')
  try {
    // Of the packages those with a binary are looked for beside the script. The others go into it: reading them file by file was half of a start.
    symlinkSync(nodeModules(), join(directory, 'node_modules'), 'dir')
    await build({
      entryPoints: [fileURLToPath(entry)],
      outfile: path, bundle: true, platform: 'node', target: 'node20', format: 'esm', sourcemap: 'inline',
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
