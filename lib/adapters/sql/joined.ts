import { endOfTurn } from '../../ports/turn.ts'

interface Waiting<Call, Answer> {
  call: Call
  resolve(answer: Answer): void
  reject(error: unknown): void
}

/** A larger batch would hold its locks for too long. */
const MOST_TOGETHER = 64

/**
 * Runs the calls of one turn of the event loop together, at the end of the turn. `run` resolves to their answers in
 * order. `mayBeOfOne`: nothing was done, and one of the calls may be the cause. Then each of them runs alone.
 */
export function joined<Call, Answer>(
  run: (calls: readonly Call[]) => Promise<readonly Answer[]>,
  mayBeOfOne: (error: unknown) => boolean
): (call: Call) => Promise<Answer> {
  let waiting: Array<Waiting<Call, Answer>> = []

  async function runAll(all: ReadonlyArray<Waiting<Call, Answer>>): Promise<void> {
    try {
      const answers = await run(all.map(({ call }) => call))
      for (const [at, { resolve }] of all.entries()) resolve(answers[at] as Answer)
    } catch (error) {
      if (all.length > 1 && mayBeOfOne(error)) for (const one of all) void runAll([one])
      else for (const { reject } of all) reject(error)
    }
  }

  function flush(): void {
    const all = waiting
    waiting = []
    for (let at = 0; at < all.length; at += MOST_TOGETHER) void runAll(all.slice(at, at + MOST_TOGETHER))
  }

  return (call) =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) void endOfTurn().then(flush)
      waiting.push({ call, resolve, reject })
    })
}
