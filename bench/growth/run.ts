/**
 * `npm run bench -- growth`: what the number of records does to the time of an operation, what a record takes, and what
 * the end of many at once does. Each size is a process of its own with a store of its own; all sizes of a store take
 * turns, round by round, so that whatever else the machine does falls on all alike. `growth --quick` does the same with
 * few records, `growth NAME` with one store.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type BenchOptions, type Chart, median, type Report, show, type Table } from '../report.ts'
import { some } from '../quick.ts'
import type { Kind } from './bytes.ts'
import type { Expiry } from './expiry.ts'
import type { Asked, Round } from './worker.ts'

const STORES = ['memory', 'sqlite', 'redis', 'postgres']
/** The greatest ratio of a request on PostgreSQL, which holds the users too. */
const GOAL = 1.3
/** The operations in the chart of growth: the others are in the tables. */
const IN_CHART = new Set(['POST /auth/refresh', 'limit check', 'findSession'])

interface Loaded {
  perRecord: Record<string, number>
  operations: string[]
}
interface Grown {
  table: Table
  curves: Chart['lines']
}
interface Place {
  child: ChildProcess
  size: number
  loaded: Loaded
  rounds: Map<string, Round[]>
}

function start(store: string): ChildProcess {
  return fork(
    fileURLToPath(new URL(`./worker${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url)),
    [store],
    { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }
  )
}

async function ask<T>(child: ChildProcess, asked: Asked): Promise<T> {
  return await new Promise((resolve, reject) => {
    const stopped = (code: number | null): void => {
      reject(new Error(`a process of the benchmark ended with code ${code}`))
    }
    child.once('exit', stopped).once('message', (message) => {
      child.off('exit', stopped)
      resolve(message as T)
    })
    child.send(asked)
  })
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => {
    child.once('exit', resolve)
  })
  child.send('stop')
  await ended
}

/** A job of one store in a process of its own, or in `child`. */
async function once<T>(store: string, job: 'bytes' | 'expire', count: number, child?: ChildProcess): Promise<T> {
  const worker = child ?? start(store)
  try {
    return await ask<T>(worker, { job, count })
  } finally {
    if (child === undefined) await stop(worker)
  }
}

/** `given`: a process that there is already, of the only size. */
async function growthOf(store: string, sizes: readonly number[], rounds: number, given?: ChildProcess): Promise<Grown> {
  const places: Place[] = []
  try {
    // One after the other: loads of several at once would only be in each other's way.
    for (const size of sizes) {
      const child = given ?? start(store)
      places.push({ child, size, loaded: { perRecord: {}, operations: [] }, rounds: new Map() })
      const place = places.at(-1)
      if (place !== undefined) place.loaded = await ask<Loaded>(child, { job: 'grow', count: size })
    }
    const names = places[0]?.loaded.operations ?? []
    // The first round warms up, and counts for nothing.
    for (let round = 0; round <= rounds; round++) {
      for (const name of names) {
        for (const { child, rounds: done } of round % 2 === 0 ? places : places.toReversed()) {
          const result = await ask<Round>(child, { operation: name })
          if (round > 0) done.set(name, [...(done.get(name) ?? []), result])
        }
      }
    }
    return { table: growthTable(store, places, names), curves: curvesOf(store, places, names) }
  } finally {
    if (given === undefined)
      await Promise.all(
        places.map(async ({ child }) => {
          await stop(child)
        })
      )
  }
}

/** The ratio to the smallest, taken round by round. */
function ratiosOf(values: readonly number[][]): number[] {
  return values.map((list) => median(list.map((value, index) => value / (values[0]?.[index] ?? 1))))
}

function growthTable(store: string, places: readonly Place[], names: readonly string[]): Table {
  const columns = {
    wall: 'µs',
    own: 'CPU µs',
    cpu: 'CPU µs of the server',
    both: 'CPU µs of both',
    script: 'µs in scripts',
    log: 'bytes of log'
  } as const
  const hasGoal = store === 'postgres'
  const rows = names.flatMap((name) =>
    Object.entries(columns).flatMap(([column, unit]) => {
      const values = places.map(({ rounds }) =>
        (rounds.get(name) ?? []).map((round) => round[column as keyof typeof columns] ?? 0)
      )
      if (values.every((list) => list.every((value) => value === 0))) return []
      const ratios = ratiosOf(values)
      return [
        [
          column === 'wall' ? name : '',
          unit,
          ...values.map((list, index) => `${show(median(list))} (${(ratios[index] ?? 0).toFixed(2)})`),
          ...(hasGoal ? [column === 'both' && name.startsWith('POST') ? `≤ ${GOAL.toFixed(2)}` : ''] : [])
        ]
      ]
    })
  )
  const bytes = Object.keys(places[0]?.loaded.perRecord ?? {}).map((what) => {
    const sizes = places.map(({ loaded }) => loaded.perRecord[what] ?? 0)
    const cells = sizes.map((value) => `${show(value)} (${(value / (sizes[0] ?? 1)).toFixed(2)})`)
    return [what, 'bytes', ...cells, ...(hasGoal ? [''] : [])]
  })
  return {
    title: `${store}, an operation (ratio to the smallest)`,
    columns: [
      '',
      '',
      ...places.map(({ size }) => `${size.toLocaleString('en-GB')} records`),
      ...(hasGoal ? ['goal'] : [])
    ],
    rows: [...rows, ...bytes]
  }
}

/** The caller's waiting time, relative to the smallest store. */
function curvesOf(store: string, places: readonly Place[], names: readonly string[]): Chart['lines'] {
  return names
    .filter((name) => IN_CHART.has(name))
    .map((name) => {
      const ratios = ratiosOf(places.map(({ rounds }) => (rounds.get(name) ?? []).map(({ wall }) => wall)))
      return { name: `${store}: ${name}`, points: places.map(({ size }, index) => [size, ratios[index] ?? 0]) }
    })
}

function kindsTable(byStore: ReadonlyMap<string, Kind[]>): Table {
  const stores = [...byStore.keys()]
  const kinds = [...byStore.values()].toSorted((left, right) => right.length - left.length)[0] ?? []
  return {
    title: 'bytes a record, with its indexes',
    columns: ['', ...stores, ...(byStore.has('redis') ? ['MEMORY USAGE of its keys'] : [])],
    rows: kinds.map(({ name }) => {
      const found = stores.map((store) => byStore.get(store)?.find((kind) => kind.name === name))
      const ofKeys = found.find((kind) => kind?.bytesOfKeys !== undefined)?.bytesOfKeys
      return [
        name,
        ...found.map((kind) => (kind === undefined ? '' : Math.round(kind.bytes))),
        ...(byStore.has('redis') ? [ofKeys === undefined ? '' : Math.round(ofKeys)] : [])
      ]
    })
  }
}

function expiryTable(count: number, byStore: ReadonlyMap<string, Expiry>): Table {
  const of = (times: Expiry['alone'], column: 'p50' | 'p99' | 'max'): number =>
    median(times.map((time) => time[column]))
  return {
    title: `${count.toLocaleString('en-GB')} families that expire at once, and a use of another family every 4 ms`,
    columns: [
      '',
      'ms until all are gone',
      ...(['p50', 'p99', 'max'] as const).map((column) => `use, ${column}: ms alone, during expiry (ratio)`),
      'MB empty, full, swept'
    ],
    rows: [...byStore].map(([store, { sweepMs, alone, beside, bytes }]) => [
      store,
      Math.round(median(sweepMs)),
      ...(['p50', 'p99', 'max'] as const).map(
        (column) =>
          `${show(of(alone, column))}, ${show(of(beside, column))} ` +
          `(${median(beside.map((time, index) => time[column] / (alone[index]?.[column] ?? 1))).toFixed(2)})`
      ),
      ['empty', 'full, round 1', Object.keys(bytes).at(-1) ?? '']
        .map((when) => ((bytes[when] ?? 0) / 1e6).toFixed(1))
        .join(', ')
    ])
  }
}

export async function growth({ quick, args }: BenchOptions): Promise<Report> {
  const named = STORES.filter((store) => args.includes(store))
  const stores = named.length === 0 ? STORES : named
  const sizes = quick ? [100] : [1000, 100_000, 1_000_000]
  const rounds = quick ? 1 : 5
  const expiring = some(50_000)
  // Work that is not measured may run in parallel.
  const ofEach = async <Found>(
    find: (store: string) => Promise<Found>
  ): Promise<Array<readonly [store: string, found: Found]>> => {
    const found: Array<readonly [string, Found]> = []
    const one = async (store: string): Promise<void> => {
      found.push([store, await find(store)])
    }
    if (quick) await Promise.all(stores.map(one))
    else for (const store of stores) await one(store)
    return found
  }
  // Under `--quick` one process of a store does all three jobs: to start it takes longer than they do.
  const workers = new Map(quick ? stores.map((store) => [store, start(store)]) : [])
  try {
    const grown = (await ofEach(async (store) => await growthOf(store, sizes, rounds, workers.get(store)))).map(
      ([, growth]) => growth
    )
    const byStore = new Map(
      await ofEach(async (store) => await once<Kind[]>(store, 'bytes', some(5000), workers.get(store)))
    )
    const expiries = new Map(
      await ofEach(async (store) => await once<Expiry>(store, 'expire', expiring, workers.get(store)))
    )
    return report(grown, byStore, expiries)
  } finally {
    await Promise.all([...workers.values()].map(stop))
  }

  function report(
    grown: readonly Grown[],
    byStore: ReadonlyMap<string, Kind[]>,
    expiries: ReadonlyMap<string, Expiry>
  ): Report {
    return {
      title: 'growth',
      method:
        `Each size is a process and a store of its own; ${rounds} rounds in which all sizes of a ` +
        'store take turns; medians.',
      tables: [...grown.map(({ table }) => table), kindsTable(byStore), expiryTable(expiring, expiries)],
      charts: [
        {
          name: 'growth',
          title: 'Time of an operation relative to a thousand records',
          x: { label: 'records', logarithmic: true },
          y: { label: 'ratio' },
          lines: grown.flatMap(({ curves }) => curves)
        }
      ]
    }
  }
}
