import t from '../../support/tap.ts'
import { type DeviceAccount, extendDevice, verifyDevice } from '../../../lib/limits/known-devices.ts'

const KEY = Buffer.alloc(32, 1)
const ID = 'd'.repeat(22)
const OTHER_ID = 'e'.repeat(22)
const of = (account: string): DeviceAccount => ({ account, password: 'hash-1' })
const ANN = of('ann')
const idOf = (token: string | undefined, account: string, key = KEY): string | null =>
  verifyDevice(key, token, account)?.deviceId ?? null

// covers RL-24
t.test('recognizes a browser only for the account of its token', async (t) => {
  const token = extendDevice(KEY, undefined, ANN, ID)
  t.equal(idOf(token, 'ann'), ID)
  t.equal(idOf(token, 'bob'), null, 'not for another account')
  t.equal(idOf(token, 'ann', Buffer.alloc(32, 2)), null, 'not under another key')
})

// covers RL-24
t.test('rejects a token that is made up, cut, moved or mixed', async (t) => {
  const token = extendDevice(KEY, undefined, ANN, ID)
  const [, mac = ''] = token.split('.')
  const cases: Array<string | undefined> = [
    undefined,
    '',
    ID,
    `${ID}.`,
    `${ID}.${'A'.repeat(22)}`,
    `${OTHER_ID}.${mac}`,
    `${ID}.${mac.slice(0, 21)}`,
    `${token}.`,
    `${token}${`.${mac}`.repeat(12)}`,
    `${token}\n`,
    'x'.repeat(8192)
  ]
  for (const made of cases) t.equal(idOf(made, 'ann'), null, JSON.stringify(made)?.slice(0, 80) ?? 'none')
})

t.test('remembers the twelve latest entries of a browser, and keeps its id', async (t) => {
  let token: string | undefined
  const twelve = Array.from({ length: 12 }, (_, index) => `account ${index}`)
  for (const account of [...twelve, 'account 0', 'another'])
    token = extendDevice(KEY, token, of(account), token === undefined ? ID : OTHER_ID)
  t.same(
    [...twelve, 'another'].filter((account) => idOf(token, account) !== ID),
    ['account 1'],
    'the one longest unused'
  )
  t.equal(extendDevice(KEY, token, of('another'), OTHER_ID), token, 'the same account again changes nothing')
})

t.test('replaces a malformed token', async (t) => {
  const token = extendDevice(KEY, 'garbage', ANN, ID)
  t.equal(idOf(token, 'ann'), ID)
})

// covers A9
t.test('recognizes a device only for the password of its sign-in', async (t) => {
  const token = extendDevice(KEY, undefined, ANN, ID)
  t.equal(verifyDevice(KEY, token, 'ann')?.isCurrent('hash-1'), true)
  t.equal(verifyDevice(KEY, token, 'ann')?.isCurrent('hash-2'), false)
  const [, entry = ''] = token.split('.')
  const [, other = ''] = extendDevice(KEY, undefined, { account: 'ann', password: 'hash-2' }, ID).split('.')
  t.equal(
    verifyDevice(KEY, `${ID}.${entry.slice(0, 11)}${other.slice(11)}`, 'ann')?.isCurrent('hash-1'),
    false,
    "the halves don't mix"
  )
  const next = extendDevice(KEY, token, { account: 'ann', password: 'hash-2' }, OTHER_ID)
  t.equal(next.split('.').length, 2, 'the new one is in the place of the former')
  t.equal(verifyDevice(KEY, next, 'ann')?.isCurrent('hash-2'), true)
})
