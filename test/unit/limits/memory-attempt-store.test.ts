import t from '../../support/tap.ts'
import { memoryAttemptStore } from '../../../lib/adapters/memory/attempt-store.ts'
import type { AttemptLimit } from '../../../lib/ports/attempt-store.ts'
import { steppedClock } from '../../../lib/testing/doubles.ts'

const WINDOW = 1000
const limit = (key: string, fields: Partial<AttemptLimit> = {}): AttemptLimit => ({
  rule: 'login',
  key,
  windowMs: WINDOW,
  max: 3,
  ...fields
})

function stage(maxKeysPerRule: number) {
  const clock = steppedClock()
  const store = memoryAttemptStore({ clock, maxKeysPerRule })
  let id = 0
  const attempt = (key: string, fields?: Partial<AttemptLimit>): boolean =>
    store.reserve(String(++id), [limit(key, fields)]).allowed
  const block = (key: string, fields?: Partial<AttemptLimit>): void => {
    while (attempt(key, fields));
  }
  return { clock, store, attempt, block }
}

// covers RL-20
t.test('keeps a blocked key during a flood of other keys', async (t) => {
  const { attempt, block } = stage(100)
  block('victim')
  for (let i = 0; i < 10_000; i++) attempt(`flood-${i}`)
  t.equal(attempt('victim'), false)
})

// covers RL-20
t.test('keeps blocked keys during a flood of blocked keys, and limits further keys together', async (t) => {
  const { clock, attempt, block } = stage(100)
  block('victim')
  for (let i = 0; i < 500; i++) block(`flood-${i}`)
  t.equal(attempt('victim'), false)
  t.equal(attempt('flood-0'), false)
  let passed = 0
  for (let i = 0; i < 100_000; i++) if (attempt(`more-${i}`)) passed++
  t.ok(passed <= 1024 * 3, `further keys share coarse buckets: ${passed} of 100000 passed`)
  clock.step(WINDOW)
  t.equal(attempt('victim'), true, 'and all is over with the window')
  t.equal(attempt('new'), true)
})

// covers RL-20
t.test('evicts the key with the oldest last attempt when a rule is full', async (t) => {
  const { clock, attempt } = stage(3)
  for (const key of ['a', 'b', 'c', 'a', 'a']) {
    attempt(key)
    clock.step(1)
  }
  // a: 3 and blocked; b is the oldest that is not.
  attempt('d')
  t.equal(attempt('a'), false, 'blocked, and kept')
  attempt('c')
  t.same([attempt('c'), attempt('c')], [true, false], 'c was kept: this is its third')
})

// covers RL-20
t.test('evicts expired keys before living ones', async (t) => {
  const { clock, attempt, block } = stage(2)
  block('blocked')
  clock.step(WINDOW - 1)
  attempt('living')
  clock.step(1)
  attempt('new')
  t.same(
    [attempt('living'), attempt('living'), attempt('living')],
    [true, true, false],
    'its first attempt was not forgotten'
  )
})

// covers RL-20
t.test('limits the number of keys of each rule separately', async (t) => {
  const { attempt, block } = stage(2)
  attempt('a', { rule: 'account' })
  attempt('a', { rule: 'account' })
  for (let i = 0; i < 50; i++) block(`flood-${i}`)
  t.same([attempt('a', { rule: 'account' }), attempt('a', { rule: 'account' })], [true, false])
})

// covers RL-20
t.test('checks eight blocked keys per attempt for one that has expired', async (t) => {
  const { clock, attempt } = stage(10)
  const long = { max: 1, windowMs: 9 * WINDOW }
  for (let key = 1; key <= 10; key++) attempt(`key-${key}`, key === 7 ? { max: 1 } : long)
  // The attempt checks the first eight keys and moves them to the end. The seventh is then the ninth.
  t.equal(attempt('new', long), true, 'in a coarse bucket')
  clock.step(WINDOW)
  t.equal(attempt('new', long), false)
  t.equal(attempt('new', long), true, 'in the place of the one that has become free')
})

t.test('refunds an attempt of a key that shares a counter with other keys', async (t) => {
  const { store, attempt, block } = stage(1)
  block('only')
  for (let i = 0; i < 20; i++) {
    t.equal(store.reserve('refunded', [limit('coarse')]).allowed, true)
    store.refund('refunded', [limit('coarse')])
  }
  t.same([attempt('coarse'), attempt('coarse'), attempt('coarse'), attempt('coarse')], [true, true, true, false])
})

// covers RL-17
t.test('allows the next attempt exactly at the end of the sliding window', async (t) => {
  for (const [later, passes] of [
    [WINDOW - 1, false],
    [WINDOW, true],
    [WINDOW + 1, true]
  ] as const) {
    const { clock, attempt, block } = stage(10)
    block('a')
    clock.step(later)
    t.equal(attempt('a'), passes, `${later} ms later`)
  }
})

// covers RL-28
t.test('keeps the limit when the wall clock jumps either way', async (t) => {
  for (const jump of [-86_400_000, 86_400_000]) {
    const { clock, attempt, block } = stage(10)
    block('a')
    clock.setWall(clock.now() + jump)
    t.equal(attempt('a'), false)
    clock.step(WINDOW)
    t.equal(attempt('a'), true)
  }
})

t.test('applies a lowered max to earlier attempts, and reports the correct reset time', async (t) => {
  const { clock, store, attempt } = stage(10)
  for (let i = 0; i < 3; i++) {
    attempt('a')
    clock.step(100)
  }
  const outcome = store.reserve('x', [limit('a', { max: 1 })])
  t.equal(outcome.allowed, false)
  t.equal(outcome.standings[0]?.resetMs, WINDOW - 100, 'all three have to expire')
  t.equal(outcome.standings[0]?.remaining, 0)
})

// covers RL-13
t.test('counts attempts of keys such as __proto__ or of 8 KiB like those of other keys', async (t) => {
  const { attempt } = stage(10)
  for (const key of ['__proto__', 'constructor', 'x'.repeat(8192)]) {
    t.same([attempt(key), attempt(key), attempt(key), attempt(key)], [true, true, true, false])
  }
})

t.test('sweeps only expired keys', async (t) => {
  const { clock, store, attempt, block } = stage(10)
  block('old')
  clock.step(WINDOW / 2)
  block('young')
  clock.step(WINDOW / 2)
  store.sweep()
  t.equal(attempt('old'), true)
  t.equal(attempt('young'), false)
})
