import { deepEqual, equal, ok } from 'node:assert/strict'
import type { RotationUndo, TokenStore } from '../../../lib/ports/token-store.ts'
import { caseOf, parallel, tally } from '../../../lib/testing/contract.ts'
import type { ContractCase } from '../../../lib/testing/contract.ts'
import { GRACE, MINUTE, T0, family, next, use, named } from './token-fixtures.ts'
import type { StateSubject } from './token-fixtures.ts'

const NOW = T0 + MINUTE

/** Rotates and hands out what takes it back. */
async function rotated(
  tokens: TokenStore,
  ...[asked, successor]: Parameters<TokenStore['rotateToken']>
): Promise<RotationUndo> {
  const result = await tokens.rotateToken(asked, successor)
  ok(result.outcome === 'rotated')
  return result.undo
}

/** Gets the successor of a token that was replaced, and hands out what gives it back. */
async function repeated(tokens: TokenStore, asked: Parameters<TokenStore['rotateToken']>[0]): Promise<RotationUndo> {
  const result = await tokens.rotateToken(asked, next(9))
  ok(result.outcome === 'repeated')
  return result.undo
}

/** Whose family it must be, and rotations that are taken back. Part of `stateContract`. */
export function rotationUndoCases(make: () => Promise<StateSubject>): ContractCase[] {
  const cases: ContractCase[] = []
  const define = (name: string, check: (tokens: TokenStore) => Promise<void>): void => {
    cases.push(caseOf(make, `tokens: ${name}`, ({ state }) => check(state.tokens)))
  }

  define("another client's family is unknown, whatever the token, and nothing happens to it", async (tokens) => {
    await tokens.createFamily(family())
    await rotated(tokens, use(), next(1))
    for (const clientId of ['client-2', null]) {
      for (const digest of ['digest-1', 'digest-0', 'made-up']) {
        const asked = use({ digest, clientId, now: NOW + GRACE + 1 })
        deepEqual(await tokens.useToken(asked), { outcome: 'unknown' })
        deepEqual(await tokens.rotateToken(asked, next(2)), { outcome: 'unknown' })
      }
    }
    equal((await tokens.findFamily(named('sid-1'), NOW))?.lastUsedAt, NOW)
    equal((await tokens.rotateToken(use({ digest: 'digest-1', clientId: 'client-1' }), next(2))).outcome, 'rotated')
    equal((await tokens.useToken(use({ digest: 'digest-2', clientId: 'client-1' }))).outcome, 'used')
  })

  define('a family of no client is asked for with null', async (tokens) => {
    await tokens.createFamily(family({ clientId: null }))
    deepEqual(await tokens.useToken(use({ clientId: 'client-1' })), { outcome: 'unknown' })
    equal((await tokens.useToken(use({ clientId: null }))).outcome, 'used')
    equal((await tokens.rotateToken(use({ clientId: null }), next(1))).outcome, 'rotated')
  })

  define("a rotation taken back leaves the token as it was, and its successor a stranger's", async (tokens) => {
    await tokens.createFamily(family())
    await tokens.undoRotation(await rotated(tokens, use(), next(1)))
    const again = use({ now: NOW + GRACE + 1 })
    equal((await tokens.useToken(again)).outcome, 'used', 'no grace time runs')
    equal((await tokens.rotateToken(again, next(2))).outcome, 'rotated')
    equal((await tokens.useToken(use({ digest: 'digest-2', now: again.now }))).outcome, 'used')
    equal((await tokens.useToken(use({ digest: 'digest-1', now: again.now }))).outcome, 'replayed')
  })

  define('the token replaced before still counts within its own grace time, and no longer', async (tokens) => {
    await tokens.createFamily(family())
    await rotated(tokens, use(), next(1))
    const undo = await rotated(tokens, use({ digest: 'digest-1', now: NOW + 1000 }), next(2))
    await tokens.undoRotation(undo)
    deepEqual(
      await tokens
        .rotateToken(use({ now: NOW + GRACE }), next(3))
        .then((result) => result.outcome === 'repeated' && result.sealed),
      'sealed-1'
    )
    equal((await tokens.useToken(use({ digest: 'digest-1', now: NOW + GRACE }))).outcome, 'used')
    equal((await tokens.useToken(use({ now: NOW + GRACE + 1 }))).outcome, 'replayed')
  })

  define('a successor stays as long as one of those who got it keeps it', async (tokens) => {
    for (const keeper of [0, 1, 2]) {
      const sid = named(`sid-keeper-${keeper}`)
      await tokens.createFamily(family({ sid }))
      const undos = [
        await rotated(tokens, use({ sid }), next(1)),
        await repeated(tokens, use({ sid })),
        await repeated(tokens, use({ sid }))
      ]
      for (const [index, undo] of undos.entries()) if (index !== keeper) await tokens.undoRotation(undo)
      equal((await tokens.useToken(use({ sid, digest: 'digest-1' }))).outcome, 'used')
    }
  })

  define(
    'when all who got a successor have given it back, in whatever order, the token is as it was',
    async (tokens) => {
      for (const order of [
        [0, 1, 2],
        [2, 1, 0],
        [1, 0, 2]
      ]) {
        const sid = named(`sid-order-${order.join('')}`)
        await tokens.createFamily(family({ sid }))
        const undos = [
          await rotated(tokens, use({ sid }), next(1)),
          await repeated(tokens, use({ sid })),
          await repeated(tokens, use({ sid }))
        ]
        for (const index of order) await tokens.undoRotation(undos[index] as RotationUndo)
        equal((await tokens.rotateToken(use({ sid, now: NOW + GRACE + 1 }), next(3))).outcome, 'rotated')
      }
    }
  )

  define('who comes after one has given back gets the same successor, and keeps it', async (tokens) => {
    await tokens.createFamily(family())
    const [first, second] = [await rotated(tokens, use(), next(1)), await repeated(tokens, use())]
    await tokens.undoRotation(first)
    await repeated(tokens, use())
    await tokens.undoRotation(second)
    equal((await tokens.useToken(use({ digest: 'digest-1' }))).outcome, 'used')
  })

  define('a successor that came after one another call got can be taken back', async (tokens) => {
    await tokens.createFamily(family())
    await rotated(tokens, use(), next(1))
    await repeated(tokens, use())
    await tokens.undoRotation(await rotated(tokens, use({ digest: 'digest-1' }), next(3)))
    equal((await tokens.useToken(use({ digest: 'digest-1', now: NOW + GRACE + 1 }))).outcome, 'used')
  })

  define('an undo changes nothing after the next rotation, twice, or of a family that has ended', async (tokens) => {
    await tokens.createFamily(family())
    const undo = await rotated(tokens, use(), next(1))
    await rotated(tokens, use({ digest: 'digest-1' }), next(2))
    await tokens.undoRotation(undo)
    equal((await tokens.useToken(use({ digest: 'digest-2' }))).outcome, 'used')
    const last = await rotated(tokens, use({ digest: 'digest-2' }), next(3))
    for (let time = 0; time < 2; time++) await tokens.undoRotation(last)
    equal((await tokens.useToken(use({ digest: 'digest-2' }))).outcome, 'used')
    await tokens.revokeFamily(named('sid-1'))
    await tokens.undoRotation(last)
    equal(await tokens.findFamily(named('sid-1'), NOW), null)
  })

  define('a late undo takes no token from whoever holds it', async (tokens) => {
    await tokens.createFamily(family())
    const late = await rotated(tokens, use(), next(1))
    await repeated(tokens, use())
    await tokens.undoRotation(await rotated(tokens, use({ digest: 'digest-1' }), next(2)))
    await tokens.undoRotation(late)
    equal((await tokens.useToken(use({ digest: 'digest-1', now: NOW + GRACE + 1 }))).outcome, 'used')
  })

  define('of 50 parallel rotations that are all given back, nothing is left', async (tokens) => {
    await tokens.createFamily(family())
    const outcomes = await parallel(50, async (index) => {
      const result = await tokens.rotateToken(use(), next(index + 1))
      if ('undo' in result) await tokens.undoRotation(result.undo)
      return result.outcome
    })
    ok(
      outcomes.every((outcome) => outcome === 'rotated' || outcome === 'repeated'),
      JSON.stringify(tally(outcomes))
    )
    equal((await tokens.rotateToken(use({ now: NOW + GRACE + 1 }), next(99))).outcome, 'rotated')
  })

  define('of 50 parallel rotations of which one keeps the successor, that one stays', async (tokens) => {
    await tokens.createFamily(family())
    await rotated(tokens, use(), next(1))
    await parallel(50, async (index) => {
      const undo = await repeated(tokens, use())
      if (index !== 25) await tokens.undoRotation(undo)
    })
    equal((await tokens.useToken(use({ digest: 'digest-1' }))).outcome, 'used')
  })

  return cases
}
