import { createHash } from 'node:crypto'
import { type Events, NO_REQUEST } from '../events.ts'
import type { Clock } from '../ports/clock.ts'
import type { Argon2Parameters, HashMatch, ImportedHashVerifier, PasswordHasher } from '../ports/cryptography.ts'
import type { FirebaseParameters } from './imported-hash-formats.ts'
import { needsRehash, parseStoredHash } from './stored-hash.ts'
import { OAuthError } from '../errors.ts'
import { isTraced, traced } from '../ports/tracing.ts'

export interface PasswordHashingOptions extends Argon2Parameters {
  /** Maximum number of hashes that run at once. A hash with the current parameters takes `memoryCost` KiB. */
  concurrency: number
  /** Maximum number of hashes that wait for their turn. 0: none may wait. */
  maxQueue: number
  /** The first is used for new hashes, all for verifying. Empty: no pepper. */
  peppers: readonly Uint8Array[]
  /** The parameters for imported hashes of Firebase that do not contain those of their project. `null`: none. */
  firebase: FirebaseParameters | null
}

interface PasswordHashingDeps {
  hasher: PasswordHasher
  imported: ImportedHashVerifier
  events: Pick<Events, 'emit'>
  clock: Pick<Clock, 'after'>
  /** Called for a stored hash that can't be verified. `reason` contains nothing of the hash. */
  onUnusable(reason: string): void
}

export interface PasswordHashing {
  /**
   * Makes a new argon2id hash, as a PHC string.
   * @throws OAuthError `temporarily_unavailable` if the queue is full, as does `verify`. `HashingQueue.run` describes
   * when the error comes
   */
  hash(password: string): Promise<string>
  /**
   * Runs exactly one hash. If there is no stored hash (`null`) or the stored hash is unusable, runs a decoy with the
   * current parameters, so that the time does not reveal the missing hash.
   */
  verify(stored: string | null, password: string): Promise<HashMatch | 'unusable'>
  /** True if a hash that just matched should be replaced by `hash(password)`. */
  needsRehash(stored: string): boolean
  /** Runs argon2 once, with the least memory that it accepts. Rejects if argon2 does not work. */
  check(): Promise<void>
  /** How many hashes run and wait now. */
  load(): { running: number; waiting: number }
  /** Stops delaying refusals. Those that are held back are answered at once, and so are later ones. */
  close(): void
}

/** The name of a pepper in its hashes: 48 bits of its digest, as the `keyid` of a PHC string. */
function pepperId(pepper: Uint8Array): string {
  return createHash('sha256').update(pepper).digest('base64').slice(0, 8)
}

/**
 * Hashes and verifies passwords through one bounded queue, argon2 and imported hashes alike.
 *
 * A peppered hash names its pepper (`keyid`, after the parameters). So a hash with any pepper of the list, or with
 * none, verifies in one run. After a rotation of the peppers, `needsRehash` is true for the older hashes.
 *
 * @see RFC 9106 §3.1 (secret value K)
 */
export function createPasswordHashing(options: PasswordHashingOptions, deps: PasswordHashingDeps): PasswordHashing {
  const { memoryCost, timeCost, parallelism } = options
  const { hasher, imported } = deps
  const parameters: Argon2Parameters = { memoryCost, timeCost, parallelism }
  const queue = hashingQueue(options, deps)
  const peppers = new Map(options.peppers.map((pepper) => [pepperId(pepper), pepper]))
  const current = options.peppers[0]
  const currentId = current === undefined ? undefined : pepperId(current)

  // Salt and tag have a fixed text, because the time to verify a hash depends only on the parameters.
  const decoy = `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}$${'A'.repeat(22)}$${'A'.repeat(43)}`

  async function verifyDecoy(password: string): Promise<void> {
    await queue.run(() => hasher.verify(decoy, password, current))
  }

  async function refuse(reason: string, password: string): Promise<'unusable'> {
    await verifyDecoy(password)
    deps.onUnusable(reason)
    return 'unusable'
  }

  return {
    async hash(password) {
      const encoded = await queue.run(() => hasher.hash(password, parameters, current))
      return currentId === undefined ? encoded : encoded.replace(/(,p=\d+)\$/, `$1,keyid=${currentId}$`)
    },

    async verify(stored, password) {
      if (stored === null) {
        await verifyDecoy(password)
        return 'no_match'
      }
      const parsed = parseStoredHash(stored, options.firebase)
      if (parsed.kind === 'unusable') return await refuse(parsed.reason, password)
      if (parsed.kind !== 'argon2') return await queue.run(() => imported.verify(parsed, password))

      const pepper = parsed.keyId === undefined ? undefined : peppers.get(parsed.keyId)
      if (parsed.keyId !== undefined && pepper === undefined)
        return await refuse('hash made with an unknown pepper', password)
      return (await queue.run(() => hasher.verify(parsed.plain, password, pepper))) ? 'match' : 'no_match'
    },

    needsRehash: (stored) => needsRehash(parseStoredHash(stored, options.firebase), parameters, currentId),

    async check() {
      // Runs outside the queue, because in the queue it would take the place of the first sign-in.
      await hasher.hash('any', { memoryCost: 8 * parallelism, timeCost: 1, parallelism }, current)
    },

    load: () => queue.load(),

    close: () => {
      queue.close()
    }
  }
}

