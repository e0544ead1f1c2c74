import type { Clock } from '../ports/clock.ts'
import { createHash } from 'node:crypto'
import type { Argon2Parameters, PasswordHasher } from '../ports/cryptography.ts'
import type { Message } from '../ports/message.ts'
import { fromBase32, totpCode as codeOf, totpStep } from '../protocol/totp.ts'
import { OutageError } from '../ports/outage.ts'
import { setImmediate } from 'node:timers/promises'

export interface SteppedClock extends Clock {
  /**
   * Moves the wall clock and the monotonic clock forward. Runs each due task at its time and in order, including tasks
   * that these tasks schedule.
   * @throws RangeError for a negative step. Only the wall clock can go backwards, with `setWall`
   */
  step(ms: number): void
  /** Sets the wall clock alone, as an administrator or NTP does. Timers are not moved. */
  setWall(ms: number): void
}

interface Waiting {
  at: number
  task: () => void
}

/** A clock that stands still until a test steps it. `start` is the wall clock in milliseconds since the epoch. */
export function steppedClock(start = Date.UTC(2026, 0, 1)): SteppedClock {
  let monotonic = 0
  let wallOffset = start
  // Keeps the order of scheduling, so that of two tasks due at the same time, the one scheduled first runs first.
  const waiting = new Set<Waiting>()

  const nextUntil = (end: number): Waiting | undefined => {
    let first: Waiting | undefined
    for (const entry of waiting) {
      if (entry.at <= end && (first === undefined || entry.at < first.at)) first = entry
    }
    return first
  }

  return {
    now: () => wallOffset + monotonic,
    monotonic: () => monotonic,
    after(delayMs, task) {
      const entry = { at: monotonic + Math.max(0, delayMs), task }
      waiting.add(entry)
      return () => {
        waiting.delete(entry)
      }
    },
    step(ms) {
      if (!(ms >= 0)) throw new RangeError('A clock steps forward.')
      const end = monotonic + ms
      for (let due = nextUntil(end); due !== undefined; due = nextUntil(end)) {
        waiting.delete(due)
        monotonic = Math.max(monotonic, due.at)
        due.task()
      }
      monotonic = end
    },
    setWall(ms) {
      wallOffset = ms - monotonic
    }
  }
}

export interface FastHasher extends PasswordHasher {
  /** The number of calls of each method, failed ones included. */
  readonly calls: Readonly<{ hash: number; verify: number }>
}

const PHC = /^\$(argon2(?:id|i|d))\$v=\d+\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/

const unpadded = (bytes: Uint8Array): string =>
  Buffer.from(bytes)
    .toString('base64')
    .replace(/={1,2}$/, '')

function tagOf(
  variant: string,
  parameters: Argon2Parameters,
  salt: string,
  password: string,
  secret: Uint8Array | undefined
): string {
  const { memoryCost, timeCost, parallelism } = parameters
  const hash = createHash('sha256')
  // Prefixes each input with its length, so that different inputs never give the same bytes.
  for (const part of [variant, `${memoryCost},${timeCost},${parallelism}`, salt, password, secret ?? '']) {
    const bytes = Buffer.from(part)
    hash.update(`${bytes.length}:`).update(bytes)
  }
  return unpadded(hash.digest())
}

/**
 * A fast hasher for tests. The hashes look like argon2id hashes and contain the parameters, but each is a single
 * SHA-256. NEVER use it for real passwords. `verify` resolves to `false` for real argon2 hashes, and rejects with
 * `TypeError` for a text of another form. Salts are numbered, not random.
 */
export function fastHasher(): FastHasher {
  const calls = { hash: 0, verify: 0 }
  return {
    calls,
    async hash(password, parameters, secret) {
      calls.hash++
      const salt = unpadded(createHash('sha256').update(`salt ${calls.hash}`).digest().subarray(0, 16))
      const { memoryCost, timeCost, parallelism } = parameters
      const tag = tagOf('argon2id', parameters, salt, password, secret)
      return `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}$${salt}$${tag}`
    },
    async verify(encoded, password, secret) {
      calls.verify++
      const [, variant, m, t, p, salt, tag] = PHC.exec(encoded) ?? []
      if (variant === undefined || salt === undefined) throw new TypeError('Not an argon2 string.')
      return (
        tagOf(
          variant,
          { memoryCost: Number(m), timeCost: Number(t), parallelism: Number(p) },
          salt,
          password,
          secret
        ) === tag
      )
    }
  }
}

export interface CapturedMessages<M extends { kind: string }> {
  /** The option `sendMessage`. */
  send(message: M): Promise<void>
  /** All sent messages, oldest first. */
  readonly messages: readonly M[]
  /**
   * The oldest message (of this kind) that no call of `next` has returned. Waits for it if there is none yet, because
   * replies don't wait for messages.
   */
  next<Kind extends M['kind']>(kind?: Kind): Promise<M & { kind: Kind }>
}

interface Reader {
  kind: string | undefined
  resolve(message: unknown): void
}

/** Records messages instead of sending them. */
export function capturedMessages<M extends { kind: string } = Message>(): CapturedMessages<M> {
  const messages: M[] = []
  const unread: M[] = []
  const readers: Reader[] = []
  return {
    messages,
    async send(message) {
      messages.push(message)
      const reader = readers.findIndex(({ kind }) => kind === undefined || kind === message.kind)
      if (reader === -1) unread.push(message)
      else for (const { resolve } of readers.splice(reader, 1)) resolve(message)
    },
    async next<Kind extends M['kind']>(kind?: Kind) {
      const index = unread.findIndex((message) => kind === undefined || message.kind === kind)
      const [message] = index === -1 ? [] : unread.splice(index, 1)
      return (message ??
        (await new Promise((resolve) => {
          readers.push({ kind, resolve })
        }))) as M & { kind: Kind }
    }
  }
}

