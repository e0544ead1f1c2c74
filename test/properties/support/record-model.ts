/** A correct record store, and histories of calls on it. */
import { ANY, NEVER, type RecordStore, type RecordWrite, type StoredRecord } from '../../../lib/ports/record-store.ts'
import type { Chance } from '../../support/random.ts'
import { type Model, type Operation, recorder } from './linearizable.ts'

export type RecordCall = { read: readonly string[] } | { commit: readonly RecordWrite[] }
/** The versions of the records; `null` for a commit that was done. */
export type RecordAnswer = Array<string | null> | null
type Records = Readonly<Record<string, string>>

const KEYS = ['a', 'b', 'c'] as const
const CALLS_OF_A_CLIENT = 6

export const RECORD_MODEL: Model<Records, RecordCall, RecordAnswer> = {
  initial: {},
  step(records, call, answer) {
    const versionOf = (key: string): string | null => records[key] ?? null
    const isAnswer = (expected: RecordAnswer): boolean =>
      answer === undefined || JSON.stringify(answer) === JSON.stringify(expected)
    if ('read' in call) return isAnswer(call.read.map(versionOf)) ? records : null
    if (call.commit.some(({ key, expect }) => expect !== ANY && expect !== versionOf(key)))
      return isAnswer(call.commit.map(({ key }) => versionOf(key))) ? records : null
    if (!isAnswer(null)) return null
    const next: Record<string, string> = { ...records }
    for (const { key, change } of call.commit) {
      if (change === 'delete') delete next[key]
      else if (change !== 'keep') next[key] = change.version
    }
    return next
  },
  textOf: (records) => KEYS.map((key) => records[key] ?? '').join()
}

const versionsOf = (found: ReadonlyArray<StoredRecord | null>): Array<string | null> =>
  found.map((record) => {
    if (record === null) return null
    // A value belongs to its version: half of a record is no record.
    if (record.value !== valueOf(record.version)) throw new RangeError(`${record.value} has version ${record.version}`)
    return record.version
  })
const valueOf = (version: string): string => `"of ${version}"`

let made = 0
const newVersion = (): string => `h${String(++made).padStart(13, '0')}`

function callOf({ integer, one, pick, some }: Chance, known: ReadonlyMap<string, string | null>): RecordCall {
  const keys = some(KEYS)
  if (one(3)) return { read: keys.length > 0 ? keys : KEYS }
  const written = (keys.length > 0 ? keys : KEYS).toSorted(() => integer(3) - 1)
  return {
    commit: written.map((key) => {
      const expect = one(8) ? pick([null, ANY, newVersion()]) : (known.get(key) ?? null)
      if (one(5)) return { key, expect, change: 'keep' }
      if (one(5)) return { key, expect, change: 'delete' }
      const version = newVersion()
      return {
        key,
        expect,
        change: { version, value: valueOf(version), kind: 'test', userId: 'ann', expiresAt: NEVER }
      }
    })
  }
}

/** Clients on instances of one store, in a partition that has no records yet. */
export async function recordHistory(
  stores: readonly RecordStore[],
  partition: string,
  chance: Chance
): Promise<Array<Operation<RecordCall, RecordAnswer>>> {
  const { history, note } = recorder<RecordCall, RecordAnswer>()
  await Promise.all(
    stores.map(async (store, client) => {
      const known = new Map<string, string | null>()
      for (let turn = 0; turn < CALLS_OF_A_CLIENT; turn++) {
        const call = callOf(chance, known)
        const answer = await note(client, call, async () => {
          if ('read' in call) return versionsOf(await store.read(partition, call.read))
          const found = await store.commit(partition, call.commit, 0)
          return found === null ? null : versionsOf(found)
        })
        const keys = 'read' in call ? call.read : call.commit.map(({ key }) => key)
        if (answer !== undefined && answer !== null)
          for (const [index, key] of keys.entries()) known.set(key, answer[index] ?? null)
        else if ('commit' in call)
          for (const { key, change } of call.commit)
            if (change !== 'keep') known.set(key, change === 'delete' ? null : change.version)
      }
    })
  )
  return history
}
