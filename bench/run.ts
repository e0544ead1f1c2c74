/**
 * `npm run bench -- NAME`: one benchmark, five rounds, each subject once a round in changing order, so that whatever else the
 * machine does falls on all alike. CPU is the server process's own, threads of the hashing pool included; the figure to compare
 * is the ratio, since both sides were measured in the same minute on the same machine.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { Agent, request } from 'node:http'
import { fileURLToPath } from 'node:url'
import { growth } from './growth/run.ts'
import { protectedRoute } from './protected-route.ts'
import { signIn } from './sign-in.ts'
import type { Benchmark, Subject } from './subject.ts'

const BENCHMARKS: Record<string, Benchmark> = { 'protected-route': protectedRoute, 'sign-in': signIn }
/** Those that load no server of ours, and have a shape of their own. */
const OTHERS: Record<string, (args: readonly string[]) => Promise<void>> = { growth }
const ROUNDS = 5

interface Server { name: string, child: ChildProcess, subject: Subject, agent: Agent, cpu: number[], perSecond: number[] }

const [name = '', serve, ...more] = process.argv.slice(2)
const benchmark = BENCHMARKS[name]
const other = OTHERS[name]
if (other !== undefined) {
  await other([serve ?? '', ...more])
} else if (benchmark === undefined) {
  console.error(`usage: npm run bench -- ${[...Object.keys(BENCHMARKS), ...Object.keys(OTHERS)].join(' | ')}`)
  process.exitCode = 1
} else if (serve !== undefined && process.send !== undefined) {
  process.on('message', () => { process.send?.(process.cpuUsage()) })
  process.send(await benchmark.subjects[serve]?.())
} else {
  await run(benchmark)
}

async function run (benchmark: Benchmark): Promise<void> {
  const servers: Server[] = []
  try {
    for (const subject of Object.keys(benchmark.subjects)) servers.push(await start(subject, benchmark))
    for (const server of servers) await load(server, Math.ceil(benchmark.requestsPerRound / 2), benchmark.concurrency)
    for (let round = 0; round < ROUNDS; round++) {
      for (const server of round % 2 === 0 ? servers : servers.toReversed()) {
        const before = await ask<NodeJS.CpuUsage>(server.child)
        const started = performance.now()
        await load(server, benchmark.requestsPerRound, benchmark.concurrency)
        const seconds = (performance.now() - started) / 1000
        const after = await ask<NodeJS.CpuUsage>(server.child)
        server.cpu.push((after.user + after.system - before.user - before.system) / benchmark.requestsPerRound)
        server.perSecond.push(benchmark.requestsPerRound / seconds)
      }
    }
  } finally {
    for (const { child, agent } of servers) {
      agent.destroy()
      child.kill()
    }
  }
  report(benchmark, servers)
}

async function start (subject: string, { concurrency }: Benchmark): Promise<Server> {
  const child = fork(fileURLToPath(import.meta.url), [name, subject], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  return { name: subject, child, subject: await answer<Subject>(child), agent: new Agent({ keepAlive: true, maxSockets: concurrency }), cpu: [], perSecond: [] }
}

async function ask<T> (child: ChildProcess): Promise<T> {
  const answered = answer<T>(child)
  child.send('usage')
  return await answered
}

async function answer<T> (child: ChildProcess): Promise<T> {
  return await new Promise((resolve, reject) => {
    const stopped = (code: number | null): void => { reject(new Error(`the server stopped with code ${code}`)) }
    child.once('exit', stopped).once('message', (message) => {
      child.off('exit', stopped)
      resolve(message as T)
    })
  })
}

async function load (server: Server, requests: number, concurrency: number): Promise<void> {
  let left = requests
  await Promise.all(Array.from({ length: concurrency }, async () => {
    while (left > 0) {
      left -= 1
      await once(server)
    }
  }))
}

async function once ({ subject: { port, method, path, headers, body, status }, agent }: Server): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const call = request({ host: '127.0.0.1', port, method, path, agent, headers: { ...headers, 'content-length': Buffer.byteLength(body) } }, (response) => {
      response.resume().on('error', reject).on('end', () => {
        if (response.statusCode === status) resolve()
        else reject(new Error(`${path} answered ${response.statusCode}`))
      })
    })
    call.on('error', reject)
    call.end(body)
  })
}

function report ({ title, requestsPerRound, concurrency }: Benchmark, servers: Server[]): void {
  const middle = (values: number[]): number => values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN
  const baseline = middle(servers[0]?.cpu ?? [])
  console.log(`${title}\n${process.version}; ${ROUNDS} rounds of ${requestsPerRound} requests, ${concurrency} at once; medians\n`)
  console.log(['subject'.padEnd(32), 'CPU µs/request', '(least to most)'.padStart(20), 'ratio', 'requests/s'].join('  '))
  for (const { name, cpu, perSecond } of servers) {
    const spread = `${Math.min(...cpu).toFixed(0)} to ${Math.max(...cpu).toFixed(0)}`
    console.log([name.padEnd(32), middle(cpu).toFixed(1).padStart(14), spread.padStart(20), (middle(cpu) / baseline).toFixed(2).padStart(5), middle(perSecond).toFixed(0).padStart(10)].join('  '))
  }
}
