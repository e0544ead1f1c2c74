import { generateKeyPairSync, sign } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import t from '../support/tap.ts'
import { memoryState, memoryUserStore } from '../../lib/index.ts'
import { memoryRecords } from '../../lib/adapters/memory/record-store.ts'
import type { RecordStore } from '../../lib/ports/record-store.ts'
import { partitionOf } from '../../lib/protocol/digest.ts'
import { recordState } from '../../lib/records/state.ts'
import { bearer, ISSUER, PASSWORD, signIn, signUp, testApp } from '../support/app.ts'
import { processorSeconds } from '../support/in-time.ts'
import { encodePart } from '../support/jwt.ts'

const json = { 'content-type': 'application/json' }
const form = { 'content-type': 'application/x-www-form-urlencoded' }

t.test('DOS-huge-password hashes no password of more than 1024 bytes', async (t) => {
  const { app, hasher, close } = await testApp()
  t.teardown(close)
  const hashed: number[] = []
  const hash = hasher.hash.bind(hasher)
  Object.assign(hasher, {
    async hash(password: string, ...rest: [Parameters<typeof hash>[1], Parameters<typeof hash>[2]]) {
      hashed.push(Buffer.byteLength(password))
      return await hash(password, ...rest)
    }
  })
  const register = async (password: string) =>
    await app.inject({ method: 'POST', url: '/auth/register', payload: { username: 'ann', password } })
  const distinct = (bytes: number): string =>
    Array.from({ length: bytes }, (_, i) => 'abcdefghijklmnopqrstuvwxyz'[(i * i + (i >> 3)) % 26]).join('')
  t.equal((await register(distinct(1025))).json().error, 'invalid_password')
  t.equal((await register(`${distinct(1022)}\u20ac`)).json().error, 'invalid_password', 'bytes count, not characters')
  t.equal((await register('x'.repeat(16_000))).json().error, 'invalid_password')
  t.equal((await register('x'.repeat(17_000))).statusCode, 413)
  t.equal((await register('x'.repeat(1_048_576))).statusCode, 413)
  t.same(
    hashed.filter((bytes) => bytes > 100),
    []
  )
  t.equal((await register(distinct(1024))).statusCode, 201, 'the last that fits')
  t.equal(
    (
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'password', username: 'ann', password: `${distinct(1024)}x` }
      })
    ).json().error,
    'invalid_grant',
    'ASVS-6.2.8 never cut'
  )
  t.equal((await signIn(app, 'ann', distinct(1024))).token_type, 'Bearer')
})

t.test('DOS-depth A12 answers 400 to deeply nested JSON without counting it in a rate limit', async (t) => {
  const fields = Type.Object({ extra: Type.Optional(Type.Any()) })
  const { app, close } = await testApp({ registration: { fields }, rateLimit: { register: { max: 3 } } })
  t.teardown(close)
  const register = async (username: string, extra: string): Promise<number> =>
    (
      await app.inject({
        method: 'POST',
        url: '/auth/register',
        headers: json,
        payload: `{"username":"${username}","password":"${PASSWORD}","extra":${extra}}`
      })
    ).statusCode
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
  for (const deep of [nested(7900), '{"a":'.repeat(2000) + '1' + '}'.repeat(2000), nested(32)]) {
    for (let time = 0; time < 2; time++) t.equal(await register('ann', deep), 400)
  }
  t.equal(await register('ann', nested(31)), 201)
  t.equal(await register('bob', `"${'['.repeat(100)}"`), 201, 'brackets in a text are no depth')
  for (const url of ['/auth/token', '/auth/revoke', '/auth/password-reset', '/auth/email/verify'])
    t.equal((await app.inject({ method: 'POST', url, headers: json, payload: nested(7900) })).statusCode, 400, url)
})

