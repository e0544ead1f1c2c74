import t from '../../support/tap.ts'
import { createPasswordHashing } from '../../../lib/accounts/password-hashing.ts'
import type { PasswordHashingOptions } from '../../../lib/accounts/password-hashing.ts'
import { argon2Hasher } from '../../../lib/adapters/argon2/argon2-hasher.ts'
import { OAuthError } from '../../../lib/errors.ts'
import type { Argon2Parameters, PasswordHasher } from '../../../lib/ports/cryptography.ts'
import { steppedClock } from '../../../lib/testing/doubles.ts'

const cheap = { memoryCost: 64, timeCost: 1, parallelism: 1 }
const STORED = '$argon2id$v=19$m=64,t=1,p=1$AAECAwQFBgcICQoLDA0ODw$RBjCXYboo4yjHH0P1K75vrL4xGciLt6io+o2v0yqSlo'
const DECOY = STORED.replace(/[^$]+\$[^$]+$/, `${'A'.repeat(22)}$${'A'.repeat(43)}`)
const BCRYPT = '$2b$10$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'
/** The code a promise was refused with. */
const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'none',
    (error: unknown) => (error instanceof OAuthError ? error.error : 'another')
  )
const tick = () =>
  new Promise<void>((resolve) => {
    setImmediate(resolve)
  })

interface Call {
  engine: 'hash' | 'verify' | 'imported'
  password: string
  encoded?: string
  secret?: Uint8Array | undefined
  end(error?: Error): void
}

/** Engines that record each call, and end when the test calls `end` or, with `atOnce`, in the next turn. */
function spied(options: Partial<PasswordHashingOptions> = {}, { atOnce = false } = {}) {
  const calls: Call[] = []
  const events: Array<[string, unknown]> = []
  const unusable: string[] = []
  const clock = steppedClock()
  let running = 0
  let peak = 0
  function record<T>(call: Omit<Call, 'end'>, result: T): Promise<T> {
    peak = Math.max(peak, ++running)
    return new Promise<T>((resolve, reject) => {
      const end = (error?: Error) => {
        running--
        if (error === undefined) resolve(result)
        else reject(error)
      }
      calls.push({ ...call, end })
      if (atOnce) setImmediate(end)
    })
  }
  const hasher: PasswordHasher = {
    hash: (password, _parameters, secret) => record({ engine: 'hash', password, secret }, STORED),
    verify: (encoded, password, secret) => record({ engine: 'verify', password, encoded, secret }, password === 'right')
  }
  const hashing = createPasswordHashing(
    { ...cheap, concurrency: 2, maxQueue: 3, peppers: [], firebase: null, ...options },
    {
      hasher,
      imported: {
        verify: (_hash, password) =>
          record({ engine: 'imported', password }, password === 'right' ? ('match' as const) : ('no_match' as const))
      },
      events: {
        emit(name, payload) {
          events.push([name, payload])
        }
      },
      clock,
      onUnusable(reason) {
        unusable.push(reason)
      }
    }
  )
  /** The refusal of a call, after its delay. */
  const refused = async (work: Promise<unknown>): Promise<string> => {
    const code = codeOf(work)
    await tick()
    clock.step(1250)
    return await code
  }
  return { hashing, calls, events, unusable, clock, refused, peak: () => peak }
}

t.test(
  'DOS-argon2-memory runs 5 of 50 parallel calls, 2 at a time, and answers 45 with 503 and one event',
  async (t) => {
    const { hashing, calls, events, clock, peak } = spied()
    const settled = Promise.allSettled(
      Array.from({ length: 50 }, (_, i) =>
        i % 2 === 0 ? hashing.verify(STORED, `p${i}`) : hashing.verify(BCRYPT, `p${i}`)
      )
    )
    await tick()
    clock.step(1250)
    t.equal(calls.length, 2)
    t.same(events, [['hash_queue_full', { running: 2, waiting: 3, maxQueue: 3 }]])
    for (let done = 0; done < 5; done++) {
      calls[done]?.end()
      await tick()
      t.equal(calls.length, Math.min(done + 3, 5))
    }
    t.same(
      calls.map(({ password }) => password),
      ['p0', 'p1', 'p2', 'p3', 'p4'],
      'first come, first served'
    )
    t.same(
      calls.map(({ engine }) => engine),
      ['verify', 'imported', 'verify', 'imported', 'verify'],
      'one queue for both'
    )
    const results = await settled
    t.equal(peak(), 2)
    t.same(
      results.slice(0, 5).map(({ status }) => status),
      Array(5).fill('fulfilled')
    )
    for (const result of results.slice(5)) {
      if (result.status !== 'rejected') throw new Error('a sixth one ran')
      const error: unknown = result.reason
      if (!(error instanceof OAuthError)) throw new Error('another error')
      t.match(
        { error: error.error, statusCode: error.statusCode, headers: error.headers },
        { error: 'temporarily_unavailable', statusCode: 503, headers: { 'retry-after': '1' } }
      )
    }
  }
)

