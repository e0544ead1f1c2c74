import type { Lab } from '../lab.ts'

export interface Situation {
  /** A to R: as in the tables that people know; the others are ours. */
  id: string
  title: string
  /** Not asked of a client that is not made for it. */
  needs?: 'shared' | 'listeners'
  /** @throws Failed with one word, where the client does not pass */
  run(lab: Lab): Promise<void>
}