// covers A5
t.test('counts a sign-in attempt that fails by a host error, but not one that fails by an outage', async (t) => {
  const users = memoryUserStore()
  let failure: Error | null = null
  const { app, close } = await testApp({
    rateLimit: { login: { max: 2 } },
    users: {
      ...users,
      async findByUsername(name) {
        if (failure !== null) throw failure
        return await users.findByUsername(name)
      }
    }
  })
  t.teardown(close)
  await signUp(app)
  const attempt = async (thrown: Error | null): Promise<number> => {
    failure = thrown
    return (
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'password', username: 'ann', password: PASSWORD }
      })
    ).statusCode
  }
  const outages = [
    Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }),
    Object.assign(new Error("a driver's own"), { isOutage: true }),
    new TypeError('fetch failed', { cause: Object.assign(new Error('gone'), { code: 'UND_ERR_SOCKET' }) })
  ]
  for (const outage of outages) for (let time = 0; time < 3; time++) t.equal(await attempt(outage), 503, outage.message)
  t.equal(await attempt(new TypeError('Cannot read properties of undefined')), 500)
  t.equal(await attempt(new Error('of whatever kind')), 503)
  t.equal(await attempt(null), 429)
})

t.test('DOS-body refuses bodies over 16 kB, and over 4 kB for a refresh', async (t) => {
  const { app, close } = await testApp()
  t.teardown(close)
  const rows = [
    ['/auth/token', 16_384],
    ['/auth/register', 16_384],
    ['/auth/password-reset', 16_384],
    ['/auth/password-reset/confirm', 16_384],
    ['/auth/email/verify', 16_384],
    ['/auth/refresh', 4096]
  ] as const
  for (const [url, limit] of rows) {
    t.not(
      (await app.inject({ method: 'POST', url, headers: json, payload: `"${'x'.repeat(limit - 2)}"` })).statusCode,
      413,
      url
    )
    t.equal(
      (await app.inject({ method: 'POST', url, headers: json, payload: `"${'x'.repeat(limit - 1)}"` })).statusCode,
      413,
      url
    )
  }
})

t.test(
  'DOS-stored-hash-bomb verifies a decoy instead of a stored hash with excessive cost or an unknown format',
  async (t) => {
    const tail = '$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'
    const bombs = {
      memory: `$argon2id$v=19$m=4194304,t=2,p=1${tail}`,
      time: `$argon2id$v=19$m=19456,t=4000000,p=1${tail}`,
      lanes: `$argon2id$v=19$m=19456,t=2,p=255${tail}`,
      bcrypt: `$2b$31$${'a'.repeat(53)}`,
      scrypt: '$scrypt$ln=30,r=8,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
      text: PASSWORD,
      empty: ''
    }
    const { app, hasher, events, close } = await testApp({
      users: memoryUserStore(
        Object.entries(bombs).map(([username, passwordHash]) => ({ id: username, username, passwordHash }))
      )
    })
    t.teardown(close)
    await app.inject({
      method: 'POST',
      url: '/auth/token',
      payload: { grant_type: 'password', username: 'warm', password: 'up and running' }
    })
    for (const username of Object.keys(bombs)) {
      const before = hasher.calls.verify
      events.length = 0
      const seconds = await processorSeconds(async () => {
        const reply = await app.inject({
          method: 'POST',
          url: '/auth/token',
          payload: { grant_type: 'password', username, password: PASSWORD }
        })
        t.equal(reply.json().error, 'invalid_grant', username)
      })
      t.equal(hasher.calls.verify - before, 1, `${username}: one decoy`)
      t.ok(seconds < 1, `${username}: ${seconds} s`)
      t.match(events, [{ name: 'login_failed', payload: { reason: 'unusable_hash' } }], `${username}: ASVS-11.2.5`)
    }
  }
)

