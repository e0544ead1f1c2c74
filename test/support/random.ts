/** Repeatable random choices: the same seed gives the same choices. */
export interface Chance {
  /** 0 or more, less than `below`. */
  integer(below: number): number
  /** True in one of `in_` cases. */
  one(in_: number): boolean
  pick<T>(items: readonly T[]): T
  /** Each item with even odds, in the order given. */
  some<T>(items: readonly T[]): T[]
}

/** Mulberry32. */
export function chance(seed: number): Chance {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const integer = (below: number): number => Math.floor(next() * below)
  return {
    integer,
    one: (in_) => integer(in_) === 0,
    pick: (items) => items[integer(items.length)] as (typeof items)[number],
    some: (items) => items.filter(() => integer(2) === 0)
  }
}
