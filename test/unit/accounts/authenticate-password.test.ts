import t from '../../support/tap.ts'
import { authenticatePassword, confirmAuthentic } from '../../../lib/accounts/authenticate-password.ts'
import { changePassword } from '../../../lib/accounts/change-password.ts'
import { NEXT_PASSWORD, origin, outcomeOf, PASSWORD, turns, world, sidFor, staying } from './world.ts'

const BCRYPT = `$2b$10$${'a'.repeat(53)}`
const at = { clientId: null, origin }

// covers ASVS-6.3.8
t.test('answers invalid_grant after one hash for each cause of a failed sign-in', async (t) => {
  const w = await world({
    verifyEmail: true,
    initial: [{ id: 'n', username: 'nopassword', passwordHash: null, emailVerified: true }]
  })
  await w.addUser({ username: 'known', emailVerified: true })
  await w.addUser({ username: 'disabled', emailVerified: true, disabled: true })
  await w.addUser({ username: 'unverified', emailVerified: false })
  await w.addUser({ username: 'unsaid' })
  await w.addUser({
    username: 'broken',
    emailVerified: true,
    passwordHash: '$argon2id$v=19$m=4194304,t=1,p=1$c2FsdHNhbHRzYWx0$c2FsdHNhbHRzYWx0'
  })
  const table: Array<[name: string, username: string, password: string, reason: string]> = [
    ['unknown', 'nobody', PASSWORD, 'unknown_user'],
    ['no username at all', 'a\u0000b', PASSWORD, 'unknown_user'],
    ['a megabyte of username', 'a'.repeat(1e6), PASSWORD, 'unknown_user'],
    ['wrong password', 'known', 'not the password', 'wrong_password'],
    ['another case', 'known', PASSWORD.toUpperCase(), 'wrong_password'],
    ['a trailing space', 'known', `${PASSWORD} `, 'wrong_password'],
    ['a NUL after it', 'known', `${PASSWORD}\u0000`, 'wrong_password'],
    ['an empty password', 'known', '', 'wrong_password'],
    ['a password over maxBytes', 'known', 'x'.repeat(1025), 'wrong_password'],
    ['a lone surrogate', 'known', '\ud800 is no text', 'wrong_password'],
    ['over maxBytes, unknown', 'nobody', 'x'.repeat(1025), 'unknown_user'],
    ['disabled', 'disabled', PASSWORD, 'disabled'],
    ['disabled, wrong password', 'disabled', 'not the password', 'disabled'],
    ['no password', 'nopassword', PASSWORD, 'no_password'],
    ['email not verified', 'unverified', PASSWORD, 'email_not_verified'],
    ['email never spoken of', 'unsaid', PASSWORD, 'email_not_verified'],
    ['a stored hash that may not run', 'broken', PASSWORD, 'unusable_hash']
  ]
  for (const [name, username, password, reason] of table) {
    const { hashes, outcome } = await w.hashesOf(() => authenticatePassword({ username, password, ...at }, w.deps))
    const wrong =
      reason === 'email_not_verified' ? 'The email address is not confirmed yet.' : 'The username or password is wrong.'
    t.strictSame(outcome, { error: 'invalid_grant', message: wrong, statusCode: 400, headers: {} }, name)
    t.equal(hashes, 1, `${name}: one hash`)
    t.equal(w.reasons().at(-1), reason, `${name}: the event says why`)
  }
  t.equal(w.told.length, table.length, 'one event each')
  const good = await w.hashesOf(() => authenticatePassword({ username: 'known', password: PASSWORD, ...at }, w.deps))
  t.strictSame(good, { hashes: 1, outcome: 'done' }, 'a success costs the same')
  t.notMatch(JSON.stringify(w.told), PASSWORD)
  t.notMatch(JSON.stringify(w.told), /not the password|a\\u0000b|nobody/, 'nothing that was typed and is no username')
})

t.test('verifies a short placeholder instead of a password that is too long', async (t) => {
  const w = await world()
  await w.addUser()
  const seen: string[] = []
  const deps = {
    ...w.deps,
    hashing: {
      ...w.deps.hashing,
      verify: async (stored: string | null, password: string) => {
        seen.push(password)
        return await w.deps.hashing.verify(stored, password)
      }
    }
  }
  await outcomeOf(authenticatePassword({ username: 'ada@example.com', password: 'x'.repeat(1025), ...at }, deps))
  t.equal(seen.length, 1)
  t.ok((seen[0] ?? '').length < 100)
})

