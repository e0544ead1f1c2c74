/**
 * Compares the processor time of a refresh with rotation over HTTP in this checkout and another one:
 * node --import ./scripts/typescript-loader.mjs bench/beside/refresh.ts CHECKOUT [STORE …] [CONNECTIONS]
 * Stores: memory, sqlite, redis, postgres. The time of the database server counts. Both services stay up and take
 * turns, and a ratio is taken inside a round, so that the rest of the machine falls on both alike.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type Database, startDatabase } from '../databases.ts'
import { connectLoad } from '../load.ts'
import { median } from '../report.ts'
import type { Subject } from '../subject.ts'

const ROUNDS = Number(process.env['ROUNDS'] ?? 15)
const SHOT_MS = 1000

const NONE: Database = { url: '', cpuUs: async () => 0, stop: async () => {} }

const databaseOf = async (store: string): Promise<Database> =>
  store === 'redis' || store === 'postgres' ? await startDatabase(store) : NONE

interface Side {
  cpu: number[]
  shoot(): Promise<void>
  end(): Promise<void>
}

async function sideOf(checkout: string, store: string, concurrency: number): Promise<Side> {
  const database = await databaseOf(store)
  const child = fork(fileURLToPath(new URL('server.ts', import.meta.url)), [checkout, store, database.url])
  const load = await connectLoad(await answer<Subject>(child), { concurrency, idleClients: true })
  const spent = async (): Promise<number> => {
    child.send('usage')
    const { user, system } = await answer<NodeJS.CpuUsage>(child)
    return user + system + (await database.cpuUs())
  }
  const cpu: number[] = []
  await load.run(3 * SHOT_MS)
  return {
    cpu,
    async shoot() {
      const before = await spent()
      const requests = await load.run(SHOT_MS)
      cpu.push(((await spent()) - before) / requests)
    },
    async end() {
      load.close()
      child.kill()
      await database.stop()
    }
  }
}

async function answer<Message>(child: ChildProcess): Promise<Message> {
  const [message] = (await once(child, 'message')) as [Message]
  return message
}

const [checkout, ...rest] = process.argv.slice(2)
if (checkout === undefined) throw new Error('Name the checkout to compare with.')
const concurrency = Number(rest.find((word) => /^\d+$/.test(word)) ?? 16)
const stores = rest.filter((word) => !/^\d+$/.test(word))
for (const store of stores.length === 0 ? ['memory', 'sqlite', 'redis', 'postgres'] : stores) {
  const before = await sideOf(checkout, store, concurrency)
  const now = await sideOf('.', store, concurrency)
  for (let round = 0; round < ROUNDS; round++) {
    for (const side of round % 2 === 0 ? [before, now] : [now, before]) await side.shoot()
  }
  const ratios = now.cpu.map((cpu, round) => cpu / (before.cpu[round] ?? Number.NaN)).toSorted((a, b) => a - b)
  console.log(
    `${store}, ${concurrency} connections: ${median(before.cpu).toFixed(0)} → ${median(now.cpu).toFixed(0)} ` +
      `µs a refresh, ratio ${median(ratios).toFixed(2)} (${ratios[0]?.toFixed(2)}–${ratios.at(-1)?.toFixed(2)})`
  )
  await before.end()
  await now.end()
}
process.exit()
