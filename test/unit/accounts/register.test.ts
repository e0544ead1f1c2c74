import t from '../../support/tap.ts'
import { authenticatePassword } from '../../../lib/accounts/authenticate-password.ts'
import { register } from '../../../lib/accounts/register.ts'
import { confirmPasswordReset } from '../../../lib/accounts/reset-password.ts'
import { verifyEmail } from '../../../lib/accounts/verify-email.ts'
import type { OAuthErrorOptions } from '../../../lib/errors.ts'
import type { NewUser } from '../../../lib/ports/user-store.ts'
import { INVALID_LINK, NEXT_PASSWORD, origin, outcomeOf, PASSWORD, world, WRONG_LOGIN } from './world.ts'

const ada = { username: 'ada@example.com', password: PASSWORD, fields: {}, origin }

t.test('creates a user with a username in lower case, and sends a verification link', async (t) => {
  const w = await world()
  const result = await register({ ...ada, username: 'Ada@Example.COM', fields: { name: 'Ada' } }, w.deps)
  if (result.user === null) return t.fail('pending')
  t.match(result.user, { username: 'ada@example.com', email: 'ada@example.com', emailVerified: false, name: 'Ada' })
  t.equal(
    (await authenticatePassword({ username: 'ada@example.com', password: PASSWORD, clientId: null, origin }, w.deps))
      .id,
    result.user.id
  )
  t.strictSame(w.told, [
    { name: 'registered', payload: { time: w.now(), ...origin, userId: result.user.id, username: 'ada@example.com' } },
    {
      name: 'message_sent',
      payload: { time: w.now(), ...origin, kind: 'verify_email', userId: result.user.id, attempts: 1 }
    }
  ])
  await w.idle()
  t.strictSame(
    w.messages.map(({ kind }) => kind),
    ['verify_email'],
    'the address can be confirmed, though nothing waits for it'
  )
})

// covers ADV-CVE-2023-4918
t.test('ignores protected fields, and gives the store no plain password', async (t) => {
  let given: NewUser | undefined
  const w = await world({
    users: (store) => ({
      ...store,
      create: async (user) => {
        given = user
        return await store.create(user)
      }
    })
  })
  const fields = JSON.parse(
    '{"id":"root","sub":"root","username":"root","password":"p","passwordHash":"h","disabled":false,"emailVerified":true,"email_verified":true,"__proto__":{"admin":true},"name":"Ada"}'
  ) as Record<string, unknown>
  await register({ ...ada, fields }, w.deps)
  t.strictSame(
    Object.keys(given ?? {}).toSorted((a, b) => a.localeCompare(b)),
    ['email', 'emailVerified', 'name', 'passwordHash', 'username']
  )
  t.match(given, { username: 'ada@example.com', emailVerified: false, passwordHash: /^\$argon2id\$/ })
  t.notMatch(JSON.stringify(given), PASSWORD)
})

// covers ASVS-2.2.1
t.test('rejects an invalid username, address or password before hashing', async (t) => {
  const w = await world({ verifyEmail: true })
  const table: Array<[string, Partial<typeof ada> & { fields?: Record<string, unknown> }, string, RegExp]> = [
    ['control characters', { username: 'ada\r\n@example.com' }, 'invalid_request', /^username:/],
    ['too short', { username: 'ad' }, 'invalid_request', /^username:/],
    ['an address list', { username: 'ada@example.com,eve@example.com' }, 'invalid_request', /^username:/],
    ['no address, but needed', { username: 'ada' }, 'invalid_request', /^email:/],
    ['no address', { username: 'ada', fields: { email: 'ada at example.com' } }, 'invalid_request', /^email:/],
    ['no text', { username: 'ada', fields: { email: ['ada@example.com'] } }, 'invalid_request', /^email:/],
    ['another address than the name is', { fields: { email: 'eve@example.com' } }, 'invalid_request', /^email:/],
    ['a common password', { password: 'password1' }, 'invalid_password', /common/],
    ['a password made of the name', { password: 'ada@example.com' }, 'invalid_password', /username/]
  ]
  for (const [name, change, error, message] of table) {
    const { outcome, hashes } = await w.hashesOf(() => register({ ...ada, ...change }, w.deps))
    t.match(outcome, { error, message, statusCode: 400 }, name)
    t.equal(hashes, 0, name)
  }
})

