import t from '../../support/tap.ts'
import { confirmPasswordReset, requestPasswordReset, startPasswordReset } from '../../../lib/accounts/reset-password.ts'
import { requestEmailVerification } from '../../../lib/accounts/verify-email.ts'
import { changePassword } from '../../../lib/accounts/change-password.ts'
import { digestOfOneTimeToken } from '../../../lib/protocol/credential.ts'
import { INVALID_LINK, NEXT_PASSWORD, origin, outcomeOf, PASSWORD, turns, world } from './world.ts'
import type { World } from './world.ts'

/** The stored digest. */
const kept = (token: string): string => digestOfOneTimeToken(token) ?? ''

async function tokenFor(w: World, username = 'ada@example.com'): Promise<string> {
  await requestPasswordReset({ username, origin }, w.deps)
  await w.idle()
  return w.messages.at(-1)?.token ?? ''
}

// covers ASVS-6.4.3 ASVS-7.4.3
t.test('sets a new password and ends all sessions, without signing the user in', async (t) => {
  const w = await world()
  const user = await w.addUser({ emailVerified: false })
  for (const sid of ['mine', 'thief']) await w.addSession(user.id, sid)
  const token = await tokenFor(w, 'Ada@Example.com')
  t.match(w.messages, [
    {
      kind: 'password_reset',
      user: { email: 'ada@example.com' },
      url: `https://auth.example.com/password_reset#token=${token}`,
      expiresAt: new Date(w.clock.now() + 1_800_000)
    }
  ])
  t.match(await confirmPasswordReset({ token, password: NEXT_PASSWORD, origin }, w.deps), { id: user.id })
  await turns()
  t.equal(await w.deps.hashing.verify((await w.passwordHashOf(user.id)) ?? null, NEXT_PASSWORD), 'match')
  t.strictSame(await w.sids(user.id), [])
  t.equal((await w.store.findById(user.id))?.emailVerified, true, 'the link proved the mailbox')
  t.strictSame(
    w.told.map(({ name }) => name),
    ['password_reset_requested', 'message_sent', 'logged_out', 'password_changed', 'message_sent', 'email_verified']
  )
  t.match(w.told[3]?.payload, { userId: user.id, by: 'reset', ip: origin.ip })
  t.equal(w.messages.at(-1)?.kind, 'password_changed')
  for (const secret of [token, kept(token), PASSWORD, NEXT_PASSWORD, '$argon2'])
    t.notOk(JSON.stringify(w.told).includes(secret), 'no secret in an event')
})

// covers ASVS-6.5.1 ADV-CVE-2026-32943
t.test('resets the password once when one link is confirmed 50 times in parallel', async (t) => {
  const w = await world()
  const user = await w.addUser()
  const token = await tokenFor(w)
  const outcomes = await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      outcomeOf(confirmPasswordReset({ token, password: `${NEXT_PASSWORD} ${index}`, origin }, w.deps))
    )
  )
  t.equal(outcomes.filter((outcome) => outcome === 'done').length, 1)
  t.strictSame(
    outcomes.filter((outcome) => outcome !== 'done'),
    Array.from({ length: 49 }, () => INVALID_LINK)
  )
  t.equal(
    await w.deps.hashing.verify(
      (await w.passwordHashOf(user.id)) ?? null,
      `${NEXT_PASSWORD} ${outcomes.indexOf('done')}`
    ),
    'match'
  )
  t.equal(w.count('password_changed'), 1)
})

