import { deepEqual, equal, ok } from 'node:assert/strict'
import type { RotationUndo, TokenStore } from '../../../lib/ports/token-store.ts'
import { caseOf, parallel, tally } from '../../../lib/testing/contract.ts'
import type { ContractCase } from '../../../lib/testing/contract.ts'
import { GRACE, MINUTE, T0, family, next, use, named } from './token-fixtures.ts'
import type { StateSubject } from './token-fixtures.ts'

const NOW = T0 + MINUTE

/** Rotates, and returns the arguments that undo the rotation. */
async function rotated(
  tokens: TokenStore,
  ...[asked, successor]: Parameters<TokenStore['rotateToken']>
): Promise<RotationUndo> {
  const result = await tokens.rotateToken(asked, successor)
  ok(result.outcome === 'rotated')
  return result.undo
}

/** Gets the successor of a replaced token, and returns the arguments that give it back. */
async function repeated(tokens: TokenStore, asked: Parameters<TokenStore['rotateToken']>[0]): Promise<RotationUndo> {
  const result = await tokens.rotateToken(asked, next(9))
  ok(result.outcome === 'repeated')
  return result.undo
}

/** The owner check of a family, and undone rotations. Part of `stateContract`. */
export function rotationUndoCases(make: () => Promise<StateSubject>): ContractCase[] {
  const cases: ContractCase[] = []
  const define = (name: string, check: (tokens: TokenStore) => Promise<void>): void => {
    cases.push(caseOf(make, `tokens: ${name}`, ({ state }) => check(state.tokens)))
  }

  define('answers unknown to another client, and leaves the family unchanged', async (tokens) => {
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

  define('finds a family without a client by the client id null', async (tokens) => {
    await tokens.createFamily(family({ clientId: null }))
    deepEqual(await tokens.useToken(use({ clientId: 'client-1' })), { outcome: 'unknown' })
    equal((await tokens.useToken(use({ clientId: null }))).outcome, 'used')
    equal((await tokens.rotateToken(use({ clientId: null }), next(1))).outcome, 'rotated')
  })

  define('restores the token, and rejects its successor, after an undo', async (tokens) => {
    await tokens.createFamily(family())
    await tokens.undoRotation(await rotated(tokens, use(), next(1)))
    const again = use({ now: NOW + GRACE + 1 })
    equal((await tokens.useToken(again)).outcome, 'used', 'no grace time runs')
    equal((await tokens.rotateToken(again, next(2))).outcome, 'rotated')
    equal((await tokens.useToken(use({ digest: 'digest-2', now: again.now }))).outcome, 'used')
    equal((await tokens.useToken(use({ digest: 'digest-1', now: again.now }))).outcome, 'replayed')
  })

  define('keeps the grace time of the earlier token when a rotation is undone', async (tokens) => {
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

  define('keeps a successor when all but one of its receivers undo the rotation', async (tokens) => {
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

  define('restores the token once all receivers undo its rotation, in any order', async (tokens) => {
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
  })

  define('returns the same successor after one receiver has undone the rotation', async (tokens) => {
    await tokens.createFamily(family())
    const [first, second] = [await rotated(tokens, use(), next(1)), await repeated(tokens, use())]
    await tokens.undoRotation(first)
    await repeated(tokens, use())
    await tokens.undoRotation(second)
    equal((await tokens.useToken(use({ digest: 'digest-1' }))).outcome, 'used')
  })

  define('undoes a second rotation after the first was repeated', async (tokens) => {
    await tokens.createFamily(family())
    await rotated(tokens, use(), next(1))
    await repeated(tokens, use())
    await tokens.undoRotation(await rotated(tokens, use({ digest: 'digest-1' }), next(3)))
    equal((await tokens.useToken(use({ digest: 'digest-1', now: NOW + GRACE + 1 }))).outcome, 'used')
  })

  define('ignores an undo after the next rotation, a repeated undo, and an undo of an ended family', async (tokens) => {
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

  define('keeps a token that a client holds when an undo comes late', async (tokens) => {
    await tokens.createFamily(family())
    const late = await rotated(tokens, use(), next(1))
    await repeated(tokens, use())
    await tokens.undoRotation(await rotated(tokens, use({ digest: 'digest-1' }), next(2)))
    await tokens.undoRotation(late)
    equal((await tokens.useToken(use({ digest: 'digest-1', now: NOW + GRACE + 1 }))).outcome, 'used')
  })

  define('restores the token after 50 parallel rotations are all undone', async (tokens) => {
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

  define('keeps the successor when one of 50 parallel rotations is not undone', async (tokens) => {
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
