// Finds the servers and browsers that tests need besides Node, installs them if no permission is needed (Debian, as
// root), or asks for them in one line. A test that can't run is a failure, never a skip.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { delimiter, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const chromiumPaths = JSON.parse(readFileSync(new URL('chromium-paths.json', import.meta.url), 'utf8'))

/** `debianPackages`: the first that brings it. */
const SERVERS = [
  {
    name: 'Chromium',
    neededBy: ['test/browser', 'bench'],
    isPresent: () =>
      process.env.CHROMIUM_PATH
        ? existsSync(process.env.CHROMIUM_PATH)
        : chromiumPaths.some((path) => existsSync(path)),
    // No package brings a missing program that a variable names. The Chromium without a window, of Debian 12 and later,
    // takes half the work.
    debianPackages: process.env.CHROMIUM_PATH ? [] : ['chromium-headless-shell', 'chromium'],
    otherwise: 'install Chromium or Chrome, or name its executable in CHROMIUM_PATH'
  },
  {
    name: 'Redis or Valkey',
    neededBy: [
      'test/contract',
      'test/concurrency',
      'test/faults',
      'test/flow',
      'test/http',
      'test/properties',
      'bench'
    ],
    isPresent: () =>
      process.env.REDIS_SERVER_BIN
        ? existsSync(process.env.REDIS_SERVER_BIN)
        : ['redis-server', 'valkey-server'].some(isOnPath),
    debianPackages: process.env.REDIS_SERVER_BIN ? [] : ['redis-server'],
    otherwise: 'install redis-server or valkey-server, or name its executable in REDIS_SERVER_BIN'
  },
  {
    name: 'PostgreSQL',
    neededBy: [
      'test/contract',
      'test/concurrency',
      'test/docs',
      'test/faults',
      'test/flow',
      'test/properties',
      'bench'
    ],
    isPresent: () =>
      process.env.POSTGRES_BIN
        ? isPostgres(process.env.POSTGRES_BIN)
        : [...pathDirectories(), ...debianPostgres()].some(isPostgres),
    debianPackages: process.env.POSTGRES_BIN ? [] : ['postgresql'],
    otherwise: 'install PostgreSQL, or name the directory of initdb and postgres in POSTGRES_BIN'
  },
  {
    name: 'MariaDB',
    neededBy: ['test/docs/own-state-store.test.ts'],
    isPresent: () =>
      ['mariadbd', 'mariadb-install-db'].every((name) => isOnPath(name) || existsSync(`/usr/sbin/${name}`)),
    debianPackages: ['mariadb-server'],
    otherwise: 'install mariadb-server'
  },
  {
    name: 'nginx',
    neededBy: ['test/flow'],
    // Not on the PATH of users other than root.
    isPresent: () =>
      process.env.NGINX_BIN ? existsSync(process.env.NGINX_BIN) : isOnPath('nginx') || existsSync('/usr/sbin/nginx'),
    debianPackages: process.env.NGINX_BIN ? [] : ['nginx-light', 'nginx'],
    otherwise: 'install nginx, or name its executable in NGINX_BIN'
  },
  {
    name: 'openssl',
    neededBy: ['test/flow'],
    isPresent: () => isOnPath('openssl'),
    debianPackages: ['openssl'],
    otherwise: 'install openssl'
  }
]

/** `args`: those of the test runner. True when all that the tests need is there. */
export function ensureServers(args) {
  const missing = SERVERS.filter(
    ({ neededBy, isPresent }) => neededBy.some((directory) => mayRun(directory, args)) && !isPresent()
  )
  if (missing.some(({ debianPackages }) => debianPackages.length > 0) && isDebian() && process.getuid?.() === 0) {
    apt(['update'])
    for (const { debianPackages, isPresent } of missing) {
      for (const name of debianPackages) {
        if (isPresent()) break
        console.log(`installing for the tests: ${name}`)
        apt(['install', '-y', '--no-install-recommends', name])
      }
    }
  }
  const absent = missing.filter(({ isPresent }) => !isPresent())
  for (const { name, neededBy, otherwise } of absent)
    console.error(`${neededBy.join(', ')}: no ${name} on this machine: ${otherwise}`)
  return absent.length === 0
}

function pathDirectories() {
  return (process.env.PATH ?? '').split(delimiter).filter((directory) => directory !== '')
}

function isOnPath(name) {
  return pathDirectories().some((directory) => existsSync(join(directory, name)))
}

/** The folder in which Debian keeps the programs of each version, off the PATH. */
function debianPostgres() {
  const versions = '/usr/lib/postgresql'
  return existsSync(versions) ? readdirSync(versions).map((version) => join(versions, version, 'bin')) : []
}

function isPostgres(directory) {
  return ['initdb', 'postgres'].every((name) => existsSync(join(directory, name)))
}

/** Without a file or directory among the arguments all tests run. */
function mayRun(directory, args) {
  const paths = args
    .filter((arg) => !arg.startsWith('-'))
    .map((arg) => arg.replace(/[*?[{].*$/, ''))
    .filter((arg) => arg !== '' && existsSync(arg))
  return (
    paths.length === 0 ||
    paths.some((path) => isWithin(path, resolve(root, directory)) || isWithin(resolve(root, directory), path))
  )
}

function isWithin(path, directory) {
  const way = relative(resolve(directory), resolve(path))
  return way !== '..' && !/^\.\.[/\\]/.test(way)
}

/** Debian itself: what Ubuntu calls chromium is a snap, which a container can't run. */
function isDebian() {
  return existsSync('/etc/os-release') && /^ID=debian$/m.test(readFileSync('/etc/os-release', 'utf8'))
}

/** The programs afterwards show if it worked. */
function apt(args) {
  spawnSync('apt-get', ['-q', ...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  })
}

if (process.argv[1] !== undefined && resolve(process.argv[1]) === fileURLToPath(import.meta.url))
  process.exitCode = ensureServers(process.argv.slice(2)) ? 0 : 1