t.test(
  'DOS-json ASVS-1.4.2 ASVS-15.2.2 answers 400 to deep, wide and hostile JSON within a second of processor time',
  async (t) => {
    const { app, close } = await testApp()
    t.teardown(close)
    const bodies = {
      deep: `${'['.repeat(8000)}${']'.repeat(8000)}`,
      'deep object': `${'{"a":'.repeat(2500)}1${'}'.repeat(2500)}`,
      'deep value': `{"grant_type":"password","username":${'['.repeat(7000)}${']'.repeat(7000)},"password":"x"}`,
      wide: `{${Array.from({ length: 1500 }, (_, i) => `"k${i}":1`).join(',')}}`,
      quotes: `{${'"'.repeat(16_000)}}`,
      backslashes: `{"${'\\'.repeat(16_000)}"}`,
      spaces: `{"grant_type"${' '.repeat(16_000)}`,
      '1e400': '{"grant_type":1e400}',
      __proto__: '{"__proto__":{"grant_type":"password"},"username":"ann","password":"x"}',
      constructor: '{"constructor":{"prototype":{"grant_type":"password"}},"username":"ann","password":"x"}'
    }
    for (const url of ['/auth/token', '/auth/register', '/auth/password-reset']) {
      for (const [what, payload] of Object.entries(bodies)) {
        const seconds = await processorSeconds(async () => {
          const reply = await app.inject({ method: 'POST', url, headers: json, payload })
          t.equal(reply.statusCode, 400, `${url}: ${what}`)
          t.equal(reply.json().error, 'invalid_request', `${url}: ${what}`)
        })
        t.ok(seconds < 1, `${url}: ${what}: ${seconds} s`)
      }
    }
    t.equal(
      ({} as Record<string, unknown>)['grant_type'],
      undefined,
      'ASVS-15.3.6 nobody wrote to the prototype of all'
    )
  }
)

t.test('DOS-form-keys accepts at most 64 parameters in a form', async (t) => {
  const { app, close } = await testApp()
  t.teardown(close)
  await signUp(app)
  const body = (extra: number): string =>
    `grant_type=password&username=ann&password=${encodeURIComponent(PASSWORD)}${Array.from({ length: extra }, (_, i) => `&k${i}=1`).join('')}`
  t.equal((await app.inject({ method: 'POST', url: '/auth/token', headers: form, payload: body(61) })).statusCode, 200)
  t.equal(
    (await app.inject({ method: 'POST', url: '/auth/token', headers: form, payload: body(62) })).json().error,
    'invalid_request'
  )
  t.equal(
    (
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        headers: form,
        payload: `${body(0)}&__proto__=1&constructor=2&hasOwnProperty=3`
      })
    ).statusCode,
    200,
    'ASVS-15.3.6'
  )
})