// covers ASVS-6.5.1 ASVS-6.5.5 ASVS-6.6.2
t.test('rejects an invalid, used, replaced, expired or outdated link with one error and without hashing', async (t) => {
  const table: Array<[string, (w: World) => Promise<string>]> = [
    ['unknown', async () => 'x'.repeat(59)],
    ['empty', async () => ''],
    ['no token', async () => '../../etc/passwd'],
    ['a digest', async (w) => kept(await tokenFor(w))],
    [
      'used',
      async (w) => {
        const token = await tokenFor(w)
        await confirmPasswordReset({ token, password: NEXT_PASSWORD, origin }, w.deps)
        return token
      }
    ],
    [
      'replaced by a newer one',
      async (w) => {
        const token = await tokenFor(w)
        await tokenFor(w)
        return token
      }
    ],
    [
      '30 minutes old',
      async (w) => {
        const token = await tokenFor(w)
        w.clock.step(1_800_000)
        return token
      }
    ],
    [
      'from before the password was changed',
      async (w) => {
        const token = await tokenFor(w)
        const user = await w.store.findByUsername('ada@example.com')
        await changePassword(
          { userId: user?.id ?? '', currentPassword: PASSWORD, newPassword: NEXT_PASSWORD, origin },
          w.deps
        )
        return token
      }
    ],
    [
      'made for another purpose',
      async (w) => {
        const user = await w.store.findByUsername('ada@example.com')
        if (user !== null) await requestEmailVerification(user, { locale: undefined, origin }, w.deps)
        await w.idle()
        return w.messages.at(-1)?.token ?? ''
      }
    ],
    [
      'of a user who is gone',
      async (w) => {
        const token = await tokenFor(w)
        w.rewrite('ada@example.com', null)
        return token
      }
    ],
    [
      "A8 sent to an address that is not the account's any more",
      async (w) => {
        const token = await tokenFor(w)
        w.rewrite('ada@example.com', { email: 'victim@example.com' })
        return token
      }
    ],
    [
      'A8 sent to no address, of an account that has one now',
      async (w) => {
        await w.addUser({ username: 'bob', email: '' })
        const token = await tokenFor(w, 'bob')
        w.rewrite('bob', { email: 'victim@example.com' })
        return token
      }
    ],
    [
      'with another binding',
      async (w) => {
        const token = await tokenFor(w)
        return token.slice(0, -1) + (token.endsWith('A') ? 'B' : 'A')
      }
    ],
    ['without its bindings', async (w) => (await tokenFor(w)).slice(0, 59)],
    [
      'of a disabled user',
      async (w) => {
        const token = await tokenFor(w)
        w.rewrite('ada@example.com', { disabled: true })
        return token
      }
    ]
  ]
  for (const [name, tokenOf] of table) {
    const w = await world()
    await w.addUser()
    const token = await tokenOf(w)
    const told = w.told.length
    t.strictSame(
      await w.hashesOf(() => confirmPasswordReset({ token, password: 'another good password', origin }, w.deps)),
      { hashes: 0, outcome: INVALID_LINK },
      name
    )
    t.equal(w.told.length, told, `${name}: nothing happened`)
  }
})

// covers ASVS-6.5.5
t.test('accepts a link until just before its 30 minutes end', async (t) => {
  const w = await world()
  await w.addUser()
  const token = await tokenFor(w)
  w.clock.step(1_799_999)
  t.equal(await outcomeOf(confirmPasswordReset({ token, password: NEXT_PASSWORD, origin }, w.deps)), 'done')
})

// covers ASVS-6.3.8
t.test('keeps the link usable after a rejected password, and looks up breaches only with a valid link', async (t) => {
  const breached: string[] = []
  const w = await world({
    isBreached(password) {
      breached.push(password)
      return password === 'known from a breach'
    }
  })
  await w.addUser()
  const token = await tokenFor(w)
  for (const password of ['short', 'password1', 'authexample1', 'known from a breach', 'x'.repeat(1025)]) {
    const [good, bad, malformed] = [
      await outcomeOf(confirmPasswordReset({ token, password, origin }, w.deps)),
      await outcomeOf(confirmPasswordReset({ token: 'x'.repeat(59), password, origin }, w.deps)),
      await outcomeOf(confirmPasswordReset({ token: '', password, origin }, w.deps))
    ]
    t.match(good, { error: 'invalid_password', statusCode: 400 })
    t.strictSame(bad, malformed)
    if (password === 'known from a breach') t.match(bad, { error: 'invalid_token', statusCode: 400 })
    else t.strictSame(good, bad)
  }
  t.equal(breached.length, 1, 'the look-up is not asked for strangers, whom no limit stops before it')
  t.match(
    await outcomeOf(confirmPasswordReset({ token, password: 'ada@example.com', origin }, w.deps)),
    { error: 'invalid_password' },
    'what the user is called counts for the holder of the link'
  )
  t.equal(await outcomeOf(confirmPasswordReset({ token, password: NEXT_PASSWORD, origin }, w.deps)), 'done')
})

