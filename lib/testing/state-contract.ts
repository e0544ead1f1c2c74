import { deepEqual, equal, ok } from 'node:assert/strict'
import type { KeyStore, StoredKey } from '../ports/key-store.ts'
import type { OneTimeToken, OneTimeTokenStore } from '../ports/one-time-token-store.ts'
import type { State } from '../ports/state.ts'
import { HOSTILE_STRINGS, caseOf, parallel } from './contract.ts'
import type { ContractCase } from './contract.ts'
import { tokenStoreCases } from './token-store-contract.ts'
import type { StateSubject } from './token-store-contract.ts'

const T0 = Date.UTC(2026, 0, 1)

const token = (fields: Partial<OneTimeToken> = {}): OneTimeToken => ({
  purpose: 'password_reset', digest: 'digest-1', userId: 'user-1', expiresAt: T0 + 1000, ...fields
})

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

function oneTimeTokenCases (make: () => Promise<StateSubject>): ContractCase[] {
  const cases: ContractCase[] = []
  const define = (name: string, check: (tokens: OneTimeTokenStore, state: State) => Promise<void>): void => {
    cases.push(caseOf(make, `oneTimeTokens: ${name}`, ({ state }) => check(state.oneTimeTokens, state)))
  }

  define('a token is found any number of times and consumed once', async (tokens) => {
    await tokens.put(token())
    for (let time = 0; time < 2; time++) deepEqual({ ...await tokens.find('password_reset', 'digest-1', T0) }, token())
    deepEqual({ ...await tokens.consume('password_reset', 'digest-1', T0) }, token())
    equal(await tokens.consume('password_reset', 'digest-1', T0), null)
    equal(await tokens.find('password_reset', 'digest-1', T0), null)
  })

  define('of 50 parallel consumptions one gets it', async (tokens) => {
    await tokens.put(token())
    const results = await parallel(50, () => tokens.consume('password_reset', 'digest-1', T0))
    equal(results.filter((result) => result !== null).length, 1)
  })

  define('a token of one purpose never counts for another', async (tokens) => {
    await tokens.put(token())
    equal(await tokens.find('verify_email', 'digest-1', T0), null)
    equal(await tokens.consume('verify_email', 'digest-1', T0), null)
    await tokens.put(token({ purpose: 'verify_email', digest: 'digest-2' }))
    await tokens.discard('verify_email', 'user-1')
    ok(await tokens.consume('password_reset', 'digest-1', T0), 'and is not replaced or ended by the other')
  })

  define('a put replaces what the user had, and nobody else\'s', async (tokens) => {
    await tokens.put(token({ userId: 'user-2', digest: 'digest-b' }))
    await tokens.put(token())
    await tokens.put(token({ digest: 'digest-2' }))
    equal(await tokens.find('password_reset', 'digest-1', T0), null)
    equal(await tokens.consume('password_reset', 'digest-1', T0), null)
    ok(await tokens.consume('password_reset', 'digest-2', T0))
    ok(await tokens.consume('password_reset', 'digest-b', T0))
  })

  define('after 50 parallel puts one token works', async (tokens) => {
    await parallel(50, (index) => tokens.put(token({ digest: `digest-${index}` })))
    const results = await parallel(50, (index) => tokens.consume('password_reset', `digest-${index}`, T0))
    equal(results.filter((result) => result !== null).length, 1)
  })

  for (const offset of [-1, 0, 1]) {
    define(`${offset} ms from expiresAt a token ${offset < 0 ? 'works' : 'does not work'}`, async (tokens) => {
      await tokens.put(token())
      equal(await tokens.find('password_reset', 'digest-1', T0 + 1000 + offset) !== null, offset < 0)
      equal(await tokens.consume('password_reset', 'digest-1', T0 + 1000 + offset) !== null, offset < 0)
    })
  }

  define('discard ends the user\'s token, is idempotent, and touches no other user', async (tokens) => {
    await tokens.put(token())
    await tokens.put(token({ userId: 'user-2', digest: 'digest-2' }))
    await tokens.discard('password_reset', 'user-1')
    await tokens.discard('password_reset', 'user-1')
    equal(await tokens.consume('password_reset', 'digest-1', T0), null)
    ok(await tokens.consume('password_reset', 'digest-2', T0))
  })

  define('a discard that races a consumption leaves nothing', async (tokens) => {
    await tokens.put(token())
    const results = await Promise.all([
      tokens.consume('password_reset', 'digest-1', T0), tokens.discard('password_reset', 'user-1'), tokens.consume('password_reset', 'digest-1', T0)
    ])
    ok(results.filter(Boolean).length <= 1)
    equal(await tokens.find('password_reset', 'digest-1', T0), null)
  })

  define('tokens handed out are copies', async (tokens) => {
    const given = token()
    await tokens.put(given)
    given.userId = 'user-2'
    const found = await tokens.find('password_reset', 'digest-1', T0)
    ok(found)
    found.expiresAt = T0
    deepEqual({ ...await tokens.consume('password_reset', 'digest-1', T0) }, token())
  })

  for (const [label, value] of HOSTILE_STRINGS) {
    define(`strings are kept as they are: ${label}`, async (tokens) => {
      equal(await tokens.find('password_reset', value, T0), null)
      await tokens.discard('password_reset', value)
      await tokens.put(token({ digest: value, userId: value }))
      equal((await tokens.consume('password_reset', value, T0))?.userId, value)
    })
  }

  define('a sweep leaves what is valid', async (tokens, state) => {
    await tokens.put(token({ userId: 'user-2', digest: 'digest-2', expiresAt: T0 }))
    await tokens.put(token())
    await state.sweep(T0)
    ok(await tokens.consume('password_reset', 'digest-1', T0))
    equal(await tokens.find('password_reset', 'digest-2', T0 - 1), null, 'and removes what is not')
  })

  return cases
}

