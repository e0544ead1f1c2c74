import { setImmediate } from 'node:timers/promises'

/** How many entries a sweep looks at before it lets requests through. */
const SLICE = 1000

export async function inSlices<Name>(names: Iterable<Name>, sweepOne: (name: Name) => void): Promise<void> {
  let looked = 0
  // A Map's iterator stands changes, so others may add and remove between two slices.
  for (const name of names) {
    sweepOne(name)
    if (++looked % SLICE === 0) await setImmediate()
  }
}
