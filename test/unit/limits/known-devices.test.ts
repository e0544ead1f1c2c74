import t from 'tap'
import { extendDevice, verifyDevice } from '../../../lib/limits/known-devices.ts'

const KEY = Buffer.alloc(32, 1)
const ID = 'd'.repeat(22)
const OTHER_ID = 'e'.repeat(22)

t.test('RL-24 a token makes one browser known for one account', async (t) => {
  const token = extendDevice(KEY, undefined, 'ann', ID)
  t.equal(verifyDevice(KEY, token, 'ann'), ID)
  t.equal(verifyDevice(KEY, token, 'bob'), null, 'not for another account')
  t.equal(verifyDevice(Buffer.alloc(32, 2), token, 'ann'), null, 'not under another key')
})

t.test('RL-24 nothing made up, cut, moved or mixed counts', async (t) => {
  const token = extendDevice(KEY, undefined, 'ann', ID)
  const [, mac = ''] = token.split('.')
  const cases: Array<string | undefined> = [
    undefined, '', ID, `${ID}.`, `${ID}.${'A'.repeat(22)}`, `${OTHER_ID}.${mac}`, `${ID}.${mac.slice(0, 21)}`, `${token}.`,
    `${token}${`.${mac}`.repeat(4)}`, `${token}\n`, 'x'.repeat(8192)
  ]
  for (const made of cases) t.equal(verifyDevice(KEY, made, 'ann'), null, JSON.stringify(made)?.slice(0, 80) ?? 'none')
})

t.test('a browser is known for its four latest accounts, and keeps its id', async (t) => {
  let token: string | undefined
  for (const account of ['a', 'b', 'c', 'd', 'a', 'e']) token = extendDevice(KEY, token, account, token === undefined ? ID : OTHER_ID)
  const known = ['a', 'b', 'c', 'd', 'e'].map((account) => verifyDevice(KEY, token, account))
  t.same(known, [ID, null, ID, ID, ID], 'b is the one longest unused')
  t.equal(extendDevice(KEY, token, 'e', OTHER_ID), token, 'the same account again changes nothing')
})

t.test('a token that is none of ours is replaced', async (t) => {
  const token = extendDevice(KEY, 'garbage', 'ann', ID)
  t.equal(verifyDevice(KEY, token, 'ann'), ID)
})
