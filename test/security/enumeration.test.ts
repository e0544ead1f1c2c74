import t from '../support/tap.ts'
import { memoryUserStore } from '../../lib/index.ts'
import { fastHasher } from '../../lib/testing/index.ts'
import { PASSWORD, testApp, type TestApp } from '../support/app.ts'

/** The kinds of accounts behind a username. No response may reveal which kind it is. */
const KINDS = ['known', 'unknown', 'disabled', 'unverified', 'passwordless'] as const
type Kind = (typeof KINDS)[number]
const nameOf = (kind: Kind): string => `${kind}@example.com`

async function people(options: Parameters<typeof testApp>[0] = {}): Promise<TestApp> {
  const hash = await fastHasher().hash(PASSWORD, { memoryCost: 19456, timeCost: 2, parallelism: 1 })
  const row = (kind: Kind, fields: object = {}) => ({
    id: kind,
    username: nameOf(kind),
    email: nameOf(kind),
    emailVerified: true,
    passwordHash: hash,
    ...fields
  })
  const users = memoryUserStore([
    row('known'),
    row('disabled', { disabled: true }),
    row('unverified', { emailVerified: false }),
    row('passwordless', { passwordHash: null })
  ])
  const world = await testApp({ users, registration: { verifyEmail: true }, ...options })
  // Waits for the trial run of the hasher in the background, which would count as a hash.
  await send(
    world,
    '/auth/token',
    { grant_type: 'password', username: 'warm', password: 'up and running' },
    '203.0.113.200'
  )
  return world
}

interface Seen {
  status: number
  headers: object
  body: string
  hashes: number
}

/** Everything that a stranger sees, and the number of hashes. */
async function send(
  { app, hasher }: TestApp,
  url: string,
  payload: object,
  remoteAddress = '192.0.2.1'
): Promise<Seen> {
  const before = hasher.calls.hash + hasher.calls.verify
  const reply = await app.inject({ method: 'POST', url, payload, remoteAddress })
  const { date: _date, ...headers } = reply.headers
  return {
    status: reply.statusCode,
    headers,
    body: reply.body,
    hashes: hasher.calls.hash + hasher.calls.verify - before
  }
}

// covers ENUM-login ASVS-6.3.8
t.test('answers a failed sign-in alike for known, unknown and disabled users, after one hash', async (t) => {
  const world = await people()
  t.teardown(world.close)
  const login = async (kind: Kind, password: string): Promise<Seen> =>
    await send(world, '/auth/token', { grant_type: 'password', username: nameOf(kind), password })
  const expected = await login('known', 'not the password')
  t.equal(expected.status, 400)
  t.equal(expected.hashes, 1)
  for (const kind of KINDS) {
    t.same(await login(kind, 'not the password'), expected, `${kind}, wrong password`)
    if (kind === 'known') continue
    const right = await login(kind, PASSWORD)
    // Only a person who knows the password learns the reason of the refusal.
    if (kind === 'unverified')
      t.match(
        right,
        { status: expected.status, hashes: expected.hashes, body: '"error_reason":"email_not_verified"' },
        'H3'
      )
    else t.same(right, expected, `${kind}, right password`)
  }
  t.equal((await login('known', PASSWORD)).status, 200, 'the control')
})

// covers ENUM-register ASVS-6.3.8
t.test('answers a registration alike for new and existing usernames, after one hash', async (t) => {
  const world = await people()
  t.teardown(world.close)
  const register = async (kind: Kind): Promise<Seen> =>
    await send(world, '/auth/register', { username: nameOf(kind), password: 'a password of a stranger' })
  const expected = await register('unknown')
  t.equal(expected.status, 202)
  t.equal(expected.hashes, 1)
  for (const kind of KINDS) t.same(await register(kind), expected, kind)
})

// covers ENUM-reset ASVS-6.3.8
t.test('answers a reset request alike for existing and unknown usernames, without a hash', async (t) => {
  const world = await people()
  t.teardown(world.close)
  const expected = await send(world, '/auth/password-reset', { username: nameOf('known') })
  t.equal(expected.status, 202)
  t.equal(expected.hashes, 0)
  for (const kind of KINDS)
    t.same(await send(world, '/auth/password-reset', { username: nameOf(kind) }), expected, kind)
  t.same(await send(world, '/auth/password-reset', { username: 'not a name' }), expected, 'a name that nobody can have')
})

// covers ENUM-confirm ENUM-verify ASVS-6.3.8
t.test('answers alike to used, expired and malformed tokens of reset and verification links', async (t) => {
  const world = await people()
  t.teardown(world.close)
  const { app, clock, messages } = world
  const ask = async (kind: Kind): Promise<string> => {
    await send(world, '/auth/password-reset', { username: nameOf(kind) })
    return (await messages.next()).token as string
  }
  const confirm = async (token: string): Promise<Seen> =>
    await send(world, '/auth/password-reset/confirm', { token, password: 'a wholly new password' })
  const used = await ask('known')
  t.equal((await confirm(used)).status, 204)
  await messages.next()
  const replaced = await ask('unverified')
  await ask('unverified')
  const expired = await ask('passwordless')
  clock.step(30 * 60_000)
  const expected = await confirm('A'.repeat(43))
  t.equal(expected.status, 400)
  for (const [what, token] of Object.entries({
    used,
    replaced,
    expired,
    short: 'x',
    long: 'A'.repeat(500),
    'other alphabet': '€'.repeat(43)
  })) {
    t.same(await confirm(token), expected, what)
  }
  const verify = await send(world, '/auth/email/verify', { token: 'A'.repeat(43) })
  for (const [what, token] of Object.entries({ 'a reset token': used, short: 'x', expired }))
    t.same(await send(world, '/auth/email/verify', { token }), verify, `verify: ${what}`)
  t.equal((await app.inject({ url: '/auth/sessions' })).statusCode, 401)
})

// covers RL-27 ENUM-limits
t.test('applies the same limits and headers to known and unknown usernames', async (t) => {
  const world = await people({ rateLimit: {} })
  t.teardown(world.close)
  const course = async (kind: Kind, at: number): Promise<unknown[]> => {
    const seen: unknown[] = []
    // Sends four guesses from each address, so that only the account limit refuses.
    for (let i = 0; i < 12; i++) {
      const { hashes: _hashes, ...answer } = await send(
        world,
        '/auth/token',
        { grant_type: 'password', username: nameOf(kind), password: 'not the password' },
        `10.${at}.${Math.floor(i / 4)}.1`
      )
      seen.push(answer)
    }
    return seen
  }
  const expected = await course('known', 1)
  t.same(
    expected.map((answer) => (answer as Seen).status),
    [...Array<number>(10).fill(400), 429, 429]
  )
  for (const [index, kind] of KINDS.entries())
    if (kind !== 'known') t.same(await course(kind, index + 2), expected, kind)
})

// covers RL-27
t.test('sends no rate-limit header for the limit per account', async (t) => {
  const world = await people({ rateLimit: { login: false } })
  t.teardown(world.close)
  for (let i = 0; i < 11; i++) {
    const { headers } = await send(world, '/auth/token', {
      grant_type: 'password',
      username: nameOf('known'),
      password: 'not the password'
    })
    t.same(
      Object.keys(headers).filter((name) => name.includes('ratelimit')),
      [],
      `attempt ${i + 1}`
    )
  }
})
