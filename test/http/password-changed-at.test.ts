import t from '../support/tap.ts'
import { memoryUserStore } from '../../lib/adapters/memory/user-store.ts'
import type { UserStore } from '../../lib/ports/user-store.ts'
import { bearer, PASSWORD, signIn, signUp, testApp } from '../support/app.ts'

/** A host's store, whose rows say when the password changed. */
function tellingStore(): { users: UserStore; tell: (at: unknown) => void } {
  const users = memoryUserStore()
  let at: unknown
  const withTime = (user: Awaited<ReturnType<UserStore['findById']>>) =>
    user === null ? null : { ...user, passwordChangedAt: at as number }
  return {
    users: {
      ...users,
      findById: async (id) => withTime(await users.findById(id)),
      findByUsername: async (name) => withTime(await users.findByUsername(name))
    },
    tell: (given) => {
      at = given
    }
  }
}

// covers B2
t.test('rejects a session from before passwordChangedAt, given as a number or a Date', async (t) => {
  const forms: Array<[string, (at: number) => unknown]> = [
    ['a number', (at) => at],
    ['a Date', (at) => new Date(at)]
  ]
  for (const [form, of] of forms) {
    const { users, tell } = tellingStore()
    const { app, clock, close } = await testApp({ users })
    await signUp(app)
    const before = await signIn(app)
    clock.step(1000)
    const now = clock.now()
    const refresh = async (token: string) =>
      (await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(token) })).statusCode
    tell(of(now - 1000))
    t.equal(await refresh(before.refresh_token), 200, `${form}: of the same millisecond`)
    tell(of(now))
    t.equal(
      (await app.inject({ url: '/auth/userinfo', headers: bearer(before.access_token) })).statusCode,
      401,
      `${form}: userinfo`
    )
    t.equal(
      (await app.inject({ url: '/auth/sessions', headers: bearer(before.access_token) })).statusCode,
      401,
      `${form}: sessions`
    )
    t.equal(await refresh(before.refresh_token), 401, form)
    tell(null)
    t.equal(await refresh(before.refresh_token), 401, `${form}: its family has ended`)
    tell(of(now))
    t.equal(await refresh((await signIn(app)).refresh_token), 200, `${form}: a new sign-in`)
    await close()
  }
})

// covers B2
t.test('answers 500 for an invalid passwordChangedAt, and accepts a missing one', async (t) => {
  for (const [at, expected] of [
    [undefined, 200],
    [null, 200],
    ['2026-01-01', 500],
    [Number.NaN, 500],
    [new Date('no date'), 500],
    [{}, 500]
  ] as const) {
    const { users, tell } = tellingStore()
    const { app, close } = await testApp({ users })
    await signUp(app)
    const { refresh_token: token } = await signIn(app)
    tell(at)
    const reply = await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(token) })
    t.equal(reply.statusCode, expected, JSON.stringify(at))
    await close()
  }
})

// covers B2
t.test('keeps the session that changes the password, with its refresh token family', async (t) => {
  const { app, clock, close } = await testApp()
  await signUp(app)
  const [mine, other] = [await signIn(app), await signIn(app)]
  clock.step(1000)
  const reply = await app.inject({
    method: 'POST',
    url: '/auth/password',
    headers: bearer(mine.access_token),
    payload: { current_password: PASSWORD, new_password: 'a wholly new password' }
  })
  t.equal(reply.statusCode, 204)
  const refresh = async (token: string) =>
    (await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(token) })).statusCode
  t.equal(await refresh(mine.refresh_token), 200)
  t.equal(await refresh(other.refresh_token), 401)
  t.equal((await app.inject({ url: '/auth/userinfo', headers: bearer(mine.access_token) })).statusCode, 200)
  await close()
})
