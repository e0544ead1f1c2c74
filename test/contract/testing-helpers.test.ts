import t from '../support/tap.ts'
import { signUp, testApp } from '../support/app.ts'
import { isOutage } from '../../lib/ports/outage.ts'
import { authAs, capturedMessages, fastHasher, losesAnswers, sessionAs, steppedClock } from '../../lib/testing/index.ts'

t.test('steppedClock stands still, steps both clocks, and sets the wall clock alone', async (t) => {
  const clock = steppedClock(1000)
  const monotonic = clock.monotonic()
  t.same([clock.now(), clock.now()], [1000, 1000])
  clock.step(5)
  t.same([clock.now(), clock.monotonic() - monotonic], [1005, 5])
  clock.setWall(10)
  t.same([clock.now(), clock.monotonic() - monotonic], [10, 5])
  clock.step(1)
  t.same([clock.now(), clock.monotonic() - monotonic], [11, 6])
  for (const ms of [-1, NaN])
    t.throws(() => {
      clock.step(ms)
    }, RangeError)
})

t.test('steppedClock runs due timers in order, each at its time', async (t) => {
  const clock = steppedClock(0)
  const ran: string[] = []
  const note = (name: string) => () => {
    ran.push(`${name}@${clock.now()}`)
  }
  clock.after(20, note('b'))
  clock.after(10, () => {
    note('a')()
    clock.after(5, note('a2'))
    clock.after(100, note('late'))
  })
  clock.after(20, note('c'))
  const undo = clock.after(10, note('undone'))
  undo()
  clock.step(9)
  t.same(ran, [])
  clock.step(1)
  t.same(ran, ['a@10'])
  clock.step(90)
  t.same(ran, ['a@10', 'a2@15', 'b@20', 'c@20'])
  t.equal(clock.now(), 100)
  clock.setWall(0)
  clock.step(10)
  t.equal(ran.at(-1), 'late@10', 'what waits follows the monotonic clock')
})

