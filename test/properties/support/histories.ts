/**
 * Histories: any calls on a store, one at a time and several at once, with time passing between. Each answer must be
 * one that the model of the store allows, and the answers of calls at once those of some order of them.
 */
import { isOutage } from '../../../lib/ports/outage.ts'
import { deepEqual, ok } from 'node:assert/strict'
import * as fc from 'fast-check'
import { explained } from './worlds.ts'

/** Throws for an answer that the store must not give. */
export type Expectation = (actual: unknown) => void

/**
 * A model of a store, written from the prose of its port: each method changes the world, and tells which answers are
 * right. `now` is for methods without a time of their own.
 */
export type Specification<World> = Record<string, (world: World, now: number, ...args: never[]) => Expectation>

export type CallOf<Specified> = {
  [Method in keyof Specified]: Specified[Method] extends (world: never, now: number, ...args: infer Args) => Expectation
    ? { method: Method; args: Args }
    : never
}[keyof Specified]

/** The results of a history so far. */
export interface History<World> {
  /** The possible worlds after the answers so far. */
  worlds: World[]
  now: number
  /** By name, for the cases of the property. */
  outcomes: string[]
}

/** The part of a store that a property needs. The methods may be those of several ports. */
export interface Subject<Method extends PropertyKey> {
  kind: string
  methods: Record<Method, (...args: never[]) => Promise<unknown>>
  sweep(now: number): unknown
}

export const is =
  (expected: unknown): Expectation =>
  (actual) => {
    deepEqual(actual, expected)
  }
export const rejected: Expectation = (actual) => {
  ok(actual instanceof Error, String(actual))
}
export const anything: Expectation = () => {}

const subsetsOf = (items: readonly number[]): number[][] =>
  items.reduce<number[][]>((subsets, item) => [...subsets, ...subsets.map((subset) => [...subset, item])], [[]])

/** The worlds of all alternatives that don't throw. Throws if all do. */
function anyOf<World>(alternatives: ReadonlyArray<() => World[]>): World[] {
  const failures: unknown[] = []
  const worlds = alternatives.flatMap((alternative) => {
    try {
      return alternative()
    } catch (error) {
      failures.push(error)
      return []
    }
  })
  if (worlds.length === 0) throw failures[0]
  return worlds
}

/** The commands of histories. `learn` receives each call with its answer. */
export function commandsOf<World, Hist extends History<World>, Specified extends Specification<World>>(
  specification: Specified,
  learn: (history: Hist, call: CallOf<Specified>, answer: unknown) => void
) {
  type Call = CallOf<Specified>
  type Store = Subject<keyof Specified>
  type Command = fc.AsyncCommand<Hist, Store>
  type MakeCall = (history: Hist) => Call

  /** These calls at once. */
  const called = (makes: readonly MakeCall[]): Command => {
    let shown = 'not called'
    return {
      check: () => true,
      async run(history, { methods }) {
        const calls = makes.map((make) => make(history))
        shown = calls
          .map(({ method, args }) => `${String(method)}(${JSON.stringify(args).slice(1, -1)})`)
          .join(' at once with ')
        const answers = await Promise.all(
          calls.map(
            async ({ method, args }) =>
              await (methods[method] as (...args: unknown[]) => Promise<unknown>)(...(args as unknown[])).then(
                plain,
                (error: unknown) => error
              )
          )
        )
        // If the record is gone, the store cannot tell the outcome of a call whose answer was lost. Then both outcomes
        // are right.
        const unknown = answers.flatMap((answer, at) => (isOutage(answer) ? [at] : []))
        history.worlds = anyOf(
          subsetsOf(unknown).map(
            (undone) => () =>
              explained(history.worlds, calls.length, (world, at) => {
                if (undone.includes(at)) return
                const { method, args } = calls[at] as Call
                const specified = specification[method] as unknown as (
                  world: World,
                  now: number,
                  ...args: unknown[]
                ) => Expectation
                const expectation = specified(world, history.now, ...(args as unknown[]))
                if (!unknown.includes(at)) expectation(answers[at])
              })
          )
        )
        for (const [at, answer] of answers.entries()) learn(history, calls[at] as Call, answer)
      },
      toString: () => shown
    }
  }
  /** Makes these calls in sequence, because by chance the sequence would be too rare. */
  const inTurn = (makes: readonly MakeCall[]): Command => {
    const commands = makes.map((make) => called([make]))
    return {
      check: () => true,
      async run(history, store) {
        for (const command of commands) await command.run(history, store)
      },
      toString: () => commands.map(String).join(', then ')
    }
  }
  const passed = (ms: number): Command => ({
    check: () => true,
    async run(history) {
      history.now += ms
    },
    toString: () => `${ms} ms pass`
  })
  const swept: Command = {
    check: () => true,
    async run(history, store) {
      await store.sweep(history.now)
    },
    toString: () => 'sweep'
  }

  return {
    called,
    inTurn,
    passed,
    swept,
    /** Mostly single calls, sometimes two or three at once. Equal calls at once are the likeliest races. */
    usual: (
      anyCall: fc.Arbitrary<MakeCall>,
      racing: fc.Arbitrary<MakeCall>,
      ...others: Array<fc.Arbitrary<Command>>
    ): Array<fc.Arbitrary<Command>> => {
      const one = anyCall.map((make) => called([make]))
      return [
        one,
        one,
        one,
        fc.array(anyCall, { minLength: 2, maxLength: 3 }).map(called),
        fc
          .tuple(racing, fc.integer({ min: 2, max: 3 }))
          .map(([make, times]) => called(Array.from({ length: times }, () => make))),
        fc.constant(swept),
        ...others
      ]
    }
  }
}

/** Without the prototype that a driver's rows may have, and without fields that are `undefined`. */
function plain(answer: unknown): unknown {
  return answer === undefined ? undefined : (JSON.parse(JSON.stringify(answer)) as unknown)
}

export const nthLast = <Item>(items: readonly Item[], at: number): Item | undefined =>
  items[items.length - 1 - Math.min(at, items.length - 1)]

/** An index of a record, counted from the newest. */
export const recent = fc.oneof({ arbitrary: fc.nat(2), weight: 4 }, fc.nat(8))
/** Once in sixteen. */
export const seldom = fc.integer({ min: 0, max: 15 }).map((number) => number === 0)
