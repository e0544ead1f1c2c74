import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, closeSync, openSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { HOST } from './certificate.ts'

const STOP_WITHIN_MS = 10_000
const OUTPUT_WITHIN_MS = 60_000
const LOADER = ['--import', './scripts/typescript-loader.mjs']
const root = fileURLToPath(new URL('..', import.meta.url))

/** A program with its output in a file. It ends with this process, whatever ends that. */
export function start(
  command: string,
  args: string[],
  { log, cwd, env = {} }: { log: string; cwd: string; env?: Record<string, string> }
): ChildProcess {
  const output = openSync(log, 'w')
  const child = spawn(command, args, { cwd, stdio: ['ignore', output, output], env: { ...process.env, ...env } })
  closeSync(output)
  process.once('exit', () => {
    child.kill('SIGKILL')
  })
  return child
}

/** A TypeScript file of this folder. */
export function startScript(
  name: string,
  args: string[],
  options: Omit<Parameters<typeof start>[2], 'cwd'>
): ChildProcess {
  return start(process.execPath, [...LOADER, join('conformance', name), ...args], { ...options, cwd: root })
}

/** The output of a TypeScript file of this folder. Its error output is added to the log. */
export async function outputOf(
  name: string,
  args: string[],
  { log, env }: { log: string; env: Record<string, string> }
): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [...LOADER, join('conformance', name), ...args],
    { cwd: root, env: { ...process.env, ...env }, timeout: OUTPUT_WITHIN_MS, maxBuffer: 1 << 24 }
  )
  appendFileSync(log, stderr)
  return stdout
}

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await Promise.race([ended, delay(STOP_WITHIN_MS, undefined, { ref: false })])
  child.kill('SIGKILL')
}

/** Asks once in half a second. A program that has ended will never be ready. */
export async function untilReady(
  what: string,
  child: ChildProcess,
  { log, timeoutMs, isReady }: { log: string; timeoutMs: number; isReady(): Promise<boolean> }
): Promise<void> {
  const startedAt = performance.now()
  while (!(await isReady())) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`${what} has ended; its output is in ${log}`)
    if (performance.now() - startedAt > timeoutMs)
      throw new Error(`${what} did not start within ${timeoutMs / 1000} seconds; its output is in ${log}`)
    await delay(500)
  }
}

/** Ports that were free a moment ago: addresses have to be known before anything listens. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer()
      await new Promise<void>((resolve) => {
        server.listen(0, HOST, resolve)
      })
      return server
    })
  )
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(
    servers.map(
      async (server) =>
        await new Promise((resolve) => {
          server.close(resolve)
        })
    )
  )
  return ports
}
