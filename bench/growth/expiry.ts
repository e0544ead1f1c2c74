/** Measures how the end of many families at once affects the others and the size of the store. */
import { setTimeout as wait } from 'node:timers/promises'
import { partitionOf } from '../../lib/protocol/digest.ts'
import { isQuick, some } from '../quick.ts'
import type { Engine } from './engine.ts'
import { familyOf, useOf } from './records.ts'

export interface Expiry {
  sweepMs: number[]
  /** The times of `useToken` in each round, from the moment it was due, alone and during a sweep. */
  alone: Array<{ p50: number; p99: number; max: number }>
  beside: Array<{ p50: number; p99: number; max: number }>
  bytes: Record<string, number>
}

/** Families that go on, and are used meanwhile. */
const ALIVE = some(1000)
const EVERY_MS = 4
const DAY_MS = 86_400_000

const at = (values: readonly number[], share: number): number =>
  values[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN

/** One use every 4 ms, whether the one before is answered or not, until `isOver`. */
async function load(engine: Engine, isOver: () => boolean): Promise<Expiry['alone'][number]> {
  const { tokens } = engine.state
  const took: number[] = []
  const underWay: Array<Promise<void>> = []
  const started = performance.now()
  for (let turn = 0; !isOver(); turn++) {
    const due = started + turn * EVERY_MS
    if (due > performance.now()) await wait(due - performance.now())
    // A timer may come a moment early.
    const from = Math.min(due, performance.now())
    const use = { ...useOf(turn % ALIVE, 0), idleExpiresAt: Date.now() + 20 * DAY_MS }
    underWay.push(
      tokens.useToken(use).then(({ outcome }) => {
        if (outcome !== 'used') throw new Error(`a use was ${outcome}`)
        took.push(performance.now() - from)
      })
    )
  }
  await Promise.all(underWay)
  took.sort((left, right) => left - right)
  return { p50: at(took, 0.5), p99: at(took, 0.99), max: at(took, 1) }
}

export async function expire(engine: Engine, count: number): Promise<Expiry> {
  const { state } = engine
  const kept = new Set(Array.from({ length: ALIVE }, (_, number) => partitionOf(familyOf(number).userId)))
  const bytes: Record<string, number> = { empty: await engine.bytes() }
  const expiry: Expiry = { sweepMs: [], alone: [], beside: [], bytes }
  const end = familyOf(0).idleExpiresAt
  for (let round = 0; round < (isQuick() ? 1 : 3); round++) {
    await engine.loadFamilies(0, count + ALIVE)
    bytes[`full, round ${round + 1}`] = await engine.bytes()
    // The first go on for longer than those that will be swept.
    for (let number = 0; number < ALIVE; number++)
      await state.tokens.useToken({ ...useOf(number, 0), idleExpiresAt: end + 5 * DAY_MS })
    const until = performance.now() + (isQuick() ? 100 : 3000)
    expiry.alone.push(await load(engine, () => performance.now() > until))
    await engine.hasten?.((partition) => kept.has(partition))
    let isSwept = false
    const started = performance.now()
    const sweeping = Promise.resolve(engine.whenExpired?.() ?? state.sweep(end + DAY_MS)).then(() => {
      expiry.sweepMs.push(performance.now() - started)
      isSwept = true
    })
    expiry.beside.push(await load(engine, () => isSwept))
    await sweeping
    for (let number = 0; number < ALIVE; number++) await state.tokens.revokeFamily(familyOf(number).sid)
    bytes[`swept, round ${round + 1}`] = await engine.bytes()
  }
  return expiry
}