/** Minimum delay of a refusal, so that clients that retry at once don't flood the server with requests. */
const HOLD_MS = 750
/**
 * Clients that are refused together would come back together. So each refusal is held back for `HOLD_MS` and an extra
 * time, which is `APART_MS` longer than that of the refusal before. At `SPREAD_MS` the extra time starts again at 0.
 */
const APART_MS = 2
const SPREAD_MS = 500
/** Maximum number of refusals that are held back at once. Each takes some kilobytes. */
const MAX_HELD = 1000

export interface HashingQueue {
  /**
   * Runs `work` when its turn comes, and resolves to its result.
   *
   * @throws OAuthError `temporarily_unavailable` if `maxQueue` calls wait already. The error comes after about a
   * second, or at once after `close` and while a thousand refusals are held back
   */
  run<T>(work: () => Promise<T>): Promise<T>
  /** The number of calls of `run` whose work runs or waits now. */
  load(): { running: number; waiting: number }
  /** Answers all refusals that are held back, and delays no later ones. Running and waiting work goes on. */
  close(): void
}

/**
 * Runs at most `concurrency` pieces of work at once, and lets at most `maxQueue` wait, first come, first served. Work
 * keeps its place until it ends, even if its client has gone, so that the memory stays bounded.
 */
export function hashingQueue(
  { concurrency, maxQueue }: { concurrency: number; maxQueue: number },
  { events, clock }: { events: Pick<Events, 'emit'>; clock: Pick<Clock, 'after'> }
): HashingQueue {
  const waiting: Array<() => void> = []
  /** For each refusal that is held back: a function that ends the delay. */
  const held = new Set<() => void>()
  let running = 0
  let full = false
  let apart = 0
  let closed = false

  function release(): void {
    const next = waiting.shift()
    // Passes the place on directly. If it were freed first, a new call could take it before the one that waits.
    if (next === undefined) running--
    else next()
    // The event is sent once for each overload. An overload ends only when no call waits. Otherwise a queue that stays
    // near its limit would send the event again and again.
    if (waiting.length === 0) full = false
  }

  async function holdBack(): Promise<void> {
    if (closed || held.size >= MAX_HELD) return
    apart = (apart + APART_MS) % SPREAD_MS
    await new Promise<void>((resolve) => {
      const letGo = (): void => {
        held.delete(letGo)
        undo()
        resolve()
      }
      const undo = clock.after(HOLD_MS + apart, letGo)
      held.add(letGo)
    })
  }

  return {
    async run(work) {
      if (running < concurrency) {
        running++
        if (isTraced('hash_wait')) await traced('hash_wait', {}, () => {})
      } else if (waiting.length < maxQueue) {
        await traced('hash_wait', {}, async () => {
          await new Promise<void>((resolve) => {
            waiting.push(resolve)
          })
        })
      } else {
        if (!full) {
          full = true
          // With `maxQueue: 0` no call waits. The overload then goes on while refusals are held back.
          if (held.size === 0)
            events.emit('hash_queue_full', { running, waiting: waiting.length, maxQueue }, NO_REQUEST)
        }
        await holdBack()
        throw new OAuthError('temporarily_unavailable', 'Too many sign-ins at once. Try again shortly.', {
          headers: { 'retry-after': '1' },
          detail: 'password hash queue full',
          withoutStack: true
        })
      }
      try {
        return await traced('hash', {}, work)
      } finally {
        release()
      }
    },
    load: () => ({ running, waiting: waiting.length }),
    close() {
      closed = true
      for (const letGo of held) letGo()
    }
  }
}
