import type { StoredKey } from '../../../lib/ports/state.ts'
import { NEVER } from '../../../lib/ports/record-store.ts'
import { DAMAGED } from '../../../lib/records/encoding.ts'
import {
  addKeyIfAbsent,
  claimAssertion,
  claimState,
  keepSeal,
  listKeys,
  removeKey,
  retireKey,
  writeTrial
} from '../../../lib/records/service-rules.ts'
import t from '../../support/tap.ts'
import { type TestView, viewOf } from './support/view.ts'

const key = (fields: Partial<StoredKey> = {}): StoredKey => ({
  kid: 'one',
  alg: 'ES256',
  sequence: 1,
  signsFrom: 0,
  createdAt: 0,
  publicJwk: { kty: 'EC' },
  sealed: 'sealed',
  ...fields
})

function damaged(name: string): TestView {
  const view = viewOf()
  view.put(name, { kind: 'test', userId: null, value: DAMAGED, expiresAt: NEVER })
  return view
}

t.test('adds a key only if its kid and its sequence number are free', async (t) => {
  for (const [fields, isAdded] of [
    [{ kid: 'two', sequence: 2 }, true],
    [{ kid: 'two', alg: 'RS256' }, true],
    [{ kid: 'two' }, false],
    [{ sequence: 2 }, false]
  ] as const) {
    const view = viewOf()
    t.equal(addKeyIfAbsent(view, key()), true)
    t.equal(addKeyIfAbsent(view, key(fields)), isAdded, JSON.stringify(fields))
    t.strictSame(listKeys(view), isAdded ? [key(), key(fields)] : [key()])
  }
})

t.test('keeps the public half of a retired key until the key is removed', async (t) => {
  const view = viewOf()
  const other = key({ kid: 'two', sequence: 2 })
  addKeyIfAbsent(view, key())
  addKeyIfAbsent(view, other)
  for (const [change, kid, left] of [
    [retireKey, 'none', [key(), other]],
    [retireKey, 'one', [key({ sealed: null }), other]],
    [retireKey, 'one', [key({ sealed: null }), other]],
    [removeKey, 'none', [key({ sealed: null }), other]],
    [removeKey, 'one', [other]]
  ] as const) {
    change(view, kid)
    t.strictSame(listKeys(view), left)
  }
  t.match(view.records.get('k'), { kind: 'keys', userId: null, expiresAt: NEVER })
})

t.test('gives the state to the first issuer, and replaces a seal only if the former seal is given', async (t) => {
  const view = viewOf()
  t.equal(claimState(view, 'https://one.example'), 'https://one.example')
  t.equal(claimState(view, 'https://two.example'), 'https://one.example')
  for (const [next, former, kept] of [
    ['a', 'none', 'a'],
    ['a', null, 'a'],
    ['b', null, 'a'],
    ['b', 'a', 'b'],
    ['c', 'a', 'b']
  ] as const)
    t.equal(keepSeal(view, next, former), kept, `${next} for ${former}`)
})

t.test('accepts an assertion once, and changes the trial record on each write', async (t) => {
  const view = viewOf()
  t.equal(claimAssertion(view, 'digest', 100), 'fresh')
  t.equal(claimAssertion(view, 'digest', 200), 'replayed')
  t.equal(claimAssertion(view, 'other', 100), 'fresh')
  t.equal(view.records.get('x:digest')?.expiresAt, 100)
  writeTrial(view)
  const first = view.get('w')
  writeTrial(view)
  t.not(view.get('w'), first)
})

t.test('throws if the signing keys, the owner or the seal of the state are damaged', async (t) => {
  t.throws(() => listKeys(damaged('k')), /signing keys in the state are damaged/)
  t.throws(() => addKeyIfAbsent(damaged('k'), key()), TypeError)
  t.throws(() => claimState(damaged('o'), 'https://one.example'), /owner of the state is damaged/)
  t.throws(() => keepSeal(damaged('e'), 'a', null), /seal of the second factors is damaged/)
})
