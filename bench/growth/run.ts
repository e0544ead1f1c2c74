/**
 * `npm run bench -- growth`: what the number of records does to the time of an operation, what a record takes, and what the end of
 * many at once does. Each size is a process of its own with a store of its own; all sizes of a store take turns, round by round, so
 * that whatever else the machine does falls on all alike. `growth --quick` does the same with few records, `growth NAME` with one store.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Kind } from './bytes.ts'
import type { Expiry } from './expiry.ts'
import type { Round } from './worker.ts'

const STORES = ['memory', 'sqlite', 'redis', 'postgres']

interface Loaded { perRecord: Record<string, number>, operations: string[] }
interface Place { child: ChildProcess, size: number, loaded: Loaded, rounds: Map<string, Round[]> }

const middle = (values: readonly number[]): number => values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN
const short = (value: number): string => value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)

function start (store: string, job: string, count: number): ChildProcess {
  return fork(fileURLToPath(new URL(`./worker${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url)), [store, job, String(count)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
}

async function answer<T> (child: ChildProcess): Promise<T> {
  return await new Promise((resolve, reject) => {
    const stopped = (code: number | null): void => { reject(new Error(`a process of the benchmark ended with code ${code}`)) }
    child.once('exit', stopped).once('message', (message) => {
      child.off('exit', stopped)
      resolve(message as T)
    })
  })
}

async function stop (child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => { child.once('exit', resolve) })
  child.send('stop')
  await ended
}

async function once<T> (store: string, job: string, count: number): Promise<T> {
  const child = start(store, job, count)
  try {
    return await answer<T>(child)
  } finally {
    await stop(child)
  }
}

function row (cells: ReadonlyArray<string | number>, widths: readonly number[]): void {
  console.log(cells.map((cell, index) => index === 0 ? String(cell).padEnd(widths[0] ?? 0) : String(cell).padStart(widths[index] ?? 0)).join('  '))
}

async function growthOf (store: string, sizes: readonly number[], rounds: number): Promise<void> {
  const places: Place[] = []
  try {
    // One after the other: loads of several at once would only be in each other's way.
    for (const size of sizes) {
      const child = start(store, 'grow', size)
      places.push({ child, size, loaded: { perRecord: {}, operations: [] }, rounds: new Map() })
      const place = places.at(-1)
      if (place !== undefined) place.loaded = await answer<Loaded>(child)
    }
    const names = places[0]?.loaded.operations ?? []
    // The first round warms up, and counts for nothing.
    for (let round = 0; round <= rounds; round++) {
      for (const name of names) {
        for (const { child, rounds: done } of round % 2 === 0 ? places : places.toReversed()) {
          const answered = answer<Round>(child)
          child.send(name)
          const result = await answered
          if (round > 0) done.set(name, [...done.get(name) ?? [], result])
        }
      }
    }
    reportGrowth(store, places, names)
  } finally {
    await Promise.all(places.map(async ({ child }) => { await stop(child) }))
  }
}

function reportGrowth (store: string, places: readonly Place[], names: readonly string[]): void {
  const widths = [20, 8, ...places.map(() => 18)]
  console.log(`\n${store}: µs an operation (ratio to the smallest, round by round); CPU is the caller's, server that of the server's processes, script its time in scripts`)
  row(['', '', ...places.map(({ size }) => `${size} records`)], widths)
  for (const name of names) {
    const columns = ['wall', 'own', 'cpu', 'script', 'log'] as const
    for (const column of columns) {
      const values = places.map(({ rounds }) => (rounds.get(name) ?? []).map((round) => round[column] ?? 0))
      if (values.every((list) => list.every((value) => value === 0))) continue
      const ratios = values.map((list) => middle(list.map((value, index) => value / (values[0]?.[index] ?? 1))))
      row([column === 'wall' ? name : '', { wall: 'time', own: 'CPU', cpu: 'server', script: 'script', log: 'WAL, B' }[column], ...values.map((list, index) => `${short(middle(list))} (${(ratios[index] ?? 0).toFixed(2)})`)], widths)
    }
  }
  for (const what of Object.keys(places[0]?.loaded.perRecord ?? {})) {
    const bytes = places.map(({ loaded }) => loaded.perRecord[what] ?? 0)
    row([what, 'bytes', ...bytes.map((value) => `${short(value)} (${(value / (bytes[0] ?? 1)).toFixed(2)})`)], widths)
  }
}

function reportKinds (byStore: ReadonlyMap<string, Kind[]>): void {
  const stores = [...byStore.keys()]
  const widths = [32, ...stores.map(() => 10), 16]
  console.log('\nbytes a record, with its indexes; of Redis also what MEMORY USAGE says of its keys')
  row(['', ...stores, byStore.has('redis') ? 'MEMORY USAGE' : ''], widths)
  for (const { name } of [...byStore.values()].toSorted((left, right) => right.length - left.length)[0] ?? []) {
    const kinds = stores.map((store) => byStore.get(store)?.find((kind) => kind.name === name))
    const ofKeys = kinds.find((kind) => kind?.bytesOfKeys !== undefined)?.bytesOfKeys
    row([name, ...kinds.map((kind) => kind === undefined ? '' : kind.bytes.toFixed(0)), ofKeys?.toFixed(0) ?? ''], widths)
  }
}

function reportExpiry (store: string, count: number, { sweepMs, alone, beside, bytes }: Expiry): void {
  const of = (times: Expiry['alone'], column: 'p50' | 'p99' | 'max'): number => middle(times.map((time) => time[column]))
  console.log(`\n${store}: ${count} families that end at once; a use every 4 ms meanwhile; medians of ${sweepMs.length} rounds`)
  console.log(`  until all are gone: ${middle(sweepMs).toFixed(0)} ms`)
  for (const column of ['p50', 'p99', 'max'] as const) {
    const ratio = middle(beside.map((time, index) => time[column] / (alone[index]?.[column] ?? 1)))
    console.log(`  useToken ${column.padEnd(4)} alone ${short(of(alone, column))} ms, beside ${short(of(beside, column))} ms (${ratio.toFixed(2)})`)
  }
  console.log(`  size: ${Object.entries(bytes).map(([when, value]) => `${when} ${(value / 1e6).toFixed(2)} MB`).join('; ')}`)
}

export async function growth (args: readonly string[]): Promise<void> {
  const isQuick = args.includes('--quick')
  const named = STORES.filter((store) => args.includes(store))
  const stores = named.length === 0 ? STORES : named
  const sizes = isQuick ? [1000, 10_000] : [1000, 100_000, 1_000_000]
  console.log(`growth, ${process.version}; medians of ${isQuick ? 2 : 5} interleaved rounds`)
  for (const store of stores) await growthOf(store, sizes, isQuick ? 2 : 5)
  const byStore = new Map<string, Kind[]>()
  for (const store of stores) byStore.set(store, await once<Kind[]>(store, 'bytes', isQuick ? 1000 : 20_000))
  reportKinds(byStore)
  const expiring = isQuick ? 5000 : 100_000
  for (const store of stores) reportExpiry(store, expiring, await once<Expiry>(store, 'expire', expiring))
}