t.test('DOS-argon2-memory emits one event per overload', async (t) => {
  const { hashing, calls, events, refused: outcome } = spied({ concurrency: 1, maxQueue: 1 })
  const start = () => {
    hashing.hash('x').catch(() => {})
  }
  const refused = async () => {
    t.equal(await outcome(hashing.hash('x')), 'temporarily_unavailable')
  }
  start()
  start()
  t.equal(events.length, 0, 'full, but nobody was turned away')
  await refused()
  await refused()
  t.equal(events.length, 1)
  calls[0]?.end()
  await tick()
  calls[1]?.end()
  await tick()
  start()
  start()
  await refused()
  t.equal(events.length, 2)
  for (const call of calls.slice(2)) call.end()
  await tick()
  calls[3]?.end()
})

t.test('DOS-argon2-memory refuses the first call beyond `concurrency` when there is no queue', async (t) => {
  const { hashing, calls, refused } = spied({ concurrency: 1, maxQueue: 0 })
  const first = hashing.verify(STORED, 'right')
  t.equal(await refused(hashing.verify(STORED, 'right')), 'temporarily_unavailable')
  calls[0]?.end()
  t.equal(await first, 'match')
})

t.test('DOS-argon2-memory releases the permit after an engine rejects or throws', async (t) => {
  const { hashing, calls } = spied({ concurrency: 1, maxQueue: 1 })
  for (let round = 0; round < 3; round++) {
    const failing = hashing.verify(STORED, 'right')
    await tick()
    calls.at(-1)?.end(new Error('Memory allocation error'))
    await t.rejects(failing, { message: 'Memory allocation error' })
  }
  const working = hashing.verify(STORED, 'right')
  await tick()
  calls.at(-1)?.end()
  t.equal(await working, 'match')

  const throwing = createPasswordHashing(
    { ...cheap, concurrency: 1, maxQueue: 0, peppers: [], firebase: null },
    {
      hasher: {
        hash() {
          throw new Error('broken')
        },
        verify() {
          throw new Error('broken')
        }
      },
      imported: {
        verify() {
          throw new Error('broken')
        }
      },
      events: { emit() {} },
      clock: steppedClock(),
      onUnusable() {}
    }
  )
  for (let round = 0; round < 2; round++) {
    await t.rejects(throwing.hash('x'), { message: 'broken' })
    await t.rejects(throwing.verify(STORED, 'x'), { message: 'broken' })
    await t.rejects(throwing.verify(BCRYPT, 'x'), { message: 'broken' })
  }
})

t.test(
  'DOS-stored-hash-bomb ENUM-login verifies a decoy instead of a hash that is too costly or malformed',
  async (t) => {
    const { hashing, calls, unusable } = spied({}, { atOnce: true })
    const bombs = [
      STORED.replace('m=64', 'm=4194304'),
      STORED.replace('t=1', 't=4000000'),
      STORED.replace('p=1', 'p=255'),
      BCRYPT.replace('$10$', '$31$'),
      '$scrypt$ln=30,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$RBjCXYboo4yjHH0P1K75vrL4xGciLt6io+o2v0yqSlo',
      '$pbkdf2-sha256$i=4000000000$AAECAwQFBgcICQoLDA0ODw$RBjCXYboo4yjHH0P1K75vrL4xGciLt6io+o2v0yqSlo',
      'plain',
      '',
      STORED.replace('p=1', 'p=1,keyid=AAAAAAAA')
    ]
    for (const bomb of bombs) {
      calls.length = 0
      t.equal(await hashing.verify(bomb, 'right'), 'unusable', bomb)
      t.match(calls, [{ engine: 'verify', encoded: DECOY, password: 'right' }])
      t.equal(calls.length, 1)
    }
    t.equal(unusable.length, bombs.length)
  }
)

// covers ENUM-login
t.test('verifies a decoy hash once for an unknown user, and reports no match', async (t) => {
  const { hashing, calls, unusable } = spied({}, { atOnce: true })
  t.equal(await hashing.verify(null, 'right'), 'no_match')
  t.equal(await hashing.verify(null, 'decoy'), 'no_match')
  t.match(calls, [
    { engine: 'verify', encoded: DECOY },
    { engine: 'verify', encoded: DECOY }
  ])
  t.equal(calls.length, 2)
  t.equal(calls[0]?.encoded, calls[1]?.encoded, 'one decoy')
  t.not(calls[0]?.encoded, STORED)
  t.same(unusable, [])
})

// covers ENUM-login
t.test('verifies a decoy hash with the pepper of new hashes for an unknown user', async (t) => {
  const secret = Buffer.alloc(32, 'new pepper')
  const { hashing, calls } = spied({ peppers: [secret, Buffer.alloc(32, 'old pepper')] }, { atOnce: true })
  await hashing.verify(null, 'right')
  t.match(calls, [{ engine: 'verify', encoded: DECOY, secret }])
})

