// `npm run build`, unless the caller has built just now and says so with BUILT=1, as .ci/run does: most of its gates
// need a build. With --if-missing any build will do.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const isBuilt =
  process.env.BUILT === '1' ||
  (process.argv.includes('--if-missing') &&
    existsSync(fileURLToPath(new URL('../dist/lib/index.d.ts', import.meta.url))))
if (!isBuilt)
  process.exitCode =
    spawnSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit', shell: process.platform === 'win32' }).status ??
    1