t.test('signs in an unverified user by a username in any case if verification is optional', async (t) => {
  const w = await world()
  const user = await w.addUser({ emailVerified: false })
  for (const username of ['ada@example.com', 'Ada@Example.COM']) {
    t.equal((await authenticatePassword({ username, password: PASSWORD, ...at }, w.deps)).id, user.id)
  }
  t.equal(w.told.length, 0, 'nothing is announced before it is confirmed')
})

t.test('answers 503 for known and unknown users alike when the hashing queue is full', async (t) => {
  const w = await world({ concurrency: 1, maxQueue: 0 })
  await w.addUser()
  const deps = { ...w.deps, users: w.store }
  const refused = async (username: string) => {
    const attempts = Promise.all(
      Array.from({ length: 20 }, () => outcomeOf(authenticatePassword({ username, password: PASSWORD, ...at }, deps)))
    )
    await turns()
    w.clock.step(1250)
    const outcomes = await attempts
    return outcomes.filter((outcome) => outcome !== 'done' && outcome.error === 'temporarily_unavailable')
  }
  const known = await refused('ada@example.com')
  t.equal(known.length, 19)
  t.match(known[0], { statusCode: 503, headers: { 'retry-after': '1' } })
  t.strictSame(await refused('nobody'), known)
})

t.test('confirmAuthentic', async (t) => {
  t.test('confirms a sign-in of an unchanged user without hash and event', async (t) => {
    const w = await world()
    const user = await w.addUser()
    const { hashes } = await w.hashesOf(() => confirmAuthentic(user, PASSWORD, w.deps, at))
    t.equal(hashes, 0)
    t.strictSame(w.told, [], 'whoever hands the sign-in out tells of it')
  })

  const gone: Array<[string, (w: Awaited<ReturnType<typeof world>>, id: string) => Promise<void>, boolean]> = [
    [
      'rejects the sign-in after a password change',
      async (w, id) => {
        await w.store.setPasswordHash(id, await w.deps.hashing.hash(NEXT_PASSWORD))
      },
      false
    ],
    [
      'keeps the sign-in when the hash was replaced by one of the same password',
      async (w, id) => {
        await w.store.setPasswordHash(id, await w.deps.hashing.hash(PASSWORD))
      },
      true
    ],
    [
      'rejects the sign-in when the hash was replaced by an unusable one',
      async (w, id) => {
        await w.store.setPasswordHash(id, '!')
      },
      false
    ]
  ]
  for (const [name, act, holds] of gone) {
    // covers R6749-5.2
    t.test(name, async (t) => {
      const w = await world()
      await w.addUser()
      const user = await authenticatePassword({ username: 'ada@example.com', password: PASSWORD, ...at }, w.deps)
      await act(w, user.id)
      t.equal((await confirmAuthentic(user, PASSWORD, w.deps, at)) !== null, holds)
      t.strictSame(w.reasons(), holds ? [] : ['changed_meanwhile'])
      t.equal(w.count('login_failed'), holds ? 0 : 1)
    })
  }

  for (const [name, now] of [
    ['gone', null],
    ['disabled', { disabled: true }],
    ['without a password', { passwordHash: null }]
  ] as const) {
    // covers ASVS-7.4.2
    t.test(`rejects the sign-in when the user is ${name} by the final check`, async (t) => {
      const w = await world()
      const user = await w.addUser()
      const deps = {
        ...w.deps,
        users: { ...w.store, findById: async () => (now === null ? null : { ...user, ...now }) }
      }
      t.equal(await confirmAuthentic(user, PASSWORD, deps, at), null)
      t.strictSame(w.reasons(), ['changed_meanwhile'])
    })
  }
})

// covers ASVS-7.4.3
t.test('leaves no session for the old password when a sign-in overlaps a password change', async (t) => {
  // The session is saved `lag` turns after the password check.
  for (let lag = 0; lag < 40; lag++) {
    const w = await world()
    const user = await w.addUser()
    await w.addSession(user.id, 'mine')
    const login = async (): Promise<void> => {
      const signedIn = await authenticatePassword({ username: 'ada@example.com', password: PASSWORD, ...at }, w.deps)
      for (let turn = 0; turn < lag; turn++)
        await new Promise((resolve) => {
          setImmediate(resolve)
        })
      await w.addSession(user.id, 'thief')
      if ((await confirmAuthentic(signedIn, PASSWORD, w.deps, at)) === null)
        await w.deps.sessions.revoke(user.id, sidFor(user.id, 'thief'), 'password_changed', origin)
    }
    await Promise.all([
      outcomeOf(login()),
      changePassword(
        {
          userId: user.id,
          stays: staying(sidFor(user.id, 'mine')),
          currentPassword: PASSWORD,
          newPassword: NEXT_PASSWORD,
          origin
        },
        w.deps
      )
    ])
    t.strictSame(await w.sids(user.id), ['mine'], `after ${lag} turns`)
  }
})

