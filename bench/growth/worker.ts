/**
 * The process of one store. It does the jobs that the benchmark asks for by messages, each in an empty store, and ends
 * with its parent.
 */
import { setFlagsFromString } from 'node:v8'
import { some } from '../quick.ts'
import { sizeOfKinds } from './bytes.ts'
import { type Engine, each } from './engine.ts'
import { expire } from './expiry.ts'
import { limitsOf, numberAt } from './records.ts'

/** Each process loads only what it needs, because the loading would outweigh twelve short operations. */
const ENGINES: Record<string, () => Promise<Engine>> = {
  memory: async () => await (await import('./local-engines.ts')).memoryEngine(),
  sqlite: async () => await (await import('./local-engines.ts')).sqliteEngine(),
  redis: async () => await (await import('./server-engines.ts')).redisEngine(),
  postgres: async () => await (await import('./server-engines.ts')).postgresEngine()
}

/** Microseconds an operation, and bytes. */
export interface Round {
  wall: number
  own: number
  cpu: number
  /** The CPU time of this process, and of the server if there is one. */
  both: number
  script: number
  log: number
}

/** Calls in one batch: no more than there are records, so that none is met twice. */
const BATCH = some(1000)

setFlagsFromString('--max-old-space-size=8192')
const open = ENGINES[process.argv[2] ?? '']
if (open === undefined) throw new Error(`no store is called ${process.argv[2]}`)
let opened: Engine | undefined
process.once('disconnect', () => {
  process.exit(1)
})

/** The parent's request: a job of so many records, or a round of one operation of the job `grow`. */
export type Asked = { job: 'grow' | 'bytes' | 'expire'; count: number } | { operation: string } | 'stop'

/** With nothing in it: the one that is open, where it can be emptied. */
async function emptyEngine(make: () => Promise<Engine>): Promise<Engine> {
  if (opened?.clear === undefined) opened = await make()
  else await opened.clear()
  return opened
}

async function timeOf(calls: ReadonlyArray<() => unknown>, concurrency: number): Promise<number> {
  let next = 0
  const lane = async (): Promise<void> => {
    for (let call = calls[next++]; call !== undefined; call = calls[next++]) await call()
  }
  const started = performance.now()
  await Promise.all(Array.from({ length: concurrency }, lane))
  return performance.now() - started
}

let round: ((name: string) => Promise<Round>) | undefined

/** Loads the store, answers with bytes a record, and then times what it is asked to. */
async function grow(
  engine: Engine,
  size: number
): Promise<{ perRecord: Record<string, number>; operations: string[] }> {
  const perRecord: Record<string, number> = {}
  const { attempts } = engine
  // The overhead of the first record (scripts, the first pages of a table) belongs to no record.
  await engine.loadFamilies(size, size + 2)
  await engine.loadSessions(size, size + 2)
  await attempts?.reserve('first', limitsOf(size))
  let before = await engine.bytes()
  const weigh = async (what: string): Promise<void> => {
    const after = await engine.bytes()
    perRecord[what] = (after - before) / size
    before = after
  }
  await engine.loadFamilies(0, size)
  await weigh('family')
  await engine.loadSessions(0, size)
  await weigh('session')
  if (attempts !== undefined) {
    await each(
      0,
      size,
      engine.concurrency === 1 ? 1 : 200,
      async (number) => await attempts.reserve(`load:${number}`, limitsOf(number))
    )
    await weigh('three counters')
  }
  const { operationsOf } = await import('./operations.ts')
  const { operations } = await operationsOf(engine, size)
  let turn = 0
  round = async (name) => {
    const operation = operations[name]
    if (operation === undefined) throw new Error(`no operation is called ${name}`)
    const total = some(name.startsWith('POST') ? 1000 : engine.perRound)
    const sum = { wall: 0, own: 0, cpuNs: 0, scriptNs: 0, logBytes: 0 }
    for (let done = 0; done < total; done += BATCH) {
      const turns = Array.from({ length: BATCH }, (_, index) => turn + index)
      turn += BATCH
      const numbers = turns.map((one) => numberAt(one, size))
      const calls = await operation.prepare(numbers, turns)
      const spentBefore = await engine.spent?.()
      const ownBefore = process.cpuUsage()
      sum.wall += await timeOf(calls, engine.concurrency)
      const { user, system } = process.cpuUsage(ownBefore)
      sum.own += user + system
      const spent = await engine.spent?.()
      await operation.restore?.(numbers, turns)
      sum.cpuNs += (spent?.cpuNs ?? 0) - (spentBefore?.cpuNs ?? 0)
      sum.scriptNs += (spent?.scriptNs ?? 0) - (spentBefore?.scriptNs ?? 0)
      sum.logBytes += (spent?.logBytes ?? 0) - (spentBefore?.logBytes ?? 0)
    }
    return {
      wall: (sum.wall * 1000) / total,
      own: sum.own / total,
      cpu: sum.cpuNs / 1000 / total,
      both: sum.cpuNs === 0 ? 0 : (sum.own + sum.cpuNs / 1000) / total,
      script: sum.scriptNs / 1000 / total,
      log: sum.logBytes / total
    }
  }
  return { perRecord, operations: Object.keys(operations) }
}

async function answerTo(asked: Exclude<Asked, 'stop'>): Promise<unknown> {
  if ('operation' in asked) return await round?.(asked.operation)
  const engine = await emptyEngine(open as () => Promise<Engine>)
  return await { grow, bytes: sizeOfKinds, expire }[asked.job](engine, asked.count)
}

process.on('message', (asked: Asked) => {
  if (asked === 'stop')
    void (opened?.close() ?? Promise.resolve()).finally(() => {
      process.exit(0)
    })
  else void answerTo(asked).then((answer) => process.send?.(answer))
})
