// tap's own runner is put together from the plugins that .taprc names, once for each install: its first run fails where
// it finds others. Without it a test file runs with the plugins that tap comes with, of which the one for TypeScript
// does nothing but in the runner.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** False where it failed. */
export async function buildRunner() {
  const built = join(root, 'node_modules/.cache/tap-built')
  const wanted = readFileSync(join(root, '.taprc'), 'utf8').match(/^plugin:(\n +-.*)*/m)?.[0] ?? ''
  if (existsSync(built) && readFileSync(built, 'utf8') === wanted) return true
  const child = spawn(process.execPath, [join(root, 'node_modules/tap/dist/esm/run.mjs'), 'build'], {
    stdio: ['ignore', 'ignore', 'inherit']
  })
  const status = await new Promise((resolve) => {
    child.once('exit', resolve)
  })
  if (status !== 0) return false
  mkdirSync(join(built, '..'), { recursive: true })
  writeFileSync(built, wanted)
  return true
}