t.test('outdated password hash', async (t) => {
  t.test('replaces an outdated hash once after the answer', async (t) => {
    const w = await world()
    const user = await w.addUser({ passwordHash: BCRYPT })
    await authenticatePassword({ username: 'ada@example.com', password: PASSWORD, ...at }, w.deps)
    t.equal(await w.passwordHashOf(user.id), BCRYPT, 'not before')
    await w.idle()
    const next = await w.passwordHashOf(user.id)
    t.match(next, /^\$argon2id\$/)
    t.equal(await w.deps.hashing.verify(next ?? null, PASSWORD), 'match')
    await authenticatePassword({ username: 'ada@example.com', password: PASSWORD, ...at }, w.deps)
    await w.idle()
    t.equal(await w.passwordHashOf(user.id), next, 'once')
  })

  t.test('keeps the hash after a failed sign-in', async (t) => {
    const w = await world()
    const user = await w.addUser({ passwordHash: BCRYPT })
    await outcomeOf(authenticatePassword({ username: 'ada@example.com', password: 'not the password', ...at }, w.deps))
    await w.idle()
    t.equal(await w.passwordHashOf(user.id), BCRYPT)
  })

  t.test('keeps a password that was set during the replacement of the hash', async (t) => {
    const w = await world()
    const user = await w.addUser({ passwordHash: BCRYPT })
    const newer = await w.deps.hashing.hash(NEXT_PASSWORD)
    const hash = async (password: string): Promise<string> => {
      const next = await w.deps.hashing.hash(password)
      await w.store.setPasswordHash(user.id, newer)
      return next
    }
    await authenticatePassword(
      { username: 'ada@example.com', password: PASSWORD, ...at },
      { ...w.deps, hashing: { ...w.deps.hashing, hash } }
    )
    await w.idle()
    t.equal(await w.passwordHashOf(user.id), newer)
  })

  t.test('reports a failure to replace the hash', async (t) => {
    const w = await world({
      users: (store) => ({
        ...store,
        setPasswordHash: async () => {
          throw new Error('down')
        }
      })
    })
    await w.addUser({ passwordHash: BCRYPT })
    await authenticatePassword({ username: 'ada@example.com', password: PASSWORD, ...at }, w.deps)
    await w.idle()
    t.match(w.errors, [{ error: { message: 'down' }, what: 'a password hash could not be replaced' }])
  })

  t.test('keeps the hash without a report when the hashing queue is full', async (t) => {
    const w = await world()
    const user = await w.addUser({ passwordHash: BCRYPT })
    const narrow = await world({ concurrency: 1, maxQueue: 0 })
    void narrow.deps.hashing.hash('busy')
    const deps = {
      ...w.deps,
      hashing: {
        ...w.deps.hashing,
        hash: async (password: string) =>
          await new Promise<string>((resolve, reject) => {
            void narrow.deps.hashing.hash('busy').catch(() => {})
            narrow.deps.hashing.hash(password).then(resolve, reject)
          })
      }
    }
    await authenticatePassword({ username: 'ada@example.com', password: PASSWORD, ...at }, deps)
    await turns()
    narrow.clock.step(1250)
    await w.idle()
    t.equal(await w.passwordHashOf(user.id), BCRYPT)
    t.strictSame(w.errors, [])
  })

  t.test('makes no new hash when the store cannot set one', async (t) => {
    const w = await world({ users: ({ findById, findByUsername }) => ({ findById, findByUsername }) })
    await w.addUser({ passwordHash: BCRYPT })
    const { hashes } = await w.hashesOf(async () => {
      await authenticatePassword({ username: 'ada@example.com', password: PASSWORD, ...at }, w.deps)
      await w.idle()
    })
    t.equal(hashes, 0, 'the imported verifier ran, and no hash was made')
  })
})
