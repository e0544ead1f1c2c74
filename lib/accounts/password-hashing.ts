import { createHash } from 'node:crypto'
import { OAuthError } from '../errors.ts'
import type { Events } from '../events.ts'
import type { Argon2Parameters, ImportedHashVerifier, PasswordHasher } from '../ports/password-hasher.ts'
import { needsRehash, parseStoredHash } from './stored-hash.ts'

export interface PasswordHashingOptions extends Argon2Parameters {
  /** How many hashes run at once. Each holds `memoryCost` KiB. */
  concurrency: number
  /** How many wait beyond those. 0: none. */
  maxQueue: number
  /** The first is used for new hashes, all for verifying. Empty: no pepper. */
  peppers: readonly Uint8Array[]
}

export interface PasswordHashingDeps {
  hasher: PasswordHasher
  imported: ImportedHashVerifier
  events: Pick<Events, 'emit'>
  /** Hears of a stored hash that was not run. `reason` holds nothing of the hash. */
  onUnusable (reason: string): void
}

export interface PasswordHashing {
  /**
   * A new argon2id hash, as a PHC string.
   * @throws OAuthError `temporarily_unavailable` where the queue is full (all three methods that hash do)
   */
  hash (password: string): Promise<string>
  /**
   * Exactly one hash runs, whatever is stored. Without a stored hash (`null`), or with one that may not run, it is a decoy with
   * the current parameters, so that the answer comes as late as any other.
   */
  verify (stored: string | null, password: string): Promise<'match' | 'no_match' | 'unusable'>
  /** Whether a hash that just matched should be replaced by `hash(password)`. */
  needsRehash (stored: string): boolean
  /** Resolves when the decoy exists. Await it before the first request, or the first unknown user costs two hashes. */
  ready (): Promise<void>
}

/**
 * At most `concurrency` works run and at most `maxQueue` wait, first come, first served. A permit comes back when the work has
 * ended, whether or not its client still waits: memory is bounded by what runs, not by who listens.
 */
function createQueue (concurrency: number, maxQueue: number, events: Pick<Events, 'emit'>): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: Array<() => void> = []
  let running = 0
  let full = false

  function release (): void {
    const next = waiting.shift()
    // The permit goes from hand to hand: were it freed first, a newcomer could take it before the one that waits.
    if (next === undefined) running--
    else next()
    // An overload is over when nobody waits; a queue that hovers below its limit is still the same one.
    if (waiting.length === 0) full = false
  }

  return async (work) => {
    if (running < concurrency) {
      running++
    } else if (waiting.length < maxQueue) {
      await new Promise<void>((resolve) => { waiting.push(resolve) })
    } else {
      if (!full) {
        full = true
        events.emit('hash_queue_full', { running, waiting: waiting.length, maxQueue })
      }
      throw new OAuthError('temporarily_unavailable', 'Too many sign-ins at once. Try again shortly.', { headers: { 'retry-after': '1' }, detail: 'password hash queue full' })
    }
    try {
      return await work()
    } finally {
      release()
    }
  }
}

/** Names a pepper inside the hashes it made: 48 bits of its digest, as the `keyid` of a PHC string has them. */
function pepperId (pepper: Uint8Array): string {
  return createHash('sha256').update(pepper).digest('base64').slice(0, 8)
}

/**
 * Hashes and verifies passwords through one bounded queue, argon2 and imported hashes alike.
 *
 * A peppered hash has `keyid` after its parameters. So any pepper of the list, and hashes from before there was one, verify in
 * one run, and a rotation is finished user by user at their next sign-in (`needsRehash`).
 *
 * @see RFC 9106 §3.1 (secret value K)
 */
export function createPasswordHashing (options: PasswordHashingOptions, deps: PasswordHashingDeps): PasswordHashing {
  const { memoryCost, timeCost, parallelism } = options
  const { hasher, imported } = deps
  const parameters: Argon2Parameters = { memoryCost, timeCost, parallelism }
  const enqueue = createQueue(options.concurrency, options.maxQueue, deps.events)
  const peppers = new Map(options.peppers.map((pepper) => [pepperId(pepper), pepper]))
  const current = options.peppers[0]
  const currentId = current === undefined ? undefined : pepperId(current)

  let decoy: Promise<string> | undefined

  function makeDecoy (): Promise<string> {
    decoy ??= hasher.hash('decoy', parameters, current).catch((error: unknown) => {
      decoy = undefined
      throw error
    })
    return decoy
  }

  async function verifyDecoy (password: string): Promise<void> {
    await enqueue(async () => { await hasher.verify(await makeDecoy(), password, current) })
  }

  async function refuse (reason: string, password: string): Promise<'unusable'> {
    await verifyDecoy(password)
    deps.onUnusable(reason)
    return 'unusable'
  }

  return {
    async hash (password) {
      const encoded = await enqueue(() => hasher.hash(password, parameters, current))
      return currentId === undefined ? encoded : encoded.replace(/(,p=\d+)\$/, `$1,keyid=${currentId}$`)
    },

    async verify (stored, password) {
      if (stored === null) {
        await verifyDecoy(password)
        return 'no_match'
      }
      const parsed = parseStoredHash(stored)
      if (parsed.kind === 'unusable') return await refuse(parsed.reason, password)
      if (parsed.kind !== 'argon2') return await enqueue(() => imported.verify(stored, password)) ? 'match' : 'no_match'

      const pepper = parsed.keyId === undefined ? undefined : peppers.get(parsed.keyId)
      if (parsed.keyId !== undefined && pepper === undefined) return await refuse('hash made with an unknown pepper', password)
      return await enqueue(() => hasher.verify(parsed.plain, password, pepper)) ? 'match' : 'no_match'
    },

    needsRehash: (stored) => needsRehash(parseStoredHash(stored), parameters, currentId),

    async ready () {
      await enqueue(makeDecoy)
    }
  }
}
