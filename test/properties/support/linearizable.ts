/**
 * True if the answers of parallel calls could come from one object that does one call after another (linearizability),
 * by the search of Wing and Gong: some order must explain all answers, in which no call comes before one that had
 * answered when it began. Two orders that lead to one state after the same calls are tried only once (Lowe).
 */

/** A call on the object, as its client saw it. */
export interface Operation<Call, Answer> {
  client: number
  call: Call
  /** `undefined`: no answer arrived. The call was done at any time after it began, or never. */
  answer: Answer | undefined
  /** Places in the order of all beginnings and answers. `end` is `Infinity` where no answer came. */
  start: number
  end: number
}

export interface Model<State, Call, Answer> {
  initial: State
  /** Another state for the call with this answer, or `null` where the answer is wrong. `undefined`: any answer. */
  step(state: State, call: Call, answer: Answer | undefined): State | null
  /** Two states with one text behave alike. */
  textOf(state: State): string
}

/** Bounds the search. A history of the tests takes some thousand steps. */
const MAX_STEPS = 2_000_000

/** @throws RangeError where the history is too long to be decided */
export function isLinearizable<State, Call, Answer>(
  model: Model<State, Call, Answer>,
  history: ReadonlyArray<Operation<Call, Answer>>
): boolean {
  const operations = history.toSorted((a, b) => a.start - b.start)
  const answered = operations.filter(({ end }) => end !== Infinity).length
  const seen = new Set<string>()
  let steps = 0

  function search(state: State, done: bigint, left: number): boolean {
    if (left === 0) return true
    if (++steps > MAX_STEPS) throw new RangeError('The history is too long.')
    const place = `${done} ${model.textOf(state)}`
    if (seen.has(place)) return false
    seen.add(place)
    // The next call must have begun before any call that is not done yet had answered.
    let firstEnd = Infinity
    for (const [index, { end }] of operations.entries())
      if ((done & (1n << BigInt(index))) === 0n) firstEnd = Math.min(firstEnd, end)
    for (const [index, { call, answer, start, end }] of operations.entries()) {
      if (start > firstEnd) break
      const bit = 1n << BigInt(index)
      if ((done & bit) !== 0n) continue
      const next = model.step(state, call, answer)
      if (next !== null && search(next, done | bit, left - (end === Infinity ? 0 : 1))) return true
    }
    return false
  }
  return search(model.initial, 0n, answered)
}

/** Notes the calls of several clients in the order in which they begin and answer. */
export function recorder<Call, Answer>() {
  const history: Array<Operation<Call, Answer>> = []
  let at = 0
  return {
    history,
    /** `undefined` where no answer came. */
    async note(client: number, call: Call, run: () => Promise<Answer>): Promise<Answer | undefined> {
      const operation: Operation<Call, Answer> = { client, call, answer: undefined, start: ++at, end: Infinity }
      history.push(operation)
      try {
        operation.answer = await run()
        operation.end = ++at
      } catch {
        // It may have been done.
      }
      return operation.answer
    }
  }
}

/** The history as a person can read it. */
export function told<Call, Answer>(history: ReadonlyArray<Operation<Call, Answer>>): string {
  return history
    .map(
      ({ client, call, answer, start, end }) =>
        `${start}-${end === Infinity ? '?' : end} client ${client}: ${JSON.stringify(call)} -> ${JSON.stringify(answer)}`
    )
    .join('\n')
}