t.test('names the field and the reason when it rejects a registration', async (t) => {
  const w = await world({ verifyEmail: true })
  const table: Array<
    [
      Partial<typeof ada> & { fields?: Record<string, unknown> },
      Pick<OAuthErrorOptions, 'field' | 'reason'> & { error?: string }
    ]
  > = [
    [{ username: 'ada\r\n@example.com' }, { field: 'username', reason: 'characters' }],
    [{ username: 'ad' }, { field: 'username', reason: 'username_form' }],
    [{ username: 'ada@example' }, { field: 'username', reason: 'email_form' }],
    [{ username: 'ada' }, { field: 'email', reason: 'required' }],
    [
      { username: 'ada', fields: { email: 'ada at example.com' } },
      { field: 'email', reason: 'email_form' }
    ],
    [{ fields: { email: 'eve@example.com' } }, { field: 'email', reason: 'email_differs' }],
    [{ password: 'password1' }, { error: 'invalid_password', reason: 'too_common' }]
  ]
  for (const [change, error] of table)
    t.match(
      await register({ ...ada, ...change }, w.deps).catch((error: unknown) => error),
      error,
      JSON.stringify(change)
    )
  const open = await world()
  await register(ada, open.deps)
  t.match(await register(ada, open.deps).catch((error: unknown) => error), {
    error: 'username_taken',
    field: 'username'
  })
})

t.test('converts the email field to lower case and its domain to ASCII', async (t) => {
  const w = await world()
  const result = await register({ ...ada, username: 'ada', fields: { email: 'Ada@Bücher.example' } }, w.deps)
  t.match(result, { user: { username: 'ada', email: 'ada@xn--bcher-kva.example' } })
  t.match(await register({ ...ada, username: 'bob' }, w.deps), { user: { username: 'bob' } }, 'none is needed')
})

// covers ASVS-6.3.8
t.test('rejects a taken username after as many hashes as a free one', async (t) => {
  const w = await world()
  const free = await w.hashesOf(() => register(ada, w.deps))
  const taken = await w.hashesOf(() => register({ ...ada, username: 'ADA@example.com' }, w.deps))
  t.strictSame(taken, {
    hashes: free.hashes,
    outcome: { error: 'username_taken', message: 'The username is taken.', statusCode: 409, headers: {} }
  })
  t.equal(w.count('registered'), 1)
})

// covers ASVS-2.3.4
t.test('registers a username once in 50 parallel registrations', async (t) => {
  const w = await world()
  const outcomes = await Promise.all(Array.from({ length: 50 }, () => outcomeOf(register(ada, w.deps))))
  t.equal(outcomes.filter((outcome) => outcome === 'done').length, 1)
  t.equal(w.count('registered'), 1)
})

t.test('passes a store error on instead of reporting a taken username', async (t) => {
  const w = await world({
    verifyEmail: true,
    users: (store) => ({
      ...store,
      create: async () => {
        throw new Error('down')
      }
    })
  })
  await t.rejects(register(ada, w.deps), { message: 'down' })
})

// covers ASVS-6.3.8
t.test('answers alike for new and taken addresses, and sends different messages', async (t) => {
  const w = await world({ verifyEmail: true })
  const first = await w.hashesOf(async () => {
    t.equal((await register(ada, w.deps)).user, null)
  })
  await w.idle()
  const second = await w.hashesOf(async () => {
    t.equal((await register({ ...ada, password: NEXT_PASSWORD }, w.deps)).user, null)
  })
  await w.idle()
  t.strictSame(first, second)
  t.match(w.messages, [
    {
      kind: 'verify_email',
      user: { email: 'ada@example.com' },
      token: /^[\w-]{16}secret-/,
      url: /verify_email#token=/,
      expiresAt: new Date(w.clock.now() + 86_400_000)
    },
    {
      kind: 'already_registered',
      user: { email: 'ada@example.com' },
      token: /^[\w-]{16}secret-/,
      url: /password_reset#token=/,
      expiresAt: new Date(w.clock.now() + 1_800_000)
    }
  ])
  t.equal(w.messages.length, 2)
  t.equal(w.count('registered'), 1)
})