t.test('fastHasher imitates argon2id, and distinguishes password, pepper and parameters', async (t) => {
  const hasher = fastHasher()
  const parameters = { memoryCost: 19456, timeCost: 2, parallelism: 1 }
  const pepper = Buffer.from('pepper')
  const encoded = await hasher.hash('password', parameters, pepper)
  t.match(encoded, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
  t.not(await hasher.hash('password', parameters, pepper), encoded, 'a fresh salt')
  for (const [password, secret, string, expected] of [
    ['password', pepper, encoded, true],
    ['Password', pepper, encoded, false],
    ['password', undefined, encoded, false],
    ['password', Buffer.from('other'), encoded, false],
    ['password', pepper, encoded.replace('m=19456', 'm=19457'), false],
    ['password', pepper, encoded.replace('argon2id', 'argon2i'), false]
  ] as const)
    t.equal(await hasher.verify(string, password, secret), expected)
  await t.rejects(hasher.verify('$2b$10$x', 'password'), TypeError)
  t.same(hasher.calls, { hash: 2, verify: 7 })
})

t.test('capturedMessages returns each message once, and waits for the next one', async (t) => {
  const { send, messages, next } = capturedMessages()
  const common = {
    user: { id: 'a', username: 'alice' },
    locale: 'en',
    url: 'https://auth.example/',
    expiresAt: new Date(0)
  }
  await send({ kind: 'verify_email', ...common, token: '1' })
  await send({ kind: 'password_reset', ...common, token: '2' })
  t.equal((await next('password_reset')).token, '2')
  t.equal((await next()).token, '1')
  const [reset, any] = [next('password_reset'), next()]
  await send({ kind: 'verify_email', ...common, token: '3' })
  await send({ kind: 'password_reset', ...common, token: '4' })
  t.same([(await reset).token, (await any).token], ['4', '3'])
  t.same(
    messages.map(({ token }) => token),
    ['1', '2', '3', '4']
  )
})

t.test('authAs returns an authorization header for inject', async (t) => {
  const app = { authority: { issueTokens: async (userId: string) => ({ access_token: `token-of-${userId}` }) } }
  t.same(await authAs(app, { id: 'a' }), { authorization: 'Bearer token-of-a' })
})

// covers H13
t.test('authAs issues a token for scope and client, and sessionAs returns a signed-in browser', async (t) => {
  const clients = [{ clientId: 'spa', scopes: ['openid', 'admin'], redirectUris: ['https://app.example/cb'] }]
  for (const issuer of ['http://localhost:3000', 'https://auth.example.com']) {
    const { app, events, close } = await testApp(
      { issuer, clients, scopes: ['openid', 'email', 'admin'], rateLimit: { login: { max: 1 } } },
      {},
      (host) => {
        host.get(
          '/account',
          {
            onRequest: async (request, reply) => {
              await app.authority.readSession(request, reply)
            }
          },
          async (request) => request.authSession
        )
      }
    )
    t.teardown(close)
    const { sub: id } = await signUp(app)
    events.length = 0
    const claimsOf = async (options?: Parameters<typeof authAs>[2]): Promise<Record<string, unknown>> =>
      (await app.inject({ url: '/me', headers: await authAs(app, { id }, options) })).json()
    t.match(await claimsOf(), { sub: id, scope: 'openid email admin', client_id: undefined })
    t.match(await claimsOf({ scope: 'email' }), { scope: 'email', client_id: undefined })
    t.match(await claimsOf({ client: 'spa' }), { scope: 'openid admin', client_id: 'spa' })
    t.match(await claimsOf({ client: { clientId: 'spa' }, scope: 'admin' }), { scope: 'admin', client_id: 'spa' })
    t.match(await claimsOf({ client: undefined, scope: undefined }), {
      scope: 'openid email admin',
      client_id: undefined
    })
    t.equal(
      (await app.inject({ url: '/admin', headers: await authAs(app, { id }, { scope: 'admin' }) })).statusCode,
      200
    )
    t.equal(
      (await app.inject({ url: '/admin', headers: await authAs(app, { id }, { scope: 'email' }) })).statusCode,
      403
    )
    for (const [options, error] of [
      [{ client: 'nobody' }, 'invalid_client'],
      [{ scope: 'root' }, 'invalid_scope'],
      [{ scope: '' }, 'invalid_scope'],
      [{ client: 'spa', scope: 'email' }, 'invalid_scope']
    ] as const)
      await t.rejects(authAs(app, { id }, options), { error } as unknown as Error)
    await t.rejects(authAs(app, { id: 'nobody' }), { error: 'invalid_grant' } as unknown as Error)

    const headers = await sessionAs(app, { id })
    t.match((await app.inject({ url: '/account', headers })).json(), { sub: id })
    t.equal(
      (
        await app.inject({
          method: 'POST',
          url: '/auth/logout',
          headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
          payload: 'decision=sign_out'
        })
      ).statusCode,
      200,
      'it may post our forms'
    )
    t.equal((await app.inject({ url: '/account', headers })).json(), null)
    await t.rejects(sessionAs(app, { id: 'nobody' }), { error: 'invalid_grant' } as unknown as Error)
    t.notOk(
      events.some(({ name }) => name === 'rate_limited' || name === 'login_failed'),
      'no attempt'
    )
  }
})

t.test('losesAnswers simulates lost answers and calls of a store', async (t) => {
  /** A store that adds up its completed calls. */
  const counting = () => {
    let done = 0
    const add = async (by: { by: number }): Promise<number> => (done += by.by)
    return { add, count: () => done, inner: { add }, name: 'counting' }
  }
  const outcomeOf = async (call: Promise<unknown>): Promise<unknown> =>
    await call.catch((error: unknown) => (isOutage(error) ? String(error) : 'another error'))
  const outcomesOf = async (times: number, add: (by: { by: number }) => Promise<number>): Promise<unknown[]> => {
    const outcomes = []
    for (let turn = 0; turn < times; turn++) outcomes.push(await outcomeOf(add({ by: 1 })))
    return outcomes
  }

  t.test('loses every third answer after the call completed', async (t) => {
    const store = losesAnswers(counting())
    t.strictSame(await outcomesOf(4, store.add), [1, 2, 'Error: The answer of call 3 was lost.', 4])
    t.equal(store.lost(), 1)
  })
  t.test('loses calls before they run', async (t) => {
    const store = losesAnswers(counting(), { everyAnswer: 0, everyCall: 2 })
    t.strictSame(await outcomesOf(3, store.add), [1, 'Error: Call 2 was lost before it was done.', 2])
  })
  t.test('loses calls of the named methods only, also in inner objects', async (t) => {
    const store = losesAnswers(counting(), { methods: ['add'], everyAnswer: 2 })
    t.strictSame([store.count(), store.count(), store.name], [0, 0, 'counting'])
    t.equal(await store.inner.add({ by: 1 }), 1)
    t.equal(await outcomeOf(store.add({ by: 1 })), 'Error: The answer of call 2 was lost.')
  })
  t.test('lets a repeated call through', async (t) => {
    const store = losesAnswers(counting(), { everyAnswer: 1 })
    const by = { by: 1 }
    t.equal(await outcomeOf(store.add(by)), 'Error: The answer of call 1 was lost.')
    t.equal(await store.add(by), 2)
  })
  t.test('leaves the given store unchanged', async (t) => {
    const store = counting()
    losesAnswers(store)
    t.strictSame(Object.keys(store), ['add', 'count', 'inner', 'name'])
  })
})
