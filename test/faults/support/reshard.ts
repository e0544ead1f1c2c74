/** Slots of a Redis Cluster on the move, as `redis-cli --cluster reshard` moves them: key by key, under load. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { RedisServer } from '../../support/redis-process.ts'

export interface Reshard {
  /** Moves all keys of the slot to another node. */
  move(slot: number, to: number): Promise<void>
  /** The index of the node that has the slot. */
  ownerOf(slot: number): Promise<number>
  /** The number of keys that were already at the other node. */
  clashes(): number
  /** The slots of the node that hold any keys. */
  filled(node: number): Promise<number[]>
  close(): void
}

export interface Pace {
  /** The number of keys in one `MIGRATE`. */
  batch: number
  /** Between two batches, so that the load meets a slot in every state. */
  pauseMs: number
}

const MIGRATE_TIMEOUT_MS = 5000

export function resharding(nodes: readonly RedisServer[], { batch, pauseMs }: Pace): Reshard {
  const admins = nodes.map((node) => node.client())
  let clashes = 0
  const admin = (index: number): Redis => admins[index] as Redis

  async function ownerOf(slot: number): Promise<number> {
    const range = (await admin(0).cluster('SLOTS')).find(([first, last]) => first <= slot && slot <= last)
    return nodes.findIndex(({ port }) => port === range?.[2]?.[1])
  }

  return {
    ownerOf,
    clashes: () => clashes,

    async move(slot, to) {
      const from = await ownerOf(slot)
      if (from === to) return
      const target = nodes[to] as RedisServer
      const ids = await Promise.all([from, to].map(async (index) => await admin(index).cluster('MYID')))
      await admin(to).cluster('SETSLOT', slot, 'IMPORTING', String(ids[0]))
      await admin(from).cluster('SETSLOT', slot, 'MIGRATING', String(ids[1]))
      for (;;) {
        await wait(pauseMs)
        const keys = (await admin(from).cluster('GETKEYSINSLOT', slot, batch)) as string[]
        if (keys.length === 0) break
        const migrate = async (...how: string[]): Promise<unknown> =>
          await admin(from).call(
            'MIGRATE',
            target.host,
            target.port,
            '',
            0,
            MIGRATE_TIMEOUT_MS,
            ...how,
            'KEYS',
            ...keys
          )
        await migrate().catch(async (error: unknown) => {
          if (!(error instanceof Error && error.message.includes('BUSYKEY'))) throw error
          clashes++
          await migrate('REPLACE')
        })
      }
      for (const index of [to, from]) await admin(index).cluster('SETSLOT', slot, 'NODE', String(ids[1]))
      await Promise.all(admins.map(async (each) => await each.cluster('SETSLOT', slot, 'NODE', String(ids[1]))))
    },

    async filled(node) {
      const own = (await admin(node).cluster('SLOTS'))
        .filter(([, , master]) => master?.[1] === nodes[node]?.port)
        .flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, at) => first + at))
      const pipeline = admin(node).pipeline()
      for (const slot of own) pipeline.cluster('COUNTKEYSINSLOT', slot)
      const counts = (await pipeline.exec()) ?? []
      return own.filter((_, at) => Number(counts[at]?.[1]) > 0)
    },

    close() {
      for (const each of admins) each.disconnect()
    }
  }
}

/** @see https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/ (key distribution model) */
export function slotOf(key: string): number {
  const tag = /\{([^}]+)\}/.exec(key)?.[1] ?? key
  let crc = 0
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021
    crc &= 0xffff
  }
  return crc % 16_384
}