t.test('signs a user in only after the address is verified', async (t) => {
  const w = await world({ verifyEmail: true })
  await register(ada, w.deps)
  await w.idle()
  const login = (): Promise<unknown> =>
    authenticatePassword({ username: ada.username, password: PASSWORD, clientId: null, origin }, w.deps)
  t.match(await outcomeOf(login()), { error: 'invalid_grant', message: /not confirmed yet/ })
  await verifyEmail({ token: w.messages[0]?.token ?? '', origin }, w.deps)
  t.equal(await outcomeOf(login()), 'done')
})

// covers ASVS-6.3.8
t.test('answers alike for new and taken addresses when sending email throws, rejects or hangs', async (t) => {
  for (const sendMessage of [
    () => {
      throw new Error('no')
    },
    async () => {
      throw new Error('no')
    },
    () => new Promise<void>(() => {})
  ]) {
    const w = await world({ verifyEmail: true, sendMessage })
    t.equal((await register(ada, w.deps)).user, null)
    await w.idle()
    t.equal((await register(ada, w.deps)).user, null)
    await w.idle()
  }
})

// covers ASVS-6.3.8
t.test('answers alike for new and taken addresses when the token store fails, and reports the errors', async (t) => {
  const w = await world({ verifyEmail: true })
  const deps = {
    ...w.deps,
    oneTimeTokens: {
      ...w.state.oneTimeTokens,
      put: async () => {
        throw new Error('down')
      }
    }
  }
  t.equal((await register(ada, deps)).user, null)
  await w.idle()
  t.equal((await register(ada, deps)).user, null)
  await w.idle()
  // One error of the first registration, and two of the second: one before its answer and one after it.
  t.equal(w.errors.length, 3)
  t.strictSame(w.messages, [])
})

// covers ADV-CVE-2026-53516
t.test('pre-hijack: gives the owner of a mailbox the account that a stranger registered', async (t) => {
  const w = await world({ verifyEmail: true })
  const STRANGERS = 'what the stranger chose'
  await register({ ...ada, password: STRANGERS }, w.deps)
  await w.idle()
  t.equal((await register(ada, w.deps)).user, null, 'the owner registers')
  await w.idle()
  const [strangers, owners] = w.messages
  t.strictSame(
    await outcomeOf(verifyEmail({ token: strangers?.token ?? '', origin }, w.deps)),
    INVALID_LINK,
    'the link of the stranger no longer verifies the password of the stranger'
  )

  const { id } = (await w.store.findByUsername(ada.username)) ?? { id: '' }
  await w.addSession(id, 'stranger')
  await confirmPasswordReset({ token: owners?.token ?? '', password: NEXT_PASSWORD, origin }, w.deps)
  const login = (password: string): Promise<unknown> =>
    authenticatePassword({ username: ada.username, password, clientId: null, origin }, w.deps)
  t.strictSame(await outcomeOf(login(STRANGERS)), WRONG_LOGIN)
  t.strictSame(await outcomeOf(login(PASSWORD)), WRONG_LOGIN)
  t.equal(await outcomeOf(login(NEXT_PASSWORD)), 'done', 'verified by the link')
  t.strictSame(await w.sids(id), [])
  t.equal(w.count('email_verified'), 1)
  for (const secret of [...w.secrets, PASSWORD, STRANGERS, NEXT_PASSWORD, '$argon2'])
    t.notOk(JSON.stringify(w.told).includes(secret), 'no secret in an event')
})

t.test('keeps the account of a verified owner when a stranger registers the name', async (t) => {
  const w = await world({ verifyEmail: true })
  const user = await w.addUser({ emailVerified: true })
  await w.addSession(user.id, 'mine')
  await register({ ...ada, password: NEXT_PASSWORD }, w.deps)
  await w.idle()
  t.equal(await w.passwordHashOf(user.id), user.passwordHash)
  t.strictSame(await w.sids(user.id), ['mine'])
})

t.test('answers a registration for a disabled account like a new one, and sends no message', async (t) => {
  const w = await world({ verifyEmail: true })
  await w.addUser({ disabled: true })
  t.equal((await register(ada, w.deps)).user, null)
  await w.idle()
  t.strictSame(w.messages, [])
})