const TAKES = 'totpCode takes a key in base32, an otpauth: URI that has one, or the bytes of a key.'

/**
 * Computes the code that an authenticator app shows.
 * @param secret the key in base32 (from `POST /auth/factors/totp`), the `otpauth:` URI, or the bytes of the key (as for
 * `importTotp`)
 * @param now milliseconds since the epoch, such as `clock.now()` of a stepped clock. Default: the machine's clock
 * @throws TypeError if `secret` contains no key, or `now` is negative or not finite
 * @example await app.inject({ method: 'POST', url: '/auth/factors/totp/confirm', headers, payload: { enrolment, code:
 * totpCode(secret, clock.now()) } })
 */
export function totpCode(secret: string | Uint8Array, now: number = Date.now()): string {
  if (!Number.isFinite(now) || now < 0) throw new TypeError('totpCode takes the time in milliseconds since the epoch.')
  return codeOf(typeof secret === 'string' ? keyIn(secret) : bytesOf(secret), totpStep(now))
}

function bytesOf(secret: unknown): Buffer {
  if (!(secret instanceof Uint8Array) || secret.length === 0) throw new TypeError(TAKES)
  return Buffer.from(secret)
}

function keyIn(secretOrUri: string): Buffer {
  const key = fromBase32(
    secretOrUri.startsWith('otpauth:') ? (new URL(secretOrUri).searchParams.get('secret') ?? '') : secretOrUri
  )
  if (key === null) throw new TypeError(TAKES)
  return key
}

export interface LossOptions {
  /** The methods whose calls are lost, such as `['commit']`. Default: all. */
  methods?: readonly string[] | undefined
  /** Loses the answer of every nth call, after the store has done the call. Default 3. 0: loses no answer. */
  everyAnswer?: number | undefined
  /** Loses every nth call before it reaches the store. Default 0: loses no call. */
  everyCall?: number | undefined
}

/**
 * Wraps the store to simulate a network that loses calls or answers. The call then rejects with an `OutageError`. One
 * counter counts the calls of all `methods`, also of nested objects (`state.tokens`), so that each test run loses
 * the same calls. A retry with the same object as an argument succeeds, because callers retry only a few times.
 * `lost()` returns the number of lost calls and answers so far.
 */
export function losesAnswers<Store extends object>(
  store: Store,
  { methods, everyAnswer = 3, everyCall = 0 }: LossOptions = {}
): Store & { lost(): number } {
  const lostBefore = new WeakSet<object>()
  let calls = 0
  let losses = 0

  function lose(args: readonly unknown[], message: string): never {
    for (const arg of args) if (isObject(arg)) lostBefore.add(arg)
    losses++
    throw new OutageError(message)
  }

  async function losing(target: object, method: Method, args: unknown[]): Promise<unknown> {
    if (args.some((arg) => isObject(arg) && lostBefore.has(arg))) return await Reflect.apply(method, target, args)
    const turn = ++calls
    if (turn % everyCall === 0) lose(args, `Call ${turn} was lost before it was done.`)
    const result = await Reflect.apply(method, target, args)
    if (turn % everyAnswer === 0) lose(args, `The answer of call ${turn} was lost.`)
    return result
  }

  const lossy = withMethods(store, (method, target, name) =>
    methods?.includes(name) === false ? method : (...args) => losing(target, method, args)
  )
  return new Proxy(lossy, {
    get: (target, name, receiver): unknown => (name === 'lost' ? () => losses : Reflect.get(target, name, receiver))
  }) as Store & { lost(): number }
}

type Method = (...args: unknown[]) => unknown

const isMethod = (value: unknown): value is Method => typeof value === 'function'
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/**
 * The numbers of event loop turns to wait before and after each call, in rotation. They are uneven, so that neighboring
 * calls overtake each other.
 */
const SCHEDULE: readonly number[] = [3, 0, 5, 1, 0, 4, 2, 6, 0, 1, 7]

/** Replaces each method of a store, and of its nested objects, by another function. */
function withMethods<Store extends object>(
  store: Store,
  replace: (method: Method, target: object, name: string) => Method
): Store {
  return new Proxy(store, {
    get(target, name, receiver) {
      const member: unknown = Reflect.get(target, name, receiver)
      if (isObject(member)) return withMethods(member, replace)
      return isMethod(member) ? replace(member, target, String(name)) : member
    }
  })
}

/**
 * Wraps the store so that every call waits some turns of the event loop before and after. The fixed pattern makes
 * parallel calls overtake each other. Code that relies on an answer in the same tick fails. Every method returns a
 * promise. Methods of nested objects (`state.tokens`) are delayed too.
 */
export function delayed<Store extends object>(store: Store, schedule: readonly number[] = SCHEDULE): Store {
  // Uses one counter for the whole store. If each call started its own, parallel calls would wait equally long and keep
  // their order.
  let step = 0
  const pause = async (): Promise<void> => {
    const turns = schedule[step++ % schedule.length] ?? 0
    for (let turn = 0; turn < turns; turn++) await setImmediate()
  }
  return withMethods(store, (method, target) => async (...args) => {
    await pause()
    try {
      return await Reflect.apply(method, target, args)
    } finally {
      await pause()
    }
  })
}
