// Runs a program that few need: `node scripts/with.mjs FOLDER PROGRAM ARGUMENTS…`. The folder has a lockfile of its
// own, so that `npm ci` brings nothing of it to the others; what the lockfile names is installed before the first run,
// and again where it has changed.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const [folder, program, ...args] = process.argv.slice(2)
const modules = join(root, folder, 'node_modules')
const installed = join(modules, '.installed')
const lock = readFileSync(join(root, folder, 'package-lock.json'), 'utf8')

if (!existsSync(installed) || readFileSync(installed, 'utf8') !== lock) {
  run(join(root, folder), 'npm', ['ci', '--ignore-scripts'])
  writeFileSync(installed, lock)
}
run(root, join(modules, '.bin', program), args)

function run(cwd, command, words) {
  const { status } = spawnSync(command, words, { cwd, stdio: 'inherit', shell: process.platform === 'win32' })
  if (status !== 0) process.exit(status ?? 1)
}
