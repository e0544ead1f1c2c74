import t from '../../support/tap.ts'
import { steppedClock } from '../../../lib/testing/index.ts'
import { revocations } from '../../../lib/sessions/sessions.ts'

const LIFETIME = 900_000

t.test('remembers a revoked family for the lifetime of an access token', async (t) => {
  const clock = steppedClock()
  const ended = revocations(LIFETIME, clock)
  t.notOk(ended.has('a'))
  t.notOk(ended.has(undefined))
  ended.add('a')
  t.ok(ended.has('a'))
  t.notOk(ended.has('b'))
  t.notOk(ended.has(undefined), 'a token without a family is none of them')
  clock.step(LIFETIME - 1)
  ended.add('other')
  t.ok(ended.has('a'), 'one millisecond before')
  clock.step(1)
  ended.add('another')
  t.notOk(ended.has('a'), 'gone with the last token')
  t.ok(ended.has('other'))
})

t.test('restarts the time when a family is revoked a second time', async (t) => {
  const clock = steppedClock()
  const ended = revocations(LIFETIME, clock)
  ended.add('a')
  ended.add('b')
  clock.step(LIFETIME - 1)
  ended.add('a')
  clock.step(1)
  ended.add('c')
  t.ok(ended.has('a'), 'the first end of a is not the one that counts')
  t.notOk(ended.has('b'))
})

t.test('removes expired entries in the order in which they were added', async (t) => {
  const clock = steppedClock()
  const ended = revocations(1000, clock)
  for (let n = 0; n < 100; n++) {
    ended.add(`s${n}`)
    clock.step(100)
  }
  ended.add('last')
  const alive = Array.from({ length: 100 }, (_, n) => n).filter((n) => ended.has(`s${n}`))
  t.same(alive, [91, 92, 93, 94, 95, 96, 97, 98, 99])
})
