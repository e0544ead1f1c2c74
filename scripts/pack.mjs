// Packs the project as npm would publish it, into a fresh directory.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

/** The tarball's path, its directory, and how to remove both. Builds first, since `prepack` is part of packing; not where whoever calls has built, unless `anew`. */
export function pack ({ anew = false } = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'fastify-authority-pack-'))
  execFileSync('npm', ['pack', '--loglevel=error', ...process.env.BUILT === '1' && !anew ? ['--ignore-scripts'] : [], '--pack-destination', directory], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
  const name = readdirSync(directory).find((file) => file.endsWith('.tgz'))
  if (name === undefined) throw new Error('npm pack made no tarball')
  return { directory, tarball: join(directory, name), remove: () => { rmSync(directory, { recursive: true, force: true }) } }
}
