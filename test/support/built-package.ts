import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync } from 'node:fs'
import { rename, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/**
 * The folder with the JavaScript of the package, bundled as it is published. A process that loads it takes a third of
 * the time of one that loads the modules. In a run of several files it is built once, in the directory that the runner
 * names in `TEST_PROGRAMS` and removes.
 */
export async function builtPackage(): Promise<{ directory: string; remove(): Promise<void> }> {
  const shared = process.env['TEST_PROGRAMS']
  const directory = join(shared ?? tmpdir(), 'package')
  if (shared !== undefined && existsSync(directory)) return { directory, remove: async () => {} }
  const draft = mkdtempSync(`${directory}-`)
  const remove = async (): Promise<void> => {
    await rm(draft, { recursive: true, force: true })
  }
  await promisify(execFile)(process.execPath, [join(ROOT, 'scripts/bundle.mjs'), draft])
  await symlink(join(ROOT, 'node_modules'), join(draft, 'node_modules'), 'dir')
  if (shared === undefined) return { directory: draft, remove }
  // Renamed into place, so that no process starts a part of it. If two build it at once, one comes late.
  await rename(draft, directory).catch(remove)
  return { directory, remove: async () => {} }
}
