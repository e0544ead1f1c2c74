import { createHash, randomBytes } from 'node:crypto'
import { systemRandom } from '../lib/adapters/node/system.ts'
import { digest } from '../lib/protocol/digest.ts'
import { type Bench, median } from './report.ts'

const ROUNDS = 9
const GOAL = '≤ 0.60'

/** One opaque token of 256 bits and the digest of it that a store keeps. */
export const mint: Bench = async ({ quick }) => {
  const rounds = quick ? 1 : ROUNDS
  const count = quick ? 1000 : 100_000
  const random = systemRandom()
  const ways: Record<string, () => string> = {
    'pooled randomness, one-shot hash (ours)': () => digest(random.secret()),
    'randomBytes and createHash': () =>
      createHash('sha256').update(randomBytes(32).toString('base64url')).digest('base64url')
  }
  const found = Object.fromEntries(Object.keys(ways).map((name): [string, number[]] => [name, []]))
  let length = 0
  for (let round = 0; round <= rounds; round++) {
    for (const [name, way] of Object.entries(ways)) {
      const before = process.cpuUsage()
      for (let i = 0; i < count; i++) length += way().length
      const { user, system } = process.cpuUsage(before)
      // The first is for the compiler.
      if (round > 0 || quick) found[name]?.push((user + system) / count)
    }
  }
  // Nothing of it was left out by the compiler.
  if (length === 0) throw new Error('nothing was made')
  const [ours = [], naive = []] = Object.values(found)
  return {
    title: 'an opaque token with its digest',
    method: `${rounds} rounds of ${count} each, medians of CPU.`,
    tables: [
      {
        columns: ['', 'µs', 'ratio', 'goal'],
        rows: Object.entries(found).map(([name, values]) => [
          name,
          median(values).toFixed(2),
          median(values.map((value, round) => value / (naive[round] ?? Number.NaN))).toFixed(2),
          values === ours ? GOAL : ''
        ])
      }
    ]
  }
}
