/**
 * A MariaDB server of a test's own: fresh data directory, free port on 127.0.0.1. A watchdog process ends it when the
 * process that started it is gone, however that ended.
 */
import { execFile, execFileSync, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { chown, mkdtemp, readFile, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { delimiter, join } from 'node:path'
import { tmpdir } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from './free-port.ts'
import { preferServer } from './priority.ts'

export interface MariadbServer {
  /** A URL for the server's own user `root`, with the database `authority`. */
  readonly url: string
  /** SIGSTOP: connections stay open, and nothing answers. */
  /** Resolves when the process has stopped, because a running thread still answers for a moment after the signal. */
  pause(): Promise<void>
  resume(): void
  /** SIGKILL. Ends the server, and removes its data. */
  stop(): Promise<void>
}

const DEADLINE_MS = 60_000
/** The watchdog's input ends when the process that started it ends. */
const WATCHDOG = 'cat >/dev/null; kill -KILL "$2" 2>/dev/null; rm -rf "$1"'
const SPEED = ['--innodb-flush-log-at-trx-commit=0', '--innodb-buffer-pool-size=32M', '--performance-schema=OFF']

/** Reads the process state from `/proc` on Linux. Elsewhere the process counts as stopped. */
function isStopped(pid: number | undefined): boolean {
  try {
    return /\) T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return true
  }
}

/** Debian keeps the server off the PATH of users other than root. */
function program(name: string): string {
  const places = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin'].map((place) => join(place, name))
  const found = places.find((place) => existsSync(place))
  if (found === undefined) throw new Error(`No MariaDB found: there is no ${name} on the PATH. Install mariadb-server.`)
  return found
}

export async function startMariadb(): Promise<MariadbServer> {
  const directory = await mkdtemp(join(tmpdir(), 'authority-mariadb-'))
  const data = join(directory, 'data')
  const isRoot = process.getuid?.() === 0
  const idOf = (flag: string): number => Number(execFileSync('id', [flag, 'mysql'], { encoding: 'utf8' }))
  if (isRoot) await chown(directory, idOf('-u'), idOf('-g'))
  const user = isRoot ? ['--user=mysql'] : []
  await promisify(execFile)(program('mariadb-install-db'), [
    '--no-defaults',
    `--datadir=${data}`,
    '--auth-root-authentication-method=normal',
    '--skip-test-db',
    ...user
  ])
  const port = await freePort()
  const server = spawn(
    program('mariadbd'),
    [
      '--no-defaults',
      `--datadir=${data}`,
      `--port=${port}`,
      '--bind-address=127.0.0.1',
      `--socket=${join(directory, 'socket')}`,
      `--log-error=${join(directory, 'log')}`,
      '--init-connect=',
      ...SPEED,
      ...user
    ],
    { detached: true, stdio: 'ignore' }
  )
  preferServer(server.pid)
  server.unref()
  const watchdog = spawn('sh', ['-c', WATCHDOG, 'watchdog', directory, String(server.pid)], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore']
  })
  watchdog.unref()
  if (watchdog.stdin !== null && 'unref' in watchdog.stdin && typeof watchdog.stdin.unref === 'function')
    watchdog.stdin.unref()

  const isGone = (): boolean => server.exitCode !== null || server.signalCode !== null
  const deadline = performance.now() + DEADLINE_MS
  while (!(await answers(port))) {
    if (isGone() || performance.now() > deadline)
      throw new Error(`MariaDB did not start: ${(await readFile(join(directory, 'log'), 'utf8')).slice(-2000)}`)
    await wait(20)
  }
  await promisify(execFile)(program('mariadb'), [
    '--no-defaults',
    '--protocol=tcp',
    '--host=127.0.0.1',
    `--port=${port}`,
    '--user=root',
    '--execute=CREATE DATABASE authority'
  ])
  return {
    url: `mysql://root@127.0.0.1:${port}/authority`,
    async pause() {
      server.kill('SIGSTOP')
      while (!isStopped(server.pid)) await wait(1)
    },
    resume() {
      server.kill('SIGCONT')
    },
    async stop() {
      server.kill('SIGKILL')
      while (!isGone()) await wait(5)
      await rm(directory, { recursive: true, force: true })
      watchdog.stdin?.end()
    }
  }
}

/** MariaDB sends the first packet of a connection. */
async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    return await new Promise<boolean>((resolve) => {
      socket.once('data', () => {
        resolve(true)
      })
      socket.once('error', () => {
        resolve(false)
      })
      socket.once('close', () => {
        resolve(false)
      })
    })
  } finally {
    socket.destroy()
  }
}
