// Packs the project as npm would publish it, into a fresh directory.
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * The tarball's path, its directory, and how to remove both. Builds first, because `prepack` is part of packing, unless
 * the caller has built and does not ask for `anew`. If `PACKED` names a directory, the first tarball is kept there for
 * all later callers except those with `anew`.
 */
export function pack({ anew = false } = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'fastify-authority-pack-'))
  const kept = anew ? undefined : process.env.PACKED
  if (kept !== undefined && tarballIn(kept) !== undefined)
    copyFileSync(tarballIn(kept), join(directory, basename(tarballIn(kept))))
  else
    execFileSync(
      'npm',
      [
        'pack',
        '--loglevel=error',
        ...(process.env.BUILT === '1' && !anew ? ['--ignore-scripts'] : []),
        '--pack-destination',
        directory
      ],
      { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] }
    )
  const tarball = tarballIn(directory)
  if (tarball === undefined) throw new Error('npm pack made no tarball')
  if (kept !== undefined && tarballIn(kept) === undefined) {
    mkdirSync(kept, { recursive: true })
    copyFileSync(tarball, join(kept, basename(tarball)))
  }
  return {
    directory,
    tarball,
    remove: () => {
      rmSync(directory, { recursive: true, force: true })
    }
  }
}

function tarballIn(directory) {
  const name = existsSync(directory) ? readdirSync(directory).find((file) => file.endsWith('.tgz')) : undefined
  return name === undefined ? undefined : join(directory, name)
}
