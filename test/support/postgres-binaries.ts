/** The path of PostgreSQL on this machine, the account that may run it, and the system's facts about its processes. */
import { execFile, execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

/** The account that runs the server: empty if it is the one that runs the test. */
export interface Account {
  uid?: number
  gid?: number
}

const DEBIAN = '/usr/lib/postgresql'

/** The directory of `initdb` and `postgres`: POSTGRES_BIN, one on the PATH, or the newest of Debian's. */
export function findBinaries(): string {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).toSorted((a, b) => Number(b) - Number(a)) : []
  const places =
    process.env['POSTGRES_BIN'] === undefined
      ? [...(process.env['PATH'] ?? '').split(delimiter), ...versions.map((version) => join(DEBIAN, version, 'bin'))]
      : [process.env['POSTGRES_BIN']]
  const found = places.find(
    (place) => place !== '' && existsSync(join(place, 'initdb')) && existsSync(join(place, 'postgres'))
  )
  if (found === undefined)
    throw new Error(
      'No PostgreSQL found: install its server, or set POSTGRES_BIN to the directory of initdb and postgres.'
    )
  return found
}

/** PostgreSQL refuses to run as root, so then it runs as the user `postgres`. */
export function serverAccount(): Account {
  if (process.getuid?.() !== 0) return {}
  const idOf = (flag: string): number =>
    Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))
  try {
    return { uid: idOf('-u'), gid: idOf('-g') }
  } catch {
    throw new Error('PostgreSQL does not run as root, and there is no user postgres to run it as.')
  }
}

const execute = promisify(execFile)

/** Rejects with what the program said. */
export async function run(file: string, args: readonly string[], options: Account & { cwd: string }): Promise<void> {
  await execute(file, args, options)
}

export async function versionOf(binaries: string): Promise<string> {
  return (await execute(join(binaries, 'initdb'), ['--version'])).stdout
}

/** The running children of a process. */
export async function childrenOf(parent: number): Promise<number[]> {
  return (await processes()).filter(({ parentPid }) => parentPid === parent).map(({ pid }) => pid)
}

/** True if one of them still runs. A process that ended but was not waited for does not. */
export async function isRunning(pids: readonly number[]): Promise<boolean> {
  return (await processes()).some(({ pid }) => pids.includes(pid))
}

async function processes(): Promise<Array<{ pid: number; parentPid: number }>> {
  const { stdout } = await execute('ps', ['-A', '-o', 'pid=,ppid=,stat='])
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , status = '']) => !status.startsWith('Z'))
    .map(([pid, parentPid]) => ({ pid: Number(pid), parentPid: Number(parentPid) }))
}
