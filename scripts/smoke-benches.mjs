// Every benchmark for a moment, so that none rots: it must run and find something, and nobody judges how fast.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { ensureServers } from './ensure-servers.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'

if (!ensureServers(['bench'])) process.exit(1)
run(npm, ['run', '--silent', 'bench', '--', '--quick'])
// Our browser client alone, in two situations. An earlier run has built it.
run(process.execPath, ['dist/tools/bench/client/run.js', '--only', 'ours,CC,DD'])
console.log('bench: every benchmark ran')

function run(command, args) {
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
