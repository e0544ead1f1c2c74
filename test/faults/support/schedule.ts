/** Pseudorandom choices that are the same in every run: each follows from a seed and its number. */
import { hash } from 'node:crypto'

export interface Schedule {
  /** The next choice among `weights`, in proportion to them. */
  pick<Name extends string>(weights: Readonly<Record<Name, number>>): Name
  /** The next whole number from 0 to `max`. */
  upTo(max: number): number
}

export function schedule(seed: string): Schedule {
  let count = 0
  const upTo = (max: number): number =>
    Number.parseInt(hash('sha256', `${seed} ${count++}`).slice(0, 12), 16) % (max + 1)
  return {
    upTo,
    pick(weights) {
      const entries = Object.entries<number>(weights)
      let rest = upTo(entries.reduce((sum, [, weight]) => sum + weight, 0) - 1)
      const chosen = entries.find(([, weight]) => (rest -= weight) < 0)
      return (chosen ?? entries[0])?.[0] as keyof typeof weights
    }
  }
}
