/** A store of state with its server, as the growth benchmark sees it. */
import type { AttemptStore } from '../../lib/ports/attempt-store.ts'
import type { UserStore } from '../../lib/ports/user-store.ts'
import type { State } from '../../lib/ports/state.ts'

/** The costs of a server since it started. */
export interface Spent {
  /** Time of its processes on a CPU. */
  cpuNs: number
  /** The part of it inside the scripts, if the engine tells. */
  scriptNs?: number
  /** Bytes written ahead, where it does. */
  logBytes?: number
}

export interface Engine {
  state: State
  attempts?: AttemptStore
  /** How many operations are under way at once: where the store answers within the tick, one. */
  concurrency: number
  /** Operations in one round. */
  perRound: number
  /** Puts in the families and the browser sessions of these numbers, as quickly as the store can. */
  loadFamilies(from: number, to: number): Promise<void>
  loadSessions(from: number, to: number): Promise<void>
  /** The host's users, where the store has them too: each with this hash of a password. */
  users?: { store: UserStore; load(count: number, passwordHash: string): Promise<void> }
  /** The bytes of all records, in memory or on disk, with indexes. */
  bytes(): Promise<number>
  /** The bytes of its keys by the store itself, if it tells. */
  bytesOfKeys?(): Promise<number>
  /** Empties it, where what was there before would count towards what comes. */
  clear?(): Promise<void>
  spent?(): Promise<Spent>
  /**
   * For a server that removes expired records itself: lets all records expire within the next seconds, except those
   * that are kept, by the last part of their key.
   */
  hasten?(isKept: (name: string) => boolean): Promise<void>
  /** Resolves when it has. */
  whenExpired?(): Promise<void>
  close(): Promise<void>
}

/** `width` calls at once, for the numbers from `from` up to `to`. */
export async function each(
  from: number,
  to: number,
  width: number,
  work: (number: number) => Promise<unknown>
): Promise<void> {
  for (let start = from; start < to; start += width) {
    await Promise.all(
      Array.from({ length: Math.min(width, to - start) }, async (_, index) => await work(start + index))
    )
  }
}