function keyCases (make: () => Promise<StateSubject>): ContractCase[] {
  const cases: ContractCase[] = []
  const define = (name: string, check: (keys: KeyStore, state: State) => Promise<void>): void => {
    cases.push(caseOf(make, `keys: ${name}`, ({ state }) => check(state.keys, state)))
  }

  define('a key is listed as it was added, and survives sweeps', async (keys, state) => {
    deepEqual(await keys.list(), [])
    equal(await keys.addIfAbsent(key()), true)
    await state.sweep(T0 + 1e12)
    deepEqual((await keys.list()).map((stored) => ({ ...stored })), [key()])
  })

  define('of 50 parallel keys with one sequence one is added', async (keys) => {
    const results = await parallel(50, (index) => keys.addIfAbsent(key({ kid: `kid-${index}` })))
    equal(results.filter(Boolean).length, 1)
    deepEqual((await keys.list()).map(({ kid }) => kid), [`kid-${results.indexOf(true)}`])
  })

  define('another sequence and another algorithm are added', async (keys) => {
    equal(await keys.addIfAbsent(key()), true)
    equal(await keys.addIfAbsent(key({ kid: 'kid-2', sequence: 2 })), true)
    equal(await keys.addIfAbsent(key({ kid: 'kid-3', alg: 'RS256' })), true)
    equal(await keys.addIfAbsent(key({ kid: 'kid-4', sealed: 'another' })), false)
    deepEqual((await keys.list()).map(({ kid }) => kid).toSorted(), ['kid-1', 'kid-2', 'kid-3'])
    equal((await keys.list()).find(({ kid }) => kid === 'kid-1')?.sealed, 'sealed-1')
  })

  define('remove is idempotent, and frees the sequence', async (keys) => {
    await keys.addIfAbsent(key())
    await keys.addIfAbsent(key({ kid: 'kid-2', sequence: 2 }))
    await keys.remove('kid-1')
    await keys.remove('kid-1')
    await keys.remove('__proto__')
    deepEqual((await keys.list()).map(({ kid }) => kid), ['kid-2'])
    equal(await keys.addIfAbsent(key()), true)
  })

  define('keys handed out are copies', async (keys) => {
    const given = key()
    await keys.addIfAbsent(given)
    given.publicJwk.x = 'changed'
    for (const listed of await keys.list()) {
      listed.sealed = 'changed'
      listed.publicJwk.y = 'changed'
    }
    deepEqual((await keys.list()).map((stored) => ({ ...stored })), [key()])
  })

  return cases
}

/** What every `State` must keep: families, one-time tokens, keys. `make` gives each case an empty one. */
export function stateContract (make: () => Promise<StateSubject>): ContractCase[] {
  return [...tokenStoreCases(make), ...oneTimeTokenCases(make), ...keyCases(make)]
}
