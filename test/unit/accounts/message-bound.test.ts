import t from '../../support/tap.ts'
import { changePassword } from '../../../lib/accounts/change-password.ts'
import { register } from '../../../lib/accounts/register.ts'
import { confirmPasswordReset, requestPasswordReset, startPasswordReset } from '../../../lib/accounts/reset-password.ts'
import { requestEmailVerification, verifyEmail } from '../../../lib/accounts/verify-email.ts'
import { NEXT_PASSWORD, origin, outcomeOf, PASSWORD, turns, world } from './world.ts'
import type { World } from './world.ts'

const MINUTES = 60_000

async function ask(w: World, username = 'ada@example.com'): Promise<void> {
  await requestPasswordReset({ username, origin }, w.deps)
  await w.idle()
}

// covers A11
t.test('sends one message with a working link for forty requests from forty IP addresses', async (t) => {
  const w = await world({ bounded: true })
  await w.addUser()
  for (let index = 0; index < 40; index++) {
    await requestPasswordReset(
      { username: 'ada@example.com', origin: { requestId: null, ip: `192.0.2.${index}` } },
      w.deps
    )
    await w.idle()
  }
  t.equal(w.messages.length, 1)
  t.equal(
    await outcomeOf(
      confirmPasswordReset({ token: w.messages[0]?.token ?? '', password: NEXT_PASSWORD, origin }, w.deps)
    ),
    'done'
  )
})

// covers A11
t.test('sends one reset link in five minutes, and the latest link works after every request', async (t) => {
  const w = await world({ bounded: true })
  await w.addUser()
  for (let minute = 0; minute <= 60; minute++) {
    await ask(w)
    const token = w.messages.at(-1)?.token ?? ''
    t.match(await outcomeOf(confirmPasswordReset({ token, password: 'short', origin }, w.deps)), {
      error: 'invalid_password'
    })
    t.match(
      await outcomeOf(confirmPasswordReset({ token, password: 'ada@example.com', origin }, w.deps)),
      { error: 'invalid_password' },
      `minute ${minute}: refused for what only the holder of a good link hears`
    )
    w.clock.step(MINUTES)
  }
  t.equal(w.messages.length, 13, 'one in five minutes')
})

const others: Array<[string, (w: World) => Promise<void>, number]> = [
  [
    'counts the messages of each account separately',
    async (w) => {
      await w.addUser({ username: 'bob@example.com', email: 'bob@example.com' })
      await ask(w, 'bob@example.com')
    },
    2
  ],
  [
    'sends a new link after the last one was used',
    async (w) => {
      await confirmPasswordReset({ token: w.messages[0]?.token ?? '', password: NEXT_PASSWORD, origin }, w.deps)
      await ask(w)
    },
    2
  ],
  [
    'sends a new link after a password change',
    async (w) => {
      const user = await w.store.findByUsername('ada@example.com')
      await changePassword(
        { userId: user?.id ?? '', currentPassword: PASSWORD, newPassword: NEXT_PASSWORD, origin },
        w.deps
      )
      await ask(w)
    },
    2
  ],
  [
    'sends a new link after a change of the address',
    async (w) => {
      w.rewrite('ada@example.com', { email: 'new@example.com' })
      await ask(w)
    },
    2
  ],
  [
    'sends no second link when the address is registered again',
    async (w) => {
      await register({ username: 'ada@example.com', password: PASSWORD, fields: {}, origin }, w.deps)
      await w.idle()
    },
    1
  ],
  [
    'sends a link for the host right after a link for the user',
    async (w) => {
      await startPasswordReset((await w.store.findByUsername('ada@example.com'))?.id ?? '', w.deps)
      await w.idle()
    },
    2
  ]
]
for (const [name, act, links] of others) {
  // covers A11
  t.test(name, async (t) => {
    const w = await world({ bounded: true, verifyEmail: true })
    await w.addUser()
    await ask(w)
    await act(w)
    t.equal(w.messages.filter(({ token }) => token !== undefined).length, links)
  })
}

// covers A11
t.test('does not count a link that the store could not save', async (t) => {
  const w = await world({ bounded: true })
  await w.addUser()
  await requestPasswordReset(
    { username: 'ada@example.com', origin },
    {
      ...w.deps,
      oneTimeTokens: {
        ...w.state.oneTimeTokens,
        put: async () => {
          throw new Error('down')
        }
      }
    }
  )
  await w.idle()
  t.match(w.errors, [{ error: { message: 'down' } }])
  await ask(w)
  t.equal(w.messages.length, 1)
})

// covers A11
t.test('sends one verification link in five minutes, and that link works', async (t) => {
  const w = await world({ bounded: true })
  const user = await w.addUser({ emailVerified: false })
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      await requestEmailVerification(user, { locale: undefined, origin }, w.deps)
    })
  )
  await turns()
  t.equal(w.messages.length, 1)
  w.clock.step(5 * MINUTES - 1)
  await requestEmailVerification(user, { locale: undefined, origin }, w.deps)
  await turns()
  t.equal(w.messages.length, 1)
  t.equal(await outcomeOf(verifyEmail({ token: w.messages[0]?.token ?? '', origin }, w.deps)), 'done')
  w.clock.step(1)
  await requestEmailVerification(user, { locale: undefined, origin }, w.deps)
  await turns()
  t.equal(w.messages.length, 2)
})

// covers A11
t.test('sends a new verification link at once after a change of the address', async (t) => {
  const w = await world({ bounded: true })
  await requestEmailVerification(await w.addUser({ emailVerified: false }), { locale: undefined, origin }, w.deps)
  await turns()
  w.rewrite('ada@example.com', { email: 'new@example.com' })
  const user = await w.deps.users.findByUsername('ada@example.com')
  if (user === null) {
    t.fail('no user')
    return
  }
  await requestEmailVerification(user, { locale: undefined, origin }, w.deps)
  await turns()
  t.match(w.messages, [{ user: { email: 'ada@example.com' } }, { user: { email: 'new@example.com' } }])
  t.equal(await outcomeOf(verifyEmail({ token: w.messages[1]?.token ?? '', origin }, w.deps)), 'done')
})