// covers ASVS-6.3.8
t.test('queries no store before the answer, for known and unknown usernames', async (t) => {
  const w = await world()
  await w.addUser()
  await w.addUser({ username: 'disabled', disabled: true })
  await w.addUser({ username: 'mailless', email: '' })
  const calls: string[] = []
  const watch = <Store extends object>(store: Store): Store =>
    new Proxy(store, {
      get(target, name, receiver) {
        calls.push(String(name))
        return Reflect.get(target, name, receiver) as unknown
      }
    })
  const deps = { ...w.deps, users: watch(w.deps.users), oneTimeTokens: watch(w.deps.oneTimeTokens) }
  for (const username of ['ada@example.com', 'nobody', 'disabled', 'mailless']) {
    const made = w.secrets.length
    calls.length = 0
    t.equal(await requestPasswordReset({ username, origin }, deps), undefined)
    t.strictSame(calls, [], `${username}: no store is asked before the answer`)
    t.equal(w.secrets.length, made, `${username}: no token is made before the answer`)
    await w.idle()
    await turns()
  }
  t.strictSame(
    w.messages.map(({ user }) => user.username),
    ['ada@example.com', 'mailless']
  )
  t.equal(w.count('password_reset_requested'), 2)
  t.equal(await requestPasswordReset({ username: 'a\u0000b', origin }, deps), undefined)
})

// covers ASVS-6.3.8 ADV-CVE-2024-45231
t.test('answers a reset request as usual when a store or the email delivery fails or hangs', async (t) => {
  const down = async (): Promise<never> => {
    throw new Error('down')
  }
  const hang = (): Promise<never> => new Promise(() => {})
  for (const fault of [down, hang]) {
    for (const place of ['findByUsername', 'put', 'sendMessage'] as const) {
      const w = await world({
        ...(place === 'sendMessage' ? { sendMessage: fault } : {}),
        users: (store) => (place === 'findByUsername' ? { ...store, findByUsername: fault } : store)
      })
      await w.addUser()
      const deps = place === 'put' ? { ...w.deps, oneTimeTokens: { ...w.state.oneTimeTokens, put: fault } } : w.deps
      t.equal(
        await requestPasswordReset({ username: 'ada@example.com', origin }, deps),
        undefined,
        `${place} ${fault.name}`
      )
      await turns()
      t.equal(w.errors.length, fault === down && place !== 'sendMessage' ? 1 : 0, `${place} ${fault.name}: reported`)
    }
  }
})

t.test('DOS-background limits pending requests to 256 if the store hangs, and reports one overload', async (t) => {
  let asked = 0
  const w = await world({
    users: (store) => ({
      ...store,
      findByUsername: () => {
        asked++
        return new Promise(() => {})
      }
    })
  })
  for (let index = 0; index < 1000; index++) await requestPasswordReset({ username: `user${index}`, origin }, w.deps)
  await turns()
  t.equal(asked, 256)
  t.equal(w.errors.length, 1)
})

t.test('sends one working link for several parallel requests', async (t) => {
  const w = await world()
  await w.addUser()
  await Promise.all(
    Array.from({ length: 5 }, () => requestPasswordReset({ username: 'ada@example.com', origin }, w.deps))
  )
  await w.idle()
  t.equal(w.messages.length, 1)
  t.equal(
    await outcomeOf(
      confirmPasswordReset({ token: w.messages[0]?.token ?? '', password: NEXT_PASSWORD, origin }, w.deps)
    ),
    'done'
  )
})

// covers ADV-CVE-2019-19844
t.test('sends the link to the stored address, not to the requested spelling', async (t) => {
  // A database whose collation takes one spelling for another.
  const w = await world({
    users: (store) => ({ ...store, findByUsername: async () => await store.findByUsername('mike@example.org') })
  })
  await w.addUser({ username: 'mike@example.org', email: 'mike@example.org' })
  await tokenFor(w, 'mıke@example.org')
  t.strictSame(
    w.messages.map(({ user }) => user.email),
    ['mike@example.org']
  )
})

t.test('uses the username as the address when no email is stored', async (t) => {
  const w = await world({
    initial: [
      { id: '1', username: 'ada@example.com', passwordHash: null },
      { id: '2', username: 'bob', passwordHash: null }
    ]
  })
  t.not(await tokenFor(w), '')
  t.match(w.messages, [{ user: { id: '1', email: 'ada@example.com' } }])
})

