import { endOfTurn } from '../../ports/turn.ts'

interface Waiting<Call, Answer> {
  call: Call
  resolve(answer: Answer): void
  reject(error: unknown): void
}

/** The maximum number of calls in one batch. A larger batch would hold its locks for too long. */
const MOST_TOGETHER = 64

/**
 * Returns a function that runs its calls of one turn of the event loop together, at the end of the turn, in batches of
 * at most `MOST_TOGETHER`. `run` runs a batch and resolves to the answers in the order of the calls. If `run` rejects
 * with an error for which `mayBeOfOne` is true, each call runs again alone. Such an error means that nothing was done,
 * and that a single call may be the cause.
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
