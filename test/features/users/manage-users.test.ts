/** `app.authority.users`: changes that a host can repeat after a crash. */
import t from '../../support/tap.ts'
import { memoryUserStore, type User, type UserStore } from '../../../lib/index.ts'
import { bearer, PASSWORD, signIn, testApp, type TestApp } from '../../support/app.ts'
import { ANN, oauth, withAnn } from './support.ts'

const send = async ({ app }: Pick<TestApp, 'app'>, url: string, payload: object) =>
  await app.inject({ method: 'POST', url, payload })

const namesOf = ({ events }: Pick<TestApp, 'events'>): string[] => events.map(({ name }) => name)

// covers ADV-CVE-2025-13881
t.test('shows neither a hash nor a field that registration.fields lacks', async (t) => {
  const { users, id } = await withAnn(t, {
    users: memoryUserStore([
      { id: 'u1', username: 'eve', passwordHash: 'canary-hash', ssn: 'canary-field', name: 'Eve', emailVerified: true }
    ]),
    registration: { fields: { type: 'object', properties: { name: { type: 'string' } } } }
  })
  const eve = await users.get('u1')
  t.match(eve, { id: 'u1', username: 'eve', email: null, hasPassword: true, disabled: false, name: 'Eve' })
  t.notMatch(JSON.stringify([eve, await users.list()]), /canary/)
  t.match(await users.get(id), { username: ANN, email: ANN, emailVerified: false, createdAt: Date })
  for (const none of ['nobody', '', '__proto__', 'a\0b', 5 as never]) t.equal(await users.get(none), null)
})

t.test('creates a user without a password, and refuses a taken name and foreign fields', async (t) => {
  const { users, events, store } = await withAnn(t, { registration: { username: 'any' } })
  const bob = await users.create({ username: 'Bob', email: 'bob@example.com' }, { by: { type: 'cli', id: 'root' } })
  t.match(bob, { username: 'bob', email: 'bob@example.com', emailVerified: false, hasPassword: false })
  t.match(events.find(({ name }) => name === 'user_created')?.payload, {
    userId: bob.id,
    actor: { type: 'cli', id: 'root' }
  })
  await t.rejects(users.create({ username: 'BOB' }), oauth('username_taken', 409))
  for (const given of [
    { username: '' },
    { username: 5 },
    { username: 'a\0b' },
    { username: 'eve', passwordHash: 'x' },
    { username: 'eve', fields: { disabled: false } },
    { username: 'eve', fields: JSON.parse('{"__proto__":{"a":1}}') as object },
    { username: 'eve', fields: { id: 'chosen' } },
    { username: 'ann@other.example', email: 'eve@example.com' }
  ])
    await t.rejects(users.create(given as never), oauth('invalid_request', 400), JSON.stringify(given))
  t.equal(await store.findByUsername('eve'), null)
})

// covers CVE-2026-27946
t.test('changes an email address to an unconfirmed one, ends open links and tells both mailboxes', async (t) => {
  const { app, users, messages, events, id } = await withAnn(t)
  const { token } = await messages.next('verify_email')
  const changed = await users.update(id, { email: 'ann@new.example' }, { reason: 'asked by phone' })
  t.match(changed, { username: 'ann@new.example', email: 'ann@new.example', emailVerified: false })
  t.match(await messages.next('email_changed'), { user: { email: ANN } })
  t.match(await messages.next('verify_email'), { user: { email: 'ann@new.example' } })
  t.equal((await send({ app }, '/auth/email/verify', { token })).statusCode, 400, 'the former link is dead')
  t.match(events.find(({ name }) => name === 'user_updated')?.payload, {
    userId: id,
    actor: { type: 'host', id: 'app' },
    reason: 'asked by phone',
    fields: ['username', 'email', 'emailVerified', 'emailProvedAt']
  })
  events.length = 0
  t.match(
    await users.update(id, { email: 'ann@new.example' }),
    { version: changed.version },
    'a repeat changes nothing'
  )
  t.notOk(namesOf({ events }).includes('user_updated'))
})

t.test('accepts one of two user updates with the same version, and refuses changes with an older one', async (t) => {
  const { users, id } = await withAnn(t, {
    registration: { fields: { type: 'object', properties: { name: { type: 'string' } } } }
  })
  const { version } = (await users.get(id)) ?? {}
  if (version === undefined || version === null) throw new Error('no version')
  const results = await Promise.allSettled(
    ['A', 'B'].map((name) => users.update(id, { fields: { name } }, { version }))
  )
  t.same(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  const changed = oauth('changed_meanwhile', 412)
  for (const act of [users.disable, users.enable, users.requireReset, users.remove])
    await t.rejects(act(id, { version }), changed)
  t.match(await users.get(id), { disabled: false, hasPassword: true })
})

t.test('ends all sessions of a disabled user, also of 50 parallel sign-ins', async (t) => {
  const { app, users, id, events } = await withAnn(t)
  const tokens = await signIn(app, ANN)
  const started = Array.from({ length: 50 }, async () => {
    const login = { username: ANN, password: PASSWORD, grant_type: 'password' }
    return await app.inject({ method: 'POST', url: '/auth/token', payload: login })
  })
  await users.disable(id)
  const answers = await Promise.all(started)
  t.same(await app.authority.sessions(id), [])
  for (const { statusCode, body } of answers)
    if (statusCode === 200) {
      const { refresh_token: refresh } = JSON.parse(body) as { refresh_token: string }
      const again = await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(refresh) })
      t.equal(again.statusCode, 401)
    }
  t.equal((await app.inject({ url: '/me', headers: bearer(tokens.access_token) })).statusCode, 401)
  await users.disable(id)
  t.equal(namesOf({ events }).filter((name) => name === 'user_disabled').length, 1, 'a repeat has no event')
  await users.enable(id)
  t.ok((await signIn(app, ANN)).access_token)
})

