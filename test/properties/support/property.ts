/**
 * Properties of every input, tried on many random ones by fast-check.
 *
 * `npm test` tries each property 250 times with the same inputs, and slow ones less often.
 *
 * `PROPERTY_RUNS=100000 npm run test:properties` is for the night and uses a new seed. A failure prints the seed and
 * the smallest failing input. `PROPERTY_SEED=… npm test -- FILE` repeats the same inputs, and `PROPERTY_PATH=…` with it
 * goes straight to the failing one.
 *
 * Add a failed input to the `examples` of its property, which are tried first.
 */
import * as fc from 'fast-check'
import t from '../../support/tap.ts'

const { PROPERTY_RUNS, PROPERTY_SEED, PROPERTY_PATH } = process.env
const USUAL_RUNS = 250
const RUNS = Number(PROPERTY_RUNS ?? USUAL_RUNS)
const SEED = 20_261_122

type Arbitraries<Values> = { [Index in keyof Values]: fc.Arbitrary<Values[Index]> }

export interface PropertyOptions<Values> {
  examples?: Values[]
  /**
   * The names that `check` gives to inputs. One in a hundred of the usual inputs must have each, or the property is
   * about other inputs.
   */
  cases?: readonly string[]
  /** The share of the runs for this property: 1 is all of them. */
  share?: number
}

/** Tests that `check` throws for no input, and that the inputs cover each of the `cases`, which `check` returns. */
export function property<Values extends [unknown, ...unknown[]]>(
  name: string,
  arbitraries: Arbitraries<Values>,
  { examples = [], cases = [], share = 1 }: PropertyOptions<NoInfer<Values>>,
  check: (...values: Values) => unknown
): void {
  t.test(name, { timeout: 0 }, async (t) => {
    const met = new Map<unknown, number>()
    const run = async (seed: number, runs: number, fixed: readonly Values[], path?: string): Promise<number> => {
      met.clear()
      const numRuns = Math.max(Math.ceil(runs * share), fixed.length)
      await fc.assert(
        fc.asyncProperty(...(arbitraries as unknown as Arbitraries<[...Values]>), async (...values: Values) => {
          for (const found of [await check(...values)].flat()) met.set(found, (met.get(found) ?? 0) + 1)
        }),
        { seed, numRuns, examples: [...fixed], ...(path === undefined ? {} : { path }) }
      )
      t.pass(`${numRuns} runs with seed ${seed}: ${JSON.stringify(Object.fromEntries(met))}`)
      return numRuns
    }
    // A single input that is looked at again meets one case.
    if (PROPERTY_PATH !== undefined) {
      await run(Number(PROPERTY_SEED ?? SEED), RUNS, examples, PROPERTY_PATH)
      return
    }
    const numRuns = await run(SEED, USUAL_RUNS, examples)
    // Checks the coverage of cases only for the usual inputs, because few random runs may miss a rare case.
    if (numRuns >= 50) for (const one of cases) t.ok((met.get(one) ?? 0) > numRuns / 100, `case met: ${one}`)
    if (PROPERTY_SEED !== undefined) await run(Number(PROPERTY_SEED), RUNS, [])
    else if (PROPERTY_RUNS !== undefined) await run(Math.trunc(Math.random() * 2 ** 32) | 0, RUNS, [])
  })
}

/**
 * Any character, those that parsers stumble over more often. fast-check's own unit for this makes a table of all of
 * them first.
 */
export const character: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '\0',
    '\t',
    '\n',
    '\r',
    ' ',
    '\u007f',
    '\u00a0',
    '\u0130',
    '\u0301',
    '\u200b',
    '\u202e',
    '\u2028',
    '\u212a',
    '\ufeff',
    '\ufffd',
    '\uff20',
    '\u{1f600}',
    '"',
    "'",
    '<',
    '\\',
    '`'
  ),
  fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCodePoint(code)),
  fc
    .integer({ min: 0, max: 0x10ffff })
    .filter((code) => code < 0xd800 || code > 0xdfff)
    .map((code) => String.fromCodePoint(code))
)

/** Texts made of these words, and now and then of anything else. */
export function wordsOf(words: readonly string[], maxLength = 12): fc.Arbitrary<string> {
  const part = fc.oneof(
    { arbitrary: fc.constantFrom(...words), weight: 8 },
    { arbitrary: fc.string({ unit: character, maxLength: 3 }), weight: 1 }
  )
  return fc.array(part, { maxLength }).map((parts) => parts.join(''))
}

/** These texts, most of them with one or two places changed: a word put in, a few characters taken out, or both. */
export function almost(texts: fc.Arbitrary<string>, words: readonly string[]): fc.Arbitrary<string> {
  const edit = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    out: fc.nat(3),
    put: fc.oneof(fc.constant(''), fc.constantFrom(...words), fc.string({ unit: character, maxLength: 2 }))
  })
  return fc.tuple(texts, fc.array(edit, { maxLength: 2 })).map(([text, edits]) =>
    edits.reduce((edited, { at, out, put }) => {
      const place = Math.floor(at * (edited.length + 1))
      return edited.slice(0, place) + put + edited.slice(place + out)
    }, text)
  )
}

/** The error that `call` throws, or `null`. */
export function thrownBy(call: () => unknown): unknown {
  try {
    call()
    return null
  } catch (error) {
    return error
  }
}
