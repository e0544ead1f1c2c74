import { deepEqual, equal, ok } from 'node:assert/strict'
import type { Consent, ConsentStore } from '../../../lib/ports/state.ts'
import { HOSTILE_STRINGS, caseOf, parallel } from '../../../lib/testing/contract.ts'
import type { ContractCase } from '../../../lib/testing/contract.ts'
import { MINUTE, T0, timeAt } from './token-fixtures.ts'
import type { StateSubject } from './token-fixtures.ts'

const consent = (fields: Partial<Consent> = {}): Consent => ({
  userId: 'user-19367',
  clientId: 'client-1',
  scopes: ['openid', 'email'],
  grantedAt: T0,
  expiresAt: T0 + MINUTE,
  ...fields
})

/** Consents. Part of `stateContract`. */
export function consentStoreCases(make: () => Promise<StateSubject>): ContractCase[] {
  const cases: ContractCase[] = []
  const define = (name: string, check: (consents: ConsentStore, subject: StateSubject) => Promise<void>): void => {
    cases.push(caseOf(make, `consents: ${name}`, (subject) => check(subject.state.consents, subject)))
  }

  define('finds a consent as granted, for that user and client only', async (consents) => {
    await consents.grantConsent(consent())
    deepEqual(await consents.findConsent('user-19367', 'client-1', T0), consent())
    for (const [userId, clientId] of [
      ['user-19367', 'client-2'],
      ['user-104981', 'client-1'],
      ['client-1', 'user-19367']
    ] as const) {
      equal(await consents.findConsent(userId, clientId, T0), null)
    }
    await consents.grantConsent(consent({ clientId: 'client-2', scopes: [] }))
    deepEqual(await consents.findConsent('user-19367', 'client-2', T0), consent({ clientId: 'client-2', scopes: [] }))
  })

  define('adds the scopes of a later grant, and uses its times', async (consents) => {
    await consents.grantConsent(consent())
    await consents.grantConsent(consent({ scopes: ['email', 'profile'], grantedAt: T0 + 1, expiresAt: T0 + 10 }))
    const found = await consents.findConsent('user-19367', 'client-1', T0 + 1)
    ok(found)
    deepEqual(
      { ...found, scopes: found.scopes.toSorted() },
      consent({ scopes: ['email', 'openid', 'profile'], grantedAt: T0 + 1, expiresAt: T0 + 10 })
    )
    equal((await consents.listConsents('user-19367', T0 + 1)).length, 1)
  })

  define('drops earlier scopes when the client looks different at the next grant', async (consents) => {
    await consents.grantConsent(consent({ client: 'looks-1' }))
    deepEqual(await consents.findConsent('user-19367', 'client-1', T0), consent({ client: 'looks-1' }))
    await consents.grantConsent(consent({ client: 'looks-1', scopes: ['profile'] }))
    equal((await consents.findConsent('user-19367', 'client-1', T0))?.scopes.length, 3)
    await consents.grantConsent(consent({ client: 'looks-2', scopes: ['phone'] }))
    deepEqual((await consents.listConsents('user-19367', T0))[0], consent({ client: 'looks-2', scopes: ['phone'] }))
  })

  define('keeps the scopes of all of 50 parallel grants', async (consents) => {
    const scopes = Array.from({ length: 50 }, (_, index) => `scope-${index}`)
    await parallel(50, (index) => consents.grantConsent(consent({ scopes: [scopes[index] ?? ''] })))
    deepEqual((await consents.findConsent('user-19367', 'client-1', T0))?.scopes.toSorted(), scopes.toSorted())
  })

  for (const offset of [-1, 0, 1]) {
    define(`${offset < 0 ? 'finds' : 'does not find'} a consent ${timeAt(offset, 'expiresAt')}`, async (consents) => {
      const now = T0 + MINUTE + offset
      for (const clientId of ['client-1', 'client-2']) await consents.grantConsent(consent({ clientId }))
      equal((await consents.listConsents('user-19367', now)).length, offset < 0 ? 2 : 0)
      equal((await consents.findConsent('user-19367', 'client-1', now)) !== null, offset < 0)
      await consents.grantConsent(
        consent({ clientId: 'client-2', scopes: ['profile'], grantedAt: now, expiresAt: now + MINUTE })
      )
      const scopes = (await consents.findConsent('user-19367', 'client-2', now))?.scopes.toSorted()
      deepEqual(
        scopes,
        offset < 0 ? ['email', 'openid', 'profile'] : ['profile'],
        'what has expired adds nothing to the next'
      )
    })
  }

  define('revokeConsent returns whether a consent existed, and ends no other', async (consents) => {
    for (const fields of [{}, { clientId: 'client-2' }, { userId: 'user-104981' }])
      await consents.grantConsent(consent(fields))
    equal(await consents.revokeConsent('user-19367', 'client-3'), false)
    equal(await consents.revokeConsent('user-19367', 'client-1'), true)
    equal(await consents.revokeConsent('user-19367', 'client-1'), false)
    equal(await consents.findConsent('user-19367', 'client-1', T0), null)
    ok(await consents.findConsent('user-19367', 'client-2', T0))
    ok(await consents.findConsent('user-104981', 'client-1', T0))
    await consents.grantConsent(consent({ scopes: ['profile'] }))
    deepEqual(
      (await consents.findConsent('user-19367', 'client-1', T0))?.scopes,
      ['profile'],
      'the next begins with nothing'
    )
  })

  define('returns true from one of 50 parallel revocations', async (consents) => {
    await consents.grantConsent(consent())
    equal((await parallel(50, () => consents.revokeConsent('user-19367', 'client-1'))).filter(Boolean).length, 1)
  })

  define('lists the consents of one user, newest first', async (consents) => {
    for (const [clientId, age] of [
      ['client-1', 2],
      ['client-2', 0],
      ['client-3', 3],
      ['client-4', 1]
    ] as const) {
      await consents.grantConsent(consent({ clientId, grantedAt: T0 - age }))
    }
    await consents.grantConsent(consent({ clientId: 'client-3', grantedAt: T0 + 1 }))
    await consents.grantConsent(consent({ userId: 'user-104981' }))
    deepEqual(
      (await consents.listConsents('user-19367', T0)).map(({ clientId }) => clientId),
      ['client-3', 'client-2', 'client-4', 'client-1']
    )
    deepEqual(await consents.listConsents('user-646148', T0), [])
  })

  define('returns copies of consents', async (consents) => {
    const given = consent()
    await consents.grantConsent(given)
    given.scopes.push('changed')
    for (const copy of [
      await consents.findConsent('user-19367', 'client-1', T0),
      ...(await consents.listConsents('user-19367', T0))
    ]) {
      ok(copy)
      copy.scopes.push('changed')
      copy.expiresAt = 0
    }
    deepEqual(await consents.findConsent('user-19367', 'client-1', T0), consent())
  })

  for (const [label, value] of HOSTILE_STRINGS) {
    define(`keeps strings unchanged: ${label}`, async (consents) => {
      equal(await consents.findConsent(value, value, T0), null)
      equal(await consents.revokeConsent(value, value), false)
      const given = consent({ userId: value, clientId: value, scopes: [value] })
      await consents.grantConsent(given)
      await consents.grantConsent(given)
      deepEqual(await consents.listConsents(value, T0), [given])
      equal(await consents.revokeConsent(value, value), true)
    })
  }

  define('distinguishes users and clients with similar ids', async (consents) => {
    const pairs = [
      ['a b', 'c'],
      ['a', 'b c'],
      ['a","b', 'c'],
      ['a', 'b","c']
    ] as const
    for (const [userId, clientId] of pairs)
      await consents.grantConsent(consent({ userId, clientId, scopes: [userId, clientId] }))
    for (const [userId, clientId] of pairs)
      deepEqual((await consents.findConsent(userId, clientId, T0))?.scopes, [userId, clientId])
  })

  define('sweeps expired consents, and keeps valid ones', async (consents, { state, expiresByItself }) => {
    await consents.grantConsent(consent())
    await consents.grantConsent(consent({ userId: 'user-104981', expiresAt: T0 + 1 }))
    await state.sweep(T0 + 1)
    deepEqual(await consents.listConsents('user-19367', T0), [consent()])
    if (!expiresByItself) deepEqual(await consents.listConsents('user-104981', T0), [], 'and removes what is not')
  })

  return cases
}
