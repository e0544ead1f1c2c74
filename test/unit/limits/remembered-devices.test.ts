import t from '../../support/tap.ts'
import { isRemembered, rememberAccount } from '../../../lib/limits/known-devices.ts'

const KEY = Buffer.alloc(32, 1)
const FORMER = Buffer.alloc(32, 2)
const DEVICE = 'd'.repeat(22)
const DAY_MS = 86_400_000
const of = (userId: string) => ({ userId, epoch: 1, passwordHash: 'hash' })
const ANN = of('ann')

// covers TD-04
t.test('recognizes a browser for its unchanged account within the lifetime, under any of the keys', async (t) => {
  const token = rememberAccount([KEY], undefined, ANN, 1000, DEVICE)
  const counts = (keys: Buffer[], account = ANN, given: string | undefined = token, now = 1000): boolean =>
    isRemembered(keys, given, account, { now, lifetimeMs: DAY_MS })
  t.ok(counts([KEY]))
  t.ok(counts([FORMER, KEY]), 'a key that was replaced opens what it made')
  t.ok(counts([KEY, FORMER]))
  t.notOk(counts([FORMER]))
  for (const other of [
    of('bob'),
    { ...ANN, epoch: 2 },
    { ...ANN, passwordHash: 'other' },
    { ...ANN, passwordHash: null }
  ])
    t.notOk(counts([KEY], other as typeof ANN), JSON.stringify(other))
  t.ok(counts([KEY], ANN, token, 1000 + DAY_MS - 1))
  t.notOk(counts([KEY], ANN, token, 1000 + DAY_MS))
  for (const given of [
    '',
    DEVICE,
    `${token}.`,
    token.slice(0, -1),
    `${'e'.repeat(22)}${token.slice(22)}`,
    'undefined',
    'x'.repeat(8192)
  ])
    t.notOk(counts([KEY], ANN, given), given.slice(0, 40))
  t.notOk(isRemembered([KEY], undefined, ANN, { now: 1000, lifetimeMs: DAY_MS }))
  t.notOk(isRemembered([], token, ANN, { now: 1000, lifetimeMs: DAY_MS }))
})

// covers TD-03
t.test('replaces the entry of an account, and keeps the entries of other accounts', async (t) => {
  let token = rememberAccount([KEY], undefined, of('bob'), 0, DEVICE)
  for (const now of [1000, 2000, 3000, 4000, 5000]) token = rememberAccount([KEY], token, ANN, now, 'another')
  t.equal(token.split('.').length, 3)
  t.ok(token.startsWith(`${DEVICE}.`), 'the browser keeps its id')
  t.ok(isRemembered([KEY], token, of('bob'), { now: 5000, lifetimeMs: DAY_MS }))
  t.notOk(isRemembered([KEY], token, of('bob'), { now: DAY_MS, lifetimeMs: DAY_MS }), 'which lasts no longer by that')
  t.ok(isRemembered([KEY], token, ANN, { now: DAY_MS, lifetimeMs: DAY_MS }))
})

t.test('makes a new token if the given one is malformed', async (t) => {
  for (const given of ['', 'garbage', `${DEVICE}.short`, 'x'.repeat(8192)]) {
    const token = rememberAccount([KEY], given, ANN, 0, DEVICE)
    t.equal(token.length, 22 + 1 + 38, given.slice(0, 20))
    t.ok(isRemembered([KEY], token, ANN, { now: 0, lifetimeMs: DAY_MS }))
  }
})