t.test('resets the password of a user without an address, and verifies no address', async (t) => {
  const w = await world({ initial: [{ id: '2', username: 'bob', passwordHash: null }] })
  const token = await tokenFor(w, 'bob')
  t.equal(w.messages[0]?.user.email, undefined)
  t.equal(await outcomeOf(confirmPasswordReset({ token, password: NEXT_PASSWORD, origin }, w.deps)), 'done')
  t.not((await w.store.findById('2'))?.emailVerified, true)
})

// covers ASVS-6.4.1
t.test('sets the first password of a user by a reset link', async (t) => {
  const w = await world({ initial: [{ id: '1', username: 'ada@example.com', passwordHash: null }] })
  await startPasswordReset('1', w.deps)
  await w.idle()
  t.equal(
    await outcomeOf(
      confirmPasswordReset({ token: w.messages[0]?.token ?? '', password: NEXT_PASSWORD, origin }, w.deps)
    ),
    'done'
  )
  t.equal(await w.deps.hashing.verify((await w.passwordHashOf('1')) ?? null, NEXT_PASSWORD), 'match')
})

// covers ASVS-6.4.6
t.test(
  'starts a reset for the host, and rejects it for an unknown or disabled user or without an outbox',
  async (t) => {
    const w = await world()
    const user = await w.addUser()
    const disabled = await w.addUser({ username: 'disabled', disabled: true })
    t.equal(await startPasswordReset(user.id, w.deps), undefined)
    await turns()
    t.match(w.messages, [{ kind: 'password_reset', user: { id: user.id } }])
    t.equal(w.count('password_reset_requested'), 1)
    t.match(await outcomeOf(startPasswordReset('nobody', w.deps)), { error: 'not_found' })
    t.match(await outcomeOf(startPasswordReset(disabled.id, w.deps)), { error: 'invalid_request' })
    t.match(await outcomeOf(startPasswordReset(user.id, { ...w.deps, outbox: null })), { error: 'invalid_request' })
    t.equal(w.count('password_reset_requested'), 1)
  }
)

// covers ASVS-2.3.3
t.test('keeps the link usable after a store failure or a full hashing queue', async (t) => {
  let fail = true
  const w = await world({
    users: (store) => ({
      ...store,
      setPasswordHash: async (...args) => {
        if (fail) throw new Error('down')
        return await store.setPasswordHash(...args)
      }
    })
  })
  const user = await w.addUser()
  await w.addSession(user.id, 'mine')
  const token = await tokenFor(w)
  const confirm = (deps = w.deps): Promise<unknown> =>
    confirmPasswordReset({ token, password: NEXT_PASSWORD, origin }, deps)
  await t.rejects(confirm(), { message: 'down' })
  t.strictSame(await w.sids(user.id), [], 'what must end has ended before anything is set')
  fail = false
  await t.rejects(
    confirm({
      ...w.deps,
      hashing: {
        ...w.deps.hashing,
        hash: async () => {
          throw new Error('full')
        }
      }
    }),
    { message: 'full' }
  )
  t.equal(await outcomeOf(confirm()), 'done')
})

t.test('keeps a password that was changed during the reset', async (t) => {
  const w = await world()
  const user = await w.addUser()
  const token = await tokenFor(w)
  const newer = await w.deps.hashing.hash('newer than the reset')
  const hash = async (password: string): Promise<string> => {
    await w.store.setPasswordHash(user.id, newer)
    return await w.deps.hashing.hash(password)
  }
  t.strictSame(
    await outcomeOf(
      confirmPasswordReset(
        { token, password: NEXT_PASSWORD, origin },
        { ...w.deps, hashing: { ...w.deps.hashing, hash } }
      )
    ),
    INVALID_LINK
  )
  t.equal(await w.passwordHashOf(user.id), newer)
})

t.test('completes the reset when the store cannot mark the address as verified', async (t) => {
  const w = await world({
    users: (store) => ({
      ...store,
      setEmailVerified: async () => {
        throw new Error('down')
      }
    })
  })
  const user = await w.addUser()
  await w.addSession(user.id, 'thief')
  t.equal(
    await outcomeOf(confirmPasswordReset({ token: await tokenFor(w), password: NEXT_PASSWORD, origin }, w.deps)),
    'done'
  )
  t.strictSame(await w.sids(user.id), [])
  t.match(w.errors, [{ error: { message: 'down' } }])
  t.equal(w.count('email_verified'), 0)
})
