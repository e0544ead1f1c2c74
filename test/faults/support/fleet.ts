/** Several processes under test and the connection to them: started, killed, started again, stopped. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { getPriority, setPriority } from 'node:os'
import { type Balancer, createBalancer } from './balancer.ts'
import { buildProgram } from './program.ts'
import type { InstanceSettings, Report } from './settings.ts'

export interface Mail {
  kind: string
  username: string
  token: string
}

export interface Stopped {
  /** The time of `app.close()`, and then until the process ended, or `null` if it had to be killed. */
  closeMs: number
  exitMs: number | null
}

export interface Fleet {
  readonly balancer: Balancer
  /** Names of the instances, and the ports of those that run. */
  readonly running: ReadonlyMap<string, number>
  start(name: string): Promise<void>
  /** SIGKILL; resolves when the process is gone. */
  kill(name: string): Promise<void>
  /** Sends SIGTERM and directs no new connection to the instance. */
  stopGracefully(name: string): Promise<Stopped>
  onMail(listener: (mail: Mail) => void): void
  /** Called for each report of an instance that a store did not answer in time. */
  onDegraded(listener: (store: string, name: string) => void): void
  /** Process ids of those that run. */
  pids(): Map<string, number>
  /** Kills all running instances. */
  close(): Promise<void>
}

interface Instance {
  child: ChildProcess
  port: number
}

const START_TIMEOUT_MS = 60_000
const EXIT_TIMEOUT_MS = 10_000
/** The number of connections from all users to the instances. */
const MAX_CONNECTIONS = 16

/** `settingsOf` is called at every start, because ports may have changed. */
export async function startFleet(
  names: readonly string[],
  settingsOf: (name: string) => Omit<InstanceSettings, 'name'>
): Promise<Fleet> {
  const program = await buildProgram()
  const balancer = createBalancer(MAX_CONNECTIONS)
  const instances = new Map<string, Instance>()
  const incarnations = new Map<string, number>()
  const listeners: Array<(mail: Mail) => void> = []
  const degradedListeners: Array<(store: string, name: string) => void> = []
  const children = new Set<ChildProcess>()
  const redirect = (): void => {
    balancer.direct([...instances.values()].map(({ port }) => port))
  }

  async function start(name: string): Promise<void> {
    const incarnation = (incarnations.get(name) ?? 0) + 1
    incarnations.set(name, incarnation)
    const child = fork(program.path, [JSON.stringify({ ...settingsOf(name), name: `${name}#${incarnation}` })], {
      // Without the loaders of the test, which the script doesn't need; on standard output they would be read as test
      // results.
      execArgv: [],
      env: { ...process.env, NODE_OPTIONS: '' },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc']
    })
    children.add(child)
    // Gives back the priority that the test has taken for itself and its servers (test/support/priority.ts), because
    // other tests run at the same time.
    if (child.pid !== undefined && getPriority() < 0) setPriority(child.pid, 0)
    child.once('exit', () => {
      children.delete(child)
    })
    child.on('message', (report: Report) => {
      if ('mail' in report) for (const listener of listeners) listener(report.mail)
      if ('degraded' in report) for (const listener of degradedListeners) listener(report.degraded, name)
    })
    const port = await Promise.race([
      reported(child, (report) => ('ready' in report ? report.ready : undefined)),
      once(child, 'exit').then(() => {
        throw new Error(`the instance ${name} ended before it listened`)
      }),
      timeout(START_TIMEOUT_MS, `the instance ${name} did not start`)
    ])
    instances.set(name, { child, port })
    redirect()
  }

  const instanceOf = (name: string): Instance => {
    const instance = instances.get(name)
    if (instance === undefined) throw new Error(`no instance ${name} runs`)
    return instance
  }
  const forget = (name: string): void => {
    instances.delete(name)
    redirect()
  }

  const fleet: Fleet = {
    balancer,
    get running() {
      return new Map([...instances].map(([name, { port }]) => [name, port]))
    },
    start,
    async kill(name) {
      const { child } = instanceOf(name)
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      forget(name)
      await gone
    },
    async stopGracefully(name) {
      const { child } = instanceOf(name)
      forget(name)
      const start = performance.now()
      const exit = once(child, 'exit').then(() => performance.now())
      const closing = reported(child, (report) => ('closed' in report ? report.closed : undefined))
      child.kill('SIGTERM')
      const ended = await Promise.race([exit, timeout(EXIT_TIMEOUT_MS, '').catch(() => null)])
      if (ended === null) {
        child.kill('SIGKILL')
        return { closeMs: await Promise.race([closing, exit.then(() => Infinity)]), exitMs: null }
      }
      const closeMs = await Promise.race([closing, Promise.resolve(Infinity)])
      return { closeMs, exitMs: ended - start - closeMs }
    },
    onMail(listener) {
      listeners.push(listener)
    },
    onDegraded(listener) {
      degradedListeners.push(listener)
    },
    pids: () =>
      new Map(
        [...instances].flatMap(
          ([
            name,
            {
              child: { pid }
            }
          ]) => (pid === undefined ? [] : [[name, pid]])
        )
      ),
    async close() {
      await Promise.all(
        [...children].map(async (child) => {
          const gone = once(child, 'exit')
          child.kill('SIGKILL')
          await gone
        })
      )
      balancer.agent.destroy()
      await program.remove()
    }
  }
  // Starts all together, as a deployment does, so that they race for migrations and the first keys.
  const starts = await Promise.allSettled(names.map(start))
  const failed = starts.find((result) => result.status === 'rejected')
  if (failed === undefined) return fleet
  await fleet.close()
  throw failed.reason
}

async function reported<T>(child: ChildProcess, read: (report: Report) => T | undefined): Promise<T> {
  return await new Promise((resolve) => {
    const listen = (report: Report): void => {
      const value = read(report)
      if (value === undefined) return
      child.off('message', listen)
      resolve(value)
    }
    child.on('message', listen)
  })
}

async function timeout(ms: number, message: string): Promise<never> {
  return await new Promise((_resolve, reject) => {
    setTimeout(() => {
      reject(new Error(message))
    }, ms).unref()
  })
}
