import { deepEqual, equal } from 'node:assert/strict'
import type { TokenStore } from '../../../lib/ports/token-store.ts'
import { caseOf } from '../../../lib/testing/contract.ts'
import type { ContractCase } from '../../../lib/testing/contract.ts'
import { MINUTE, T0, code, family, redemption, named, timeAt } from './token-fixtures.ts'
import type { StateSubject } from './token-fixtures.ts'

const NOW = T0 + 1000

/** How authorization codes end: expired, revoked, with their browser session, swept. Part of `stateContract`. */
export function codeLifetimeCases(make: () => Promise<StateSubject>): ContractCase[] {
  const cases: ContractCase[] = []
  const define = (name: string, check: (tokens: TokenStore, subject: StateSubject) => Promise<void>): void => {
    cases.push(caseOf(make, `codes: ${name}`, (subject) => check(subject.state.tokens, subject)))
  }

  for (const offset of [-1, 0, 1]) {
    define(`${offset < 0 ? 'redeems' : 'does not find'} a code ${timeAt(offset, 'codeExpiresAt')}`, async (tokens) => {
      const now = T0 + MINUTE + offset
      for (const sid of [named('sid-1'), named('sid-2')]) await tokens.createCode(code({ sid }))
      equal((await tokens.redeemCode(redemption({ now }))).outcome, offset < 0 ? 'redeemed' : 'unknown')
      equal(
        (await tokens.redeemCode(redemption({ sid: named('sid-2'), digest: 'another', now }))).outcome,
        offset < 0 ? 'replayed' : 'unknown'
      )
    })
  }

  const revocations: Array<[name: string, revoke: (tokens: TokenStore) => Promise<unknown>, result: unknown]> = [
    ['revokeFamily', (tokens) => tokens.revokeFamily(named('sid-1')), true],
    ['revokeFamily with a user id', (tokens) => tokens.revokeFamily(named('sid-1'), 'user-19367'), true],
    ['revokeFamiliesOfUser', (tokens) => tokens.revokeFamiliesOfUser('user-19367'), [named('sid-1')]],
    [
      'revokeSession',
      (tokens) => tokens.revokeSession('user-19367', 'session-1'),
      { session: null, sids: [named('sid-1')] }
    ],
    ['revokeFamiliesOfClient', (tokens) => tokens.revokeFamiliesOfClient('user-19367', 'client-1'), [named('sid-1')]]
  ]
  for (const [name, revoke, result] of revocations) {
    define(`${name} ends a code and its family`, async (tokens) => {
      for (const isRedeemed of [false, true]) {
        await tokens.createCode(code({ offline: false }))
        if (isRedeemed) await tokens.redeemCode(redemption())
        deepEqual(await revoke(tokens), result)
        deepEqual(await tokens.redeemCode(redemption()), { outcome: 'unknown' })
      }
    })
    define(`leaves nothing of a redemption that races ${name}`, async (tokens) => {
      for (let turn = 0; turn < 10; turn++) {
        await tokens.createCode(code({ offline: false }))
        const calls: Array<() => Promise<unknown>> = [() => tokens.redeemCode(redemption()), () => revoke(tokens)]
        await Promise.all((turn % 2 === 0 ? calls : calls.toReversed()).map(async (call) => await call()))
        equal(await tokens.findFamily(named('sid-1'), NOW), null)
        deepEqual(await tokens.redeemCode(redemption()), { outcome: 'unknown' })
      }
    })
  }

  define(
    'ends the codes and families of an ended session, except offline families of other clients',
    async (tokens) => {
      const clients = { 'client-1': true, 'client-2': false, 'client-3': true }
      for (const user of ['user-19367', 'user-104981']) {
        for (const session of ['session-1', 'session-2']) {
          for (const [clientId, offline] of Object.entries(clients)) {
            const fields = { userId: user, sessionSid: session, clientId, offline }
            await tokens.createFamily(
              family({ ...fields, sid: named(`sid ${user} ${session} ${clientId} family`, user) })
            )
            await tokens.createCode(code({ ...fields, sid: named(`sid ${user} ${session} ${clientId} code`, user) }))
          }
        }
      }
      await tokens.createFamily(family({ sid: named('sid of no session') }))
      const ended = ['client-1 code', 'client-2 code', 'client-2 family', 'client-3 code'].map((name) =>
        named(`sid user-19367 session-1 ${name}`)
      )
      deepEqual((await tokens.revokeSession('user-19367', 'session-1')).sids.toSorted(), ended)
      deepEqual((await tokens.revokeSession('user-19367', 'session-1', 'client-3')).sids, [
        named('sid user-19367 session-1 client-3 family')
      ])
      deepEqual((await tokens.revokeSession('user-19367', 'session-1', 'client-3')).sids, [])
      deepEqual((await tokens.revokeSession('user-646148', 'session-1')).sids, [])
      deepEqual((await tokens.listFamiliesOfUser('user-19367', T0)).map(({ sid }) => sid).toSorted(), [
        named('sid of no session'),
        named('sid user-19367 session-1 client-1 family'),
        ...['client-1', 'client-2', 'client-3'].map((name) => named(`sid user-19367 session-2 ${name} family`))
      ])
      equal((await tokens.revokeFamiliesOfUser('user-104981')).length, 12)
    }
  )

  define('ends all codes and families of one user and client, and no other', async (tokens) => {
    for (const userId of ['user-19367', 'user-104981']) {
      for (const clientId of ['client-1', 'client-2']) {
        await tokens.createFamily(family({ userId, clientId, sid: named(`sid ${userId} ${clientId} family`, userId) }))
        await tokens.createCode(code({ userId, clientId, sid: named(`sid ${userId} ${clientId} code`, userId) }))
      }
    }
    await tokens.createFamily(family({ sid: named('sid of no client'), clientId: null }))
    deepEqual((await tokens.revokeFamiliesOfClient('user-19367', 'client-2')).toSorted(), [
      named('sid user-19367 client-2 code'),
      named('sid user-19367 client-2 family')
    ])
    deepEqual(await tokens.revokeFamiliesOfClient('user-19367', 'client-2'), [])
    equal((await tokens.revokeFamiliesOfUser('user-19367')).length, 3)
    equal((await tokens.revokeFamiliesOfUser('user-104981')).length, 4)
  })

  define('sweeps expired codes, and keeps valid and redeemed ones', async (tokens, { state, expiresByItself }) => {
    for (const sid of [named('sid-1'), named('sid-2')]) await tokens.createCode(code({ sid }))
    await tokens.createCode(code({ sid: named('sid-3'), codeExpiresAt: NOW }))
    await tokens.redeemCode(redemption())
    await state.sweep(NOW)
    equal((await tokens.redeemCode(redemption({ sid: named('sid-2') }))).outcome, 'redeemed')
    await state.sweep(T0 + 10 * MINUTE)
    equal((await tokens.redeemCode(redemption({ now: T0 + 10 * MINUTE }))).outcome, 'replayed')
    if (!expiresByItself)
      equal(
        (await tokens.redeemCode(redemption({ sid: named('sid-3'), now: T0 }))).outcome,
        'unknown',
        'and removes what is expired'
      )
  })

  return cases
}
