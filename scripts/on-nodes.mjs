// Runs a command on other versions of Node.js, which npm brings: `node scripts/on-nodes.mjs 22 24 26 -- npm run smoke`.
// Each is kept under node_modules/.cache, and is what `node` means for the command and for all that it starts.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [versions, [command, ...args]] = [
    process.argv.slice(2, process.argv.indexOf('--')),
    process.argv.slice(process.argv.indexOf('--') + 1)
  ]
  for (const version of versions) runOn(version, command, args)
}

function runOn(version, command, args) {
  const began = performance.now()
  const node = nodeOf(version)
  const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}`, NODE: node }
  const { status } = spawnSync(command, args, { cwd: root, env, stdio: 'inherit' })
  console.log(`-- Node.js ${version}: ${((performance.now() - began) / 1000).toFixed(0)} s`)
  if (status !== 0) process.exit(status ?? 1)
}

/** The program `node` of this version. The package of npm is named for the system. */
export function nodeOf(version) {
  const name = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
  const place = join(root, 'node_modules/.cache', `node-${version}`)
  const node = join(place, 'node_modules', name, 'bin/node')
  if (!existsSync(node)) {
    mkdirSync(place, { recursive: true })
    writeFileSync(join(place, 'package.json'), '{ "private": true }\n')
    const { status } = spawnSync(
      'npm',
      ['install', '--prefix', place, '--no-audit', '--no-fund', '--loglevel=error', `${name}@${version}`],
      { stdio: 'inherit' }
    )
    if (status !== 0) throw new Error(`npm brought no Node.js ${version}`)
  }
  const { stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' })
  if (!stdout.startsWith(`v${version}.`)) throw new Error(`not Node.js ${version}: ${stdout}`)
  console.log(`\n-- Node.js ${stdout.trim()}`)
  return node
}