t.test('removes the password, ends all sessions and sends a reset link on requireReset', async (t) => {
  const { app, users, id, messages, events } = await withAnn(t)
  const tokens = await signIn(app, ANN)
  t.equal(await users.requireReset(id), undefined, 'the answer has no link')
  t.match(await users.get(id), { hasPassword: false })
  const login = { username: ANN, password: PASSWORD, grant_type: 'password' }
  t.equal((await app.inject({ method: 'POST', url: '/auth/token', payload: login })).statusCode, 400)
  t.equal((await app.inject({ url: '/me', headers: bearer(tokens.access_token) })).statusCode, 401)
  t.ok(namesOf({ events }).includes('password_reset_required'))
  const { token } = await messages.next('password_reset')
  const next = 'another horse battery'
  t.equal((await send({ app }, '/auth/password-reset/confirm', { token, password: next })).statusCode, 204)
  t.match(await users.get(id), { hasPassword: true })
})

t.test('rejects requireReset for a user who is disabled or has no email address', async (t) => {
  const { users, id, store } = await withAnn(t, {
    registration: { username: 'any' }
  })
  const { id: eve } = await users.create({ username: 'eve' })
  await t.rejects(users.requireReset(eve), oauth('conflict', 409), 'no address')
  await users.disable(id)
  const { passwordHash } = (await store.findById(id)) as User
  await t.rejects(users.requireReset(id), oauth('conflict', 409), 'disabled')
  t.equal((await store.findById(id))?.passwordHash, passwordHash)
})

t.test('rejects an unknown id with not_found, and an invalid actor, reason or version with a TypeError', async (t) => {
  const { users, id, events } = await withAnn(t)
  const acts: Array<(id: string, act?: object) => Promise<unknown>> = [
    async (id, act) => await users.update(id, {}, act),
    users.disable,
    users.enable,
    users.requireReset,
    users.remove
  ]
  for (const act of acts) {
    for (const none of ['nobody', '', 'a\0b', 5 as never]) await t.rejects(act(none), oauth('not_found', 404))
    for (const bad of [
      { by: { type: 'root', id: 'a' } },
      { by: { type: 'user', id: '' } },
      { by: { type: 'user', id: 'x'.repeat(256) } },
      { reason: '' },
      { reason: 'x'.repeat(501) },
      { version: {} },
      { admin: 'a' }
    ])
      await t.rejects(act(id, bad), TypeError, JSON.stringify(bad))
  }
  t.notOk(namesOf({ events }).some((name) => name.startsWith('user_') || name === 'account_removed'))
})

t.test('rejects a call with the name of the method that the user store lacks', async (t) => {
  const { findById, findByUsername } = memoryUserStore([{ id: 'u1', username: 'eve', passwordHash: null }])
  const test = await testApp({ users: { findById, findByUsername } as UserStore })
  t.teardown(test.close)
  const { users } = test.app.authority
  const calls: Record<string, () => Promise<unknown>> = {
    list: async () => await users.list(),
    create: async () => await users.create({ username: ANN }),
    update: async () => await users.update('u1', { username: ANN }),
    setDisabled: async () => {
      await users.disable('u1')
    },
    setPasswordHash: async () => {
      await users.requireReset('u1')
    },
    remove: async () => {
      await users.remove('u1')
    }
  }
  for (const [name, call] of Object.entries(calls))
    await t.rejects(call(), { code: 'FST_AUTHORITY_NOT_SUPPORTED', message: `The user store has no ${name}.` })
  t.match(await users.get('u1'), { username: 'eve' })
})

// covers GHSA-2vg6 ADM-7
t.test('completes a removal when it is repeated after setDisabled or remove failed', async (t) => {
  for (const broken of ['setDisabled', 'remove'] as const) {
    for (const isDone of [false, true]) {
      const store = memoryUserStore()
      let isDown = true
      const users: UserStore = {
        ...store,
        async [broken](...given: [never, never]) {
          if (!isDown) return await store[broken](...given)
          if (isDone) await store[broken](...given)
          throw new Error('down')
        }
      }
      const { app, id } = await withAnn(t, { users })
      await signIn(app, ANN)
      await app.authority.users.remove(id).catch(() => null)
      isDown = false
      await app.authority.users.remove(id).catch((error: unknown) => {
        t.match(error, oauth('not_found', 404))
      })
      t.equal(await store.findById(id), null)
      t.same(await app.authority.sessions(id), [])
      const { id: next } = await app.authority.users.create({ username: ANN })
      t.not(next, id, 'the id does not return')
    }
  }
})

// covers GHSA-2vg6 ADM-7
t.test('ends sessions left by a crash when the removal of the user is repeated', async (t) => {
  const { app, id, store, users } = await withAnn(t)
  await signIn(app, ANN)
  await store.remove(id)
  t.equal((await app.authority.sessions(id)).length, 1)
  await t.rejects(users.remove(id), oauth('not_found', 404))
  t.same(await app.authority.sessions(id), [])
})
