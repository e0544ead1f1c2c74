import { deepEqual, equal } from 'node:assert/strict'
import type { KeyStore, State, StoredKey } from '../../../lib/ports/state.ts'
import { caseOf, parallel } from '../../../lib/testing/contract.ts'
import type { ContractCase } from '../../../lib/testing/contract.ts'
import { T0 } from './token-fixtures.ts'
import type { StateSubject } from './token-fixtures.ts'

const key = (fields: Partial<StoredKey> = {}): StoredKey => ({
  kid: 'kid-1',
  alg: 'ES256',
  sequence: 1,
  signsFrom: T0 + 5,
  createdAt: T0,
  publicJwk: { kty: 'EC', crv: 'P-256', x: 'x', y: 'y', key_ops: ['verify'] },
  sealed: 'sealed-1',
  ...fields
})

/** Signing keys. Part of `stateContract`. */
export function keyCases(make: () => Promise<StateSubject>): ContractCase[] {
  const cases: ContractCase[] = []
  const define = (name: string, check: (keys: KeyStore, state: State) => Promise<void>): void => {
    cases.push(caseOf(make, `keys: ${name}`, ({ state }) => check(state.keys, state)))
  }

  define('lists a key as added, and keeps it in sweeps', async (keys, state) => {
    deepEqual(await keys.list(), [])
    equal(await keys.addIfAbsent(key()), true)
    await state.sweep(T0 + 1e12)
    deepEqual(
      (await keys.list()).map((stored) => ({ ...stored })),
      [key()]
    )
  })

  define('adds one of 50 parallel keys with the same sequence', async (keys) => {
    const results = await parallel(50, (index) => keys.addIfAbsent(key({ kid: `kid-${index}` })))
    equal(results.filter(Boolean).length, 1)
    deepEqual(
      (await keys.list()).map(({ kid }) => kid),
      [`kid-${results.indexOf(true)}`]
    )
  })

  define('adds keys with another sequence or algorithm', async (keys) => {
    equal(await keys.addIfAbsent(key()), true)
    equal(await keys.addIfAbsent(key({ kid: 'kid-2', sequence: 2 })), true)
    equal(await keys.addIfAbsent(key({ kid: 'kid-3', alg: 'RS256' })), true)
    equal(await keys.addIfAbsent(key({ kid: 'kid-4', sealed: 'another' })), false)
    deepEqual((await keys.list()).map(({ kid }) => kid).toSorted(), ['kid-1', 'kid-2', 'kid-3'])
    equal((await keys.list()).find(({ kid }) => kid === 'kid-1')?.sealed, 'sealed-1')
  })

  define('removes a key idempotently, and frees its sequence', async (keys) => {
    await keys.addIfAbsent(key())
    await keys.addIfAbsent(key({ kid: 'kid-2', sequence: 2 }))
    await keys.remove('kid-1')
    await keys.remove('kid-1')
    await keys.remove('__proto__')
    deepEqual(
      (await keys.list()).map(({ kid }) => kid),
      ['kid-2']
    )
    equal(await keys.addIfAbsent(key()), true)
  })

  define('keeps only the public half and the sequence of a retired key', async (keys) => {
    await keys.addIfAbsent(key())
    await keys.retire('kid-1')
    await keys.retire('kid-1')
    await keys.retire('unknown')
    deepEqual(
      (await keys.list()).map((stored) => ({ ...stored })),
      [key({ sealed: null })]
    )
    equal(await keys.addIfAbsent(key({ kid: 'kid-2' })), false)
  })

  define('returns copies of keys', async (keys) => {
    const given = key()
    await keys.addIfAbsent(given)
    given.publicJwk.x = 'changed'
    for (const listed of await keys.list()) {
      listed.sealed = 'changed'
      listed.publicJwk.y = 'changed'
    }
    deepEqual(
      (await keys.list()).map((stored) => ({ ...stored })),
      [key()]
    )
  })

  return cases
}
