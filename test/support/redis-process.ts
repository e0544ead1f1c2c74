/** One process of Redis or Valkey on a loopback port and in a directory of its own. It never outlives this process. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis, type RedisOptions } from 'ioredis'
import { freePort } from './free-port.ts'
import { preferServer } from './priority.ts'

/** Replies in the one shape that versions 5 and 6 share. */
export type ClientOptions = Omit<RedisOptions, 'replyMapping'>

export interface RedisServer {
  host: string
  port: number
  /** The id of the running process, which `restart` changes. */
  readonly pid: number
  url: string
  /** A client with an `error` listener. `stop` closes it. */
  client(options?: ClientOptions): Redis
  /** SIGSTOP: connections stay open, nothing is answered. */
  pause(): void
  resume(): void
  /** SIGKILL. Resolves when the process is gone. */
  kill(): Promise<void>
  /** After `kill`: the same port and directory. */
  restart(): Promise<void>
  /** Ends the process and its clients and deletes its directory. May be called again. */
  stop(): Promise<void>
}

export const HOST = '127.0.0.1'
const READY_WITHIN_MS = 20_000
const running = new Set<ChildProcess>()

function killAll(): void {
  for (const child of running) child.kill('SIGKILL')
}

process.once('exit', killAll)
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  process.once(signal, () => {
    killAll()
    process.kill(process.pid, signal)
  })
}

/** Polls until `holds`; rejects after 20 seconds. A check that rejects doesn't hold yet. */
export async function until(what: string, holds: () => Promise<boolean>, everyMs = 20): Promise<void> {
  const deadline = performance.now() + READY_WITHIN_MS
  while (!(await holds().catch(() => false))) {
    if (performance.now() > deadline) throw new Error(`${what} did not happen within ${READY_WITHIN_MS} ms`)
    await delay(everyMs)
  }
}

function executable(): string {
  const named = process.env['REDIS_SERVER_BIN']
  const candidates =
    named !== undefined && named !== ''
      ? [named]
      : (process.env['PATH'] ?? '')
          .split(delimiter)
          .flatMap((directory) => [join(directory, 'redis-server'), join(directory, 'valkey-server')])
  const found = candidates.find((path) => {
    try {
      accessSync(path, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
  if (found === undefined)
    throw new Error(
      'No redis-server or valkey-server on PATH: install one, or name its executable in REDIS_SERVER_BIN.'
    )
  return found
}

/** True if a server answers PING there; not while it loads its data. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, HOST, () => {
      socket.write('PING\r\n')
    })
    socket.setTimeout(1000, () => {
      socket.destroy()
    })
    socket.on('data', (data) => {
      resolve(data.toString().startsWith('+PONG'))
      socket.destroy()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      resolve(false)
    })
  })
}

async function launch(port: number, directory: string, args: readonly string[]): Promise<ChildProcess> {
  const child = spawn(executable(), args, { cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] })
  preferServer(child.pid)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => {
      output = `${output}${chunk}`.slice(-2000)
    })
  running.add(child)
  child.once('exit', () => {
    running.delete(child)
  })
  child.once('error', () => {
    running.delete(child)
  })
  const gone = (): boolean => child.exitCode !== null || child.signalCode !== null || child.pid === undefined
  await until('an answer of a started Redis server', async () => gone() || (await answers(port)), 4).catch(
    (error: unknown) => {
      child.kill('SIGKILL')
      throw error
    }
  )
  if (gone()) throw new Error(`a Redis server ended at its start:\n${output}`)
  return child
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}

export interface Placement {
  port?: number | undefined
  directory?: string | undefined
  args(port: number, directory: string): string[]
}

export async function serve(placement: Placement): Promise<RedisServer> {
  const port = placement.port ?? (await freePort())
  const directory = placement.directory ?? mkdtempSync(join(tmpdir(), 'authority-redis-'))
  const args = placement.args(port, directory)
  const clients: Redis[] = []
  let child = await launch(port, directory, args)
  return {
    host: HOST,
    port,
    get pid() {
      return child.pid ?? 0
    },
    url: `redis://${HOST}:${port}`,
    client(options = {}) {
      const client = new Redis({ host: HOST, port, ...options })
      client.on('error', () => {})
      clients.push(client)
      return client
    },
    pause() {
      child.kill('SIGSTOP')
    },
    resume() {
      child.kill('SIGCONT')
    },
    async kill() {
      await end(child)
    },
    async restart() {
      child = await launch(port, directory, args)
    },
    async stop() {
      for (const client of clients) client.disconnect()
      await end(child)
      rmSync(directory, { recursive: true, force: true })
    }
  }
}
