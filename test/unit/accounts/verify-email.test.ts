import t from '../../support/tap.ts'
import { requestPasswordReset } from '../../../lib/accounts/reset-password.ts'
import { requestEmailVerification, verifyEmail } from '../../../lib/accounts/verify-email.ts'
import { digestOfOneTimeToken } from '../../../lib/protocol/credential.ts'
import { INVALID_LINK, origin, outcomeOf, turns, world } from './world.ts'
import type { World } from './world.ts'

/** The stored digest. */
const kept = (token: string): string => digestOfOneTimeToken(token) ?? ''

async function requested(w: World, fields: Parameters<World['addUser']>[0] = {}) {
  const user = await w.addUser({ emailVerified: false, ...fields })
  await requestEmailVerification(user, { locale: undefined, origin }, w.deps)
  await turns()
  return { user, token: w.messages.at(-1)?.token ?? '' }
}

// covers ASVS-6.5.1
t.test('verifies the address once when one link is used 50 times in parallel', async (t) => {
  const w = await world()
  const { user, token } = await requested(w)
  t.match(w.messages, [
    {
      kind: 'verify_email',
      user: { email: 'ada@example.com' },
      url: `https://auth.example.com/verify_email#token=${token}`,
      expiresAt: new Date(w.clock.now() + 86_400_000)
    }
  ])
  const outcomes = await Promise.all(
    Array.from({ length: 50 }, () => outcomeOf(verifyEmail({ token, origin }, w.deps)))
  )
  t.equal(outcomes.filter((outcome) => outcome === 'done').length, 1)
  t.strictSame(
    outcomes.filter((outcome) => outcome !== 'done'),
    Array.from({ length: 49 }, () => INVALID_LINK)
  )
  t.equal((await w.store.findById(user.id))?.emailVerified, true)
  t.strictSame(w.told, [
    { name: 'message_sent', payload: { time: w.now(), ...origin, kind: 'verify_email', userId: user.id, attempts: 1 } },
    { name: 'email_verified', payload: { time: w.now(), ...origin, userId: user.id } }
  ])
})

// covers ASVS-6.5.2
t.test('stores only the digest of a token', async (t) => {
  const w = await world()
  const { token } = await requested(w)
  t.ok(await w.state.oneTimeTokens.find('verify_email', kept(token), w.clock.now()))
  t.equal(await w.state.oneTimeTokens.find('verify_email', token, w.clock.now()), null)
})

// covers ASVS-6.5.5
t.test('rejects a link that is invalid, expired, replaced, or made for another address or purpose', async (t) => {
  const table: Array<[string, (w: World) => Promise<string>]> = [
    ['unknown', async () => 'x'.repeat(59)],
    ['malformed', async () => 'x'],
    [
      '24 hours old',
      async (w) => {
        const { token } = await requested(w)
        w.clock.step(86_400_000)
        return token
      }
    ],
    [
      'replaced',
      async (w) => {
        const { user, token } = await requested(w)
        await requestEmailVerification(user, { locale: undefined, origin }, w.deps)
        return token
      }
    ],
    [
      'made for another purpose',
      async (w) => {
        await w.addUser()
        await requestPasswordReset({ username: 'ada@example.com', origin }, w.deps)
        await w.idle()
        return w.messages.at(-1)?.token ?? ''
      }
    ],
    [
      "A8 sent to an address that is not the account's any more",
      async (w) => {
        const { token } = await requested(w, { username: 'mallory', email: 'mallory@example.com' })
        w.rewrite('mallory', { email: 'victim@example.com' })
        return token
      }
    ],
    [
      'with another binding',
      async (w) => {
        const { token } = await requested(w)
        return token.slice(0, -1) + (token.endsWith('A') ? 'B' : 'A')
      }
    ],
    ['without its binding', async (w) => (await requested(w)).token.slice(0, 59)],
    ['of a disabled user', async (w) => (await requested(w, { disabled: true })).token],
    [
      'of a user who is gone',
      async (w) => {
        const { token } = await requested(w)
        w.rewrite('ada@example.com', null)
        return token
      }
    ]
  ]
  for (const [name, tokenOf] of table) {
    const w = await world()
    const token = await tokenOf(w)
    t.strictSame(await outcomeOf(verifyEmail({ token, origin }, w.deps)), INVALID_LINK, name)
    t.equal(w.count('email_verified'), 0)
  }
})

// covers ASVS-2.3.3
t.test('keeps the link usable after a store failure', async (t) => {
  for (const method of ['findById', 'setEmailVerified', 'find', 'consume'] as const) {
    let fail = true
    const w = await world({
      users: (store) => ({
        ...store,
        async findById(id) {
          if (fail && method === 'findById') throw new Error('down')
          return await store.findById(id)
        },
        async setEmailVerified(id) {
          if (fail && method === 'setEmailVerified') throw new Error('down')
          await store.setEmailVerified(id)
        }
      })
    })
    const { token } = await requested(w)
    const oneTimeTokens = {
      ...w.state.oneTimeTokens,
      ...(method === 'find' || method === 'consume'
        ? {
            [method]: async () => {
              throw new Error('down')
            }
          }
        : {})
    }
    await t.rejects(verifyEmail({ token, origin }, { ...w.deps, oneTimeTokens }), { message: 'down' }, method)
    t.equal(w.count('email_verified'), 0)
    fail = false
    t.equal(await outcomeOf(verifyEmail({ token, origin }, w.deps)), 'done', method)
    t.equal(w.count('email_verified'), 1)
  }
})

t.test('sends no link to a user without an address, or without an outbox', async (t) => {
  const w = await world()
  await requestEmailVerification(await w.addUser({ username: 'bob', email: '' }), { locale: undefined, origin }, w.deps)
  await requestEmailVerification(await w.addUser(), { locale: undefined, origin }, { ...w.deps, outbox: null })
  await turns()
  t.strictSame([w.messages, w.secrets], [[], []])
})