t.test('DOS-argon2-memory does not let the engine check occupy a hashing slot', async (t) => {
  const { hashing, calls, events } = spied({ concurrency: 1, maxQueue: 0 })
  const checked = hashing.check()
  const signIn = hashing.verify(STORED, 'right')
  t.same(hashing.load(), { running: 1, waiting: 0 })
  t.same(
    calls.map(({ engine }) => engine),
    ['hash', 'verify']
  )
  for (const call of calls) call.end()
  t.equal(await signIn, 'match')
  await checked
  t.same(events, [])
})

// covers ENUM-login
t.test('verifies a decoy with the current parameters, also after the check of the engine has failed', async (t) => {
  const engine = argon2Hasher()
  const verified: string[] = []
  const hashed: Argon2Parameters[] = []
  let failures = 1
  const hashing = createPasswordHashing(
    { memoryCost: 128, timeCost: 3, parallelism: 2, concurrency: 1, maxQueue: 1, peppers: [], firebase: null },
    {
      hasher: {
        async hash(...args) {
          hashed.push(args[1])
          if (failures-- > 0) throw new Error('out of memory')
          return await engine.hash(...args)
        },
        async verify(...args) {
          verified.push(args[0])
          return await engine.verify(...args)
        }
      },
      imported: { verify: async () => 'no_match' },
      events: { emit() {} },
      clock: steppedClock(),
      onUnusable() {}
    }
  )
  await t.rejects(hashing.check(), { message: 'out of memory' })
  t.equal(await hashing.verify(null, 'decoy'), 'no_match')
  t.equal(verified.length, 1)
  t.match(verified[0], /^\$argon2id\$v=19\$m=128,t=3,p=2\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
  await hashing.check()
  const least = { memoryCost: 16, timeCost: 1, parallelism: 2 }
  t.same(hashed, [least, least], 'the least that argon2 allows')
})

// covers POL-argon2id
t.test('names the pepper in the stored string, and rotates peppers with one verification per sign-in', async (t) => {
  const engine = argon2Hasher()
  const seen: string[] = []
  const make = (...peppers: Uint8Array[]) =>
    createPasswordHashing(
      { ...cheap, concurrency: 1, maxQueue: 1, peppers, firebase: null },
      {
        hasher: {
          hash: (...args) => engine.hash(...args),
          verify(...args) {
            seen.push(args[0])
            return engine.verify(...args)
          }
        },
        imported: { verify: async () => 'no_match' },
        events: { emit() {} },
        clock: steppedClock(),
        onUnusable() {}
      }
    )
  const [first, second] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)]
  const none = make()
  const old = make(first)
  const rotated = make(second, first)

  const unpeppered = await none.hash('right')
  const peppered = await old.hash('right')
  const renewed = await rotated.hash('right')
  t.notMatch(unpeppered, 'keyid')
  t.match(peppered, /^\$argon2id\$v=19\$m=64,t=1,p=1,keyid=[A-Za-z0-9+/]{8}\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
  t.not(renewed.split('$')[3], peppered.split('$')[3])

  for (const [what, hashing, stored, outcome, rehash] of [
    ['unpeppered without', none, unpeppered, 'match', false],
    ['unpeppered with', old, unpeppered, 'match', true],
    ['peppered with', old, peppered, 'match', false],
    ['peppered, after the rotation', rotated, peppered, 'match', true],
    ['unpeppered, after the rotation', rotated, unpeppered, 'match', true],
    ['renewed, after the rotation', rotated, renewed, 'match', false],
    ['renewed, before the rotation arrived here', old, renewed, 'unusable', true],
    ['peppered, the pepper lost', none, peppered, 'unusable', true]
  ] as const) {
    seen.length = 0
    t.equal(await hashing.verify(stored, 'right'), outcome, what)
    t.equal(seen.length, 1, `${what}: one run`)
    t.notMatch(seen[0], 'keyid')
    t.equal(hashing.needsRehash(stored), rehash, `${what}: rehash`)
    t.not(await hashing.verify(stored, 'wrong'), 'match', what)
  }
  // A swapped `keyid` gives no match, because the hash needs the pepper with which it was made.
  t.equal(
    await rotated.verify(peppered.replace(/keyid=[^$]+/, /keyid=[^$]+/.exec(renewed)?.[0] ?? ''), 'right'),
    'no_match'
  )
  t.equal(await rotated.verify(peppered.replace(/,keyid=[^$]+/, ''), 'right'), 'no_match')
})

// covers ASVS-11.4.2
t.test('verifies imported hashes by their own engine, and reports that they need a new hash', async (t) => {
  const { hashing, calls } = spied({}, { atOnce: true })
  t.equal(await hashing.verify(BCRYPT, 'right'), 'match')
  t.equal(await hashing.verify(BCRYPT, 'wrong'), 'no_match')
  t.same(
    calls.map(({ engine }) => engine),
    ['imported', 'imported']
  )
  t.equal(hashing.needsRehash(BCRYPT), true)
  t.equal(hashing.needsRehash(STORED), false)
})