t.test('DOS-jwt R8725-bis refuses an oversized or malformed token even when its signature is valid', async (t) => {
  const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const { app, clock, close } = await testApp({
    keys: [{ ...key.export({ format: 'jwk' }), alg: 'ES256', kid: 'k' }]
  })
  t.teardown(close)
  const { sub } = await signUp(app)
  const now = Math.floor(clock.now() / 1000)
  const good = { iss: ISSUER, aud: ISSUER, sub, jti: 'j', iat: now, exp: now + 900 }
  const tokenOf = (claims: object, header: object = {}): string => {
    const signed = `${encodePart({ alg: 'ES256', typ: 'at+jwt', kid: 'k', ...header })}.${encodePart(claims)}`
    return `${signed}.${sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
  }
  const status = async (token: string): Promise<number> =>
    (await app.inject({ url: '/me', headers: bearer(token) })).statusCode
  /** A token of exactly this length. */
  const padded = (length: number): string => {
    const rest = length - tokenOf({ ...good, x: '' }).length
    const token = tokenOf({ ...good, x: 'x'.repeat(Math.floor((rest * 3) / 4)) })
    return token.length === length
      ? token
      : tokenOf({ ...good, x: 'x'.repeat(Math.floor((rest * 3) / 4) + length - token.length) })
  }
  t.equal(await status(tokenOf(good)), 200)
  t.equal(await status(padded(8192)), 200, 'the longest')
  for (const verify of [
    status,
    async (token: string) =>
      await app.authority.verify(token).then(
        () => 200,
        (error: { statusCode: number }) => error.statusCode
      )
  ]) {
    t.equal(await verify(padded(8200)), 401, 'a longer one')
    t.equal(await verify(tokenOf(good, { x: 'x'.repeat(600) })), 200, 'a long header')
    t.equal(await verify(tokenOf(good, { x: 'x'.repeat(800) })), 401, 'a longer one')
    for (const [what, token] of Object.entries({
      'a fourth part': `${tokenOf(good)}.e30`,
      'a dot at its end': `${tokenOf(good)}.`,
      'a dot before': `.${tokenOf(good)}`,
      'two parts': tokenOf(good).split('.').slice(0, 2).join('.')
    }))
      t.equal(await verify(token), 401, what)
  }
})

t.test('DOS-jwt R8725-bis does not read the key store for malformed tokens', async (t) => {
  const state = memoryState()
  let looks = 0
  const list = state.keys.list.bind(state.keys)
  const { app, clock, close } = await testApp({
    secret: 'a secret of at least 32 bytes, for tests',
    state: {
      ...state,
      keys: {
        ...state.keys,
        async list() {
          looks++
          return await list()
        }
      }
    }
  })
  t.teardown(close)
  await signUp(app)
  // The key ring reads its store once a minute, and at most every five seconds for an unknown key.
  for (const step of [61_000, 5500]) {
    clock.step(step)
    await signIn(app)
  }
  const unknown = `${encodePart({ alg: 'ES256', typ: 'at+jwt', kid: 'unknown' })}.e30.${'A'.repeat(86)}`
  looks = 0
  const junk = [
    'A'.repeat(8193),
    '.'.repeat(8192),
    'e30.'.repeat(2000),
    `${'e'.repeat(4000)}.${'e'.repeat(4000)}.x`,
    'a.b.c.d.e',
    `e30.e30.${'A'.repeat(8000)}`,
    `${unknown}.e30`,
    `${unknown}${'A'.repeat(9000)}`,
    `${encodePart({ alg: 'ES256', typ: 'at+jwt', kid: 'x'.repeat(900) })}.e30.AA`,
    `${encodePart({ alg: 'ES256', typ: 'JWT', kid: 'unknown' })}.e30.AA`,
    `${encodePart({ alg: 'ES256', typ: 'at+jwt' })}.e30.AA`,
    `${encodePart({ alg: 'ES256', typ: 'at+jwt', kid: 'unknown', jku: 'https://evil.example' })}.e30.AA`
  ]
  for (const token of junk) {
    t.equal((await app.inject({ url: '/me', headers: bearer(token) })).statusCode, 401)
    t.equal(looks, 0, token.slice(0, 80))
  }
  t.equal(looks, 0)
  t.equal((await app.inject({ url: '/me', headers: bearer(unknown) })).statusCode, 401)
  t.equal(looks, 1, 'as a token does that might be good')
})

t.test(
  'DOS-token-store ASVS-2.3.2 ASVS-7.1.2 keeps a hundred sessions after ten thousand sign-ins of one user',
  async (t) => {
    const { app, close } = await testApp()
    t.teardown(close)
    const { sub } = await signUp(app)
    const first = await app.authority.issueTokens(sub)
    for (let i = 0; i < 100; i++)
      await Promise.all(Array.from({ length: 100 }, async () => await app.authority.issueTokens(sub)))
    t.equal((await app.authority.sessions(sub)).length, 100)
    t.equal(
      (await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(first.refresh_token as string) }))
        .statusCode,
      401,
      'the first has gone'
    )
  }
)

t.test('DOS-token-store ASVS-14.2.7 removes all token records of a user after they expire', async (t) => {
  const records = memoryRecords()
  const written = new Set<string>()
  const store: RecordStore = {
    ...records,
    async commit(partition, writes, now) {
      for (const { key } of writes) written.add(key)
      return await records.commit(partition, writes, now)
    }
  }
  const { app, clock, close } = await testApp({ state: recordState(store) })
  t.teardown(close)
  const { sub } = await signUp(app)
  for (let i = 0; i < 50; i++) await app.authority.issueTokens(sub)
  const left = async () =>
    (await records.read(partitionOf(sub), [...written])).flatMap((record, at) =>
      record === null ? [] : [...written][at]
    )
  t.equal((await left()).filter((key) => key?.startsWith('f:')).length, 50)
  const passed = async (ms: number): Promise<void> => {
    clock.step(ms)
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
  }
  await passed(1_209_600_000)
  t.same(await left(), ['i'], 'the index ends when the last of its families could have')
  await passed(90 * 86_400_000)
  t.same(await left(), [])
})

t.test('DOS-token-store keeps only one reset link valid after a thousand requests', async (t) => {
  const state = memoryState()
  const digests: string[] = []
  const { app, clock, close } = await testApp({
    state: {
      ...state,
      oneTimeTokens: {
        ...state.oneTimeTokens,
        async put(token) {
          digests.push(token.digest)
          await state.oneTimeTokens.put(token)
        }
      }
    }
  })
  t.teardown(close)
  await signUp(app, 'ann@example.com')
  for (let i = 0; i < 1000; i++) {
    const { statusCode } = await app.inject({
      method: 'POST',
      url: '/auth/password-reset',
      payload: { username: 'ann@example.com' }
    })
    if (statusCode !== 202) t.fail(`${statusCode}`)
  }
  // Closing sends the remaining messages.
  await close()
  const open = await Promise.all(
    digests.map(async (digest) => await state.oneTimeTokens.find('password_reset', digest, clock.now()))
  )
  t.ok(digests.length > 2)
  t.equal(open.filter((token) => token !== null).length, 1)
})

t.test(
  'DOS-argon2-memory ASVS-15.4.4 ASVS-2.4.1 keeps refresh and token verification working during a flood of sign-ins',
  async (t) => {
    let release = (): void => {}
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    let running = 0
    let most = 0
    const world = await testApp({ password: { concurrency: 2, maxQueue: 10 } })
    t.teardown(world.close)
    const { app, hasher } = world
    await signUp(app)
    const tokens = await signIn(app)
    const verify = hasher.verify.bind(hasher)
    Object.assign(hasher, {
      async verify(...args: Parameters<typeof verify>) {
        most = Math.max(most, ++running)
        await gate
        running -= 1
        return await verify(...args)
      }
    })
    const flood = Array.from(
      { length: 200 },
      async () =>
        await app.inject({
          method: 'POST',
          url: '/auth/token',
          payload: { grant_type: 'password', username: 'ann', password: 'no' }
        })
    )
    // Waits until all are refused except those that run or wait, which takes a while on a busy machine.
    let settled = 0
    for (const one of flood)
      void one.then(() => {
        settled += 1
      })
    while (settled < 188) {
      for (let turn = 0; turn < 20; turn++)
        await new Promise((resolve) => {
          setImmediate(resolve)
        })
      // Each refusal is delayed by less than half a second.
      world.clock.step(500)
    }
    t.equal(
      (await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(tokens.refresh_token) })).statusCode,
      200
    )
    t.equal((await app.inject({ url: '/me', headers: bearer(tokens.access_token) })).statusCode, 200)
    release()
    const replies = await Promise.all(flood)
    t.equal(most, 2)
    t.equal(replies.filter(({ statusCode }) => statusCode === 400).length, 12)
    const refused = replies.filter(({ statusCode }) => statusCode === 503)
    t.equal(refused.length, 188)
    t.ok(refused.every(({ headers }) => Number(headers['retry-after']) > 0))
  }
)

t.test('DOS-jwks allows caching of the key set', async (t) => {
  const { app, close } = await testApp()
  t.teardown(close)
  const reply = await app.inject({ url: '/.well-known/jwks.json' })
  t.match(reply.headers['cache-control'], /^public, max-age=\d+$/)
  t.equal(reply.statusCode, 200)
})
