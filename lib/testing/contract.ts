/** One requirement of a port. `run` rejects with an `AssertionError` if the store breaks it. */
export interface ContractCase {
  name: string
  run(): Promise<void>
}

/** Passes the cases to a test runner: `runContract(cases, test)` with node:test's or tap's `test`. */
export function runContract(
  cases: readonly ContractCase[],
  test: (name: string, run: () => Promise<void>) => unknown
): void {
  for (const { name, run } of cases)
    void test(name, async () => {
      await run()
    })
}

/**
 * The subject of one case, to which `make` of a suite resolves: new and empty. The suite calls `close` after the case,
 * whether it passes or fails.
 */
export interface Closable {
  close?(): Promise<void>
}

/** A case with its own fresh subject. */
export function caseOf<Subject extends Closable>(
  make: () => Promise<Subject>,
  name: string,
  check: (subject: Subject) => Promise<void>
): ContractCase {
  return {
    name,
    async run() {
      const subject = await make()
      try {
        await check(subject)
      } finally {
        await subject.close?.()
      }
    }
  }
}

/** Runs `count` calls at once and waits for all. */
export function parallel<Result>(count: number, call: (index: number) => Promise<Result>): Promise<Result[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => call(index)))
}

/** Counts equal values. */
export function tally(values: Iterable<string>): Record<string, number> {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return Object.fromEntries(counts)
}

/**
 * Strings that a store must return unchanged, and must not confuse with other keys. They contain no NUL and no lone
 * surrogate: the plugin rejects such strings before they reach a store, because many databases can't store them.
 */
export const HOSTILE_STRINGS: ReadonlyArray<readonly [label: string, value: string]> = [
  ['__proto__', '__proto__'],
  ['constructor', 'constructor'],
  ['quotes', `'"\`; DROP TABLE users; -- \\' %_*?[a-z]{1}`],
  ['8 kB', 'ab c'.repeat(2048)],
  ['emoji', '👩‍👩‍👧‍👦 é e\u0301 ﷺ \u202e'],
  ['line ends', 'a\r\nb\u2028c\t'],
  ['nothing but spaces', '   ']
]
