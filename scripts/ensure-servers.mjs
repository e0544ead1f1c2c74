// What tests need on the machine besides Node: found, installed where that takes nobody's permission (Debian, as root), or asked for
// in one line. A test that can't run is a failure, never a skip.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const chromiumPaths = JSON.parse(readFileSync(new URL('chromium-paths.json', import.meta.url), 'utf8'))

const SERVERS = [
  {
    name: 'Chromium',
    neededBy: ['test/browser'],
    isPresent: () => process.env.CHROMIUM_PATH ? existsSync(process.env.CHROMIUM_PATH) : chromiumPaths.some((path) => existsSync(path)),
    // What somebody named and is not there, no package brings.
    debianPackages: process.env.CHROMIUM_PATH ? [] : ['chromium'],
    otherwise: 'install Chromium or Chrome, or name its executable in CHROMIUM_PATH'
  }
]

/** `args`: those of the test runner. True when all that the tests need is there. */
export function ensureServers (args) {
  const missing = SERVERS.filter(({ neededBy, isPresent }) => neededBy.some((directory) => mayRun(directory, args)) && !isPresent())
  const packages = missing.flatMap(({ debianPackages }) => debianPackages)
  if (packages.length > 0 && isDebian() && process.getuid?.() === 0) {
    console.log(`installing for the tests: ${packages.join(', ')}`)
    apt(['update'])
    apt(['install', '-y', '--no-install-recommends', ...packages])
  }
  const absent = missing.filter(({ isPresent }) => !isPresent())
  for (const { name, neededBy, otherwise } of absent) console.error(`${neededBy.join(', ')}: no ${name} on this machine: ${otherwise}`)
  return absent.length === 0
}

/** Without a file or directory among the arguments all tests run. */
function mayRun (directory, args) {
  const paths = args.filter((arg) => !arg.startsWith('-')).map((arg) => arg.replace(/[*?[{].*$/, '')).filter((arg) => arg !== '' && existsSync(arg))
  return paths.length === 0 || paths.some((path) => isWithin(path, resolve(root, directory)) || isWithin(resolve(root, directory), path))
}

function isWithin (path, directory) {
  const way = relative(resolve(directory), resolve(path))
  return way !== '..' && !/^\.\.[/\\]/.test(way)
}

/** Debian itself: what Ubuntu calls chromium is a snap, which a container can't run. */
function isDebian () {
  return existsSync('/etc/os-release') && /^ID=debian$/m.test(readFileSync('/etc/os-release', 'utf8'))
}

/** Whether it worked is seen by what is there afterwards. */
function apt (args) {
  spawnSync('apt-get', ['-q', ...args], { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } })
}
