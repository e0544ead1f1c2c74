/**
 * Checks the values that a host's stores return. An invalid value is logged as a named error, and grants
 * nothing.
 */
import t, { type Test } from '../support/tap.ts'
import { memoryUserStore, type User, type UserStore } from '../../lib/index.ts'
import { ISSUER, PASSWORD, testApp, type LightMyRequestResponse, type TestApp } from '../support/app.ts'

const ANN = { username: 'ann@example.com', password: PASSWORD }

interface Line {
  level: number
  msg: string
  err?: { code?: string; message?: string }
}
interface Watched extends TestApp {
  lines: Line[]
  /** The logged messages of invalid store results. */
  misfits(): Array<string | undefined>
  signIn(password?: string, username?: string): Promise<LightMyRequestResponse>
}

/** An app with the user ann, whose store `change` replaces after her sign-up. */
async function appOver(
  t: Test,
  change: (users: Required<UserStore>) => Partial<Record<keyof UserStore, unknown>>,
  options: Parameters<typeof testApp>[0] = {}
): Promise<Watched> {
  const users = memoryUserStore() as Required<UserStore>
  let store: Partial<Record<keyof UserStore, unknown>> = users
  const asked = Object.fromEntries(
    (Object.keys(users) as Array<keyof UserStore>).map((name) => [
      name,
      async (...args: unknown[]) => await (store[name] as (...given: unknown[]) => unknown)(...args)
    ])
  ) as unknown as UserStore
  const lines: Line[] = []
  const made = await testApp(
    { users: asked, ...options },
    {
      logger: {
        level: 'info',
        stream: {
          write(line: string) {
            lines.push(JSON.parse(line) as Line)
          }
        }
      }
    }
  )
  t.teardown(made.close)
  await made.app.inject({ method: 'POST', url: '/auth/register', payload: ANN })
  store = { ...users, ...change(users) }
  return {
    ...made,
    lines,
    misfits: () =>
      lines
        .filter(({ level, err }) => level === 50 && err?.code === 'FST_AUTHORITY_STORE_MISFIT')
        .map(({ err }) => err?.message),
    signIn: async (password = PASSWORD, username = ANN.username) =>
      await made.app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'password', username, password }
      })
  }
}

// covers A5
t.test('treats undefined from findByUsername as an unknown user, with the same response and limits', async (t) => {
  const { signIn, lines } = await appOver(
    t,
    (users) => ({
      findByUsername: async (name: string) => (await users.findByUsername(name)) ?? undefined
    }),
    { rateLimit: {} }
  )
  const [known, unknown] = [await signIn('a wrong password'), await signIn('a wrong password', 'nobody@example.com')]
  t.same([unknown.statusCode, unknown.json()], [known.statusCode, known.json()])
  t.equal(known.statusCode, 400)
  const rest = []
  for (let guess = 0; guess < 20; guess++)
    rest.push((await signIn('a wrong password', `nobody${guess}@example.com`)).statusCode)
  t.same(
    rest.filter((status) => status !== 429),
    [400, 400, 400],
    'five in all'
  )
  t.same(
    lines.filter(({ level }) => level >= 50),
    []
  )
})

// covers A5
t.test('treats undefined from findById as no user', async (t) => {
  const { app, signIn } = await appOver(t, (users) => ({
    findById: async (id: string) => (id === 'nobody' ? undefined : await users.findById(id))
  }))
  t.match(await app.authority.issueTokens('nobody').catch((error: unknown) => error), { error: 'invalid_grant' })
  t.equal((await signIn()).statusCode, 200)
})

const row = async (users: UserStore): Promise<User> => (await users.findByUsername(ANN.username)) as User

/** Invalid results of `findByUsername`, with the expected log message. */
const rows: Array<[string, (user: User) => unknown, RegExp]> = [
  ['an array of rows', (user) => [user], /^users\.findByUsername: the answer is an array; it takes a user\.$/],
  ['false', () => false, /is a boolean; it takes a user/],
  ['a string', () => 'ann', /a string/],
  ['a number as id', (user) => ({ ...user, id: 7 }), /: id is a number; it takes a string that is not empty/],
  ['an empty id', (user) => ({ ...user, id: '' }), /id is an empty string/],
  ['no id', ({ id: _id, ...user }) => user, /id is nothing/],
  ['no username', ({ username: _name, ...user }) => user, /username is nothing/],
  ['a Buffer as passwordHash', (user) => ({ ...user, passwordHash: Buffer.from('x') }), /passwordHash is an object/],
  ['a number as email', (user) => ({ ...user, email: 7 }), /email is a number/],
  [
    'text for emailVerified',
    (user) => ({ ...user, emailVerified: 'false' }),
    /emailVerified is a string; it takes true, false, 1, 0, a Date, null or left out/
  ],
  [
    'text for passwordChangedAt',
    (user) => ({ ...user, passwordChangedAt: '2026-01-01' }),
    /passwordChangedAt is a string; it takes milliseconds since the epoch, a Date, null or left out/
  ],
  ['2 for disabled', (user) => ({ ...user, disabled: 2 }), /disabled is a number/],
  ['"false" for disabled', (user) => ({ ...user, disabled: 'false' }), /disabled is a string/]
]

for (const [what, change, said] of rows) {
  // covers A5
  t.test(`answers 500 and counts the attempt on an invalid user row: ${what}`, async (t) => {
    const { signIn, misfits, lines } = await appOver(
      t,
      (users) => ({ findByUsername: async () => change(await row(users)) }),
      { rateLimit: {} }
    )
    const first = await signIn()
    t.same([first.statusCode, first.json<{ error: string }>().error], [500, 'server_error'])
    t.match(misfits()[0], said, 'the log names the method and the field')
    t.notMatch(JSON.stringify(lines), /ann@example\.com|"7"/, 'and shows no value')
    const more = []
    for (let guess = 0; guess < 19; guess++) more.push((await signIn()).statusCode)
    t.same(
      more.filter((status) => status !== 429),
      [500, 500, 500, 500],
      'five in all: no attempt is given back'
    )
  })
}

// covers A5
t.test('accepts null as email, emailVerified and disabled in a user row', async (t) => {
  const { signIn, misfits } = await appOver(t, (users) => ({
    findByUsername: async () => ({ ...(await row(users)), email: null, emailVerified: null, disabled: null }),
    findById: async () => ({ ...(await row(users)), email: null, emailVerified: null, disabled: null })
  }))
  t.equal((await signIn()).statusCode, 200)
  t.same(misfits(), [])
})

// covers A5
t.test(
  'answers 500 to a sign-in on a user row without passwordHash, and sets no hash at a reset request',
  async (t) => {
    const calls: unknown[][] = []
    const { signIn, app } = await appOver(t, (users) => ({
      findByUsername: async () => {
        const { passwordHash: _hash, ...user } = await row(users)
        return user
      },
      findById: async () => {
        const { passwordHash: _hash, ...user } = await row(users)
        return user
      },
      setPasswordHash: async (...args: unknown[]) => {
        calls.push(args)
        return false
      }
    }))
    t.equal((await signIn()).statusCode, 500)
    await app.inject({ method: 'POST', url: '/auth/password-reset', payload: { username: ANN.username } })
    t.strictSame(calls, [])
  }
)

// covers A5
t.test('answers 500 when the user store returns another user than asked for', async (t) => {
  const { signIn, misfits } = await appOver(t, (users) => ({
    findById: async () => ({ ...(await row(users)), id: 'another' })
  }))
  t.equal((await signIn()).statusCode, 500)
  t.match(misfits()[0], /^users\.findById: id is not the one that was asked for\.$/)
})

// covers A5
t.test('answers 500 when create or setPasswordHash returns an undocumented value', async (t) => {
  const { app, misfits, signIn } = await appOver(t, () => ({
    create: async () => undefined,
    setPasswordHash: async () => ({ count: 1 })
  }))
  t.equal(
    (
      await app.inject({
        method: 'POST',
        url: '/auth/register',
        payload: { username: 'bob@example.com', password: PASSWORD }
      })
    ).statusCode,
    500
  )
  const { access_token: token } = (await signIn()).json<{ access_token: string }>()
  const changed = await app.inject({
    method: 'POST',
    url: '/auth/password',
    headers: { authorization: `Bearer ${token}` },
    payload: { current_password: PASSWORD, new_password: 'another long password' }
  })
  t.equal(changed.statusCode, 500)
  t.match(misfits(), [
    /^users\.create: the answer is nothing; it takes a user\.$/,
    /^users\.setPasswordHash: the answer is an object; it takes true or false\.$/
  ])
})

// covers A5
t.test('shows an error page with status 500 when findByUsername returns an array', async (t) => {
  const { app } = await appOver(t, () => ({ findByUsername: async () => [] }), {
    clients: [{ clientId: 'web', redirectUris: ['http://localhost:3000/cb'] }]
  })
  const page = await app.inject({
    method: 'POST',
    url: '/auth/login',
    headers: { origin: ISSUER, 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' },
    payload: String(new URLSearchParams(ANN))
  })
  t.equal(page.statusCode, 500)
  t.match(page.headers['content-type'], /text\/html/)
})

const SECRET = 'a-secret-of-a-client-that-is-long-enough'
const WEB = {
  clientId: 'web',
  clientSecret: SECRET,
  redirectUris: ['https://app.example.com/cb'],
  grantTypes: ['authorization_code', 'client_credentials']
}

/** Rows of a client store, with the expected log message, or `null` for a valid row. */
const clientRows: Array<[string, { clientSecret: string | null; [field: string]: unknown }, RegExp | null]> = [
  ['null in optional columns', { ...WEB, name: null, scopes: null, firstParty: null }, null],
  ['undefined in an optional column', { ...WEB, name: undefined }, null],
  ['0 for firstParty', { ...WEB, firstParty: 0 }, /clients\.findById: firstParty is a number; it takes true or false/],
  ['"false" for firstParty', { ...WEB, firstParty: 'false' }, /firstParty is a string/],
  [
    'JSON text for redirectUris',
    { ...WEB, redirectUris: '["https://app.example.com/cb"]' },
    /redirectUris is a string; it takes an array of URIs/
  ],
  ['plain text for redirectUris', { ...WEB, redirectUris: 'https://app.example.com/cb' }, /redirectUris is a string/],
  [
    'a redirect URI with http',
    { ...WEB, redirectUris: ['http://app.example.com/cb'] },
    /redirectUris\[0\] is a string; it takes/
  ],
  [
    'a link-local back-channel URI',
    { ...WEB, backchannelLogoutUri: 'http://169.254.169.254/latest' },
    /backchannelLogoutUri is a string; it takes/
  ],
  ['text for grantTypes', { ...WEB, grantTypes: 'client_credentials' }, /grantTypes is a string/],
  ['text for origins', { ...WEB, origins: 'https://app.example.com' }, /origins is a string/],
  [
    'an unknown scope',
    { ...WEB, scopes: ['everything'] },
    /scopes is a string; it takes scopes of the options scopes and resources/
  ],
  [
    'client credentials without a secret',
    { ...WEB, clientSecret: null },
    /grantTypes is a string; it takes "client_credentials" only with a clientSecret/
  ],
  ['an empty secret', { ...WEB, clientSecret: '' }, /clientSecret is an empty string/],
  ['a short secret', { ...WEB, clientSecret: 'short' }, /clientSecret is a string/],
  [
    'no PKCE and no secret',
    { ...WEB, clientSecret: null, grantTypes: ['authorization_code'], requirePkce: false },
    /requirePkce is a boolean/
  ],
  [
    'an unsupported signing algorithm',
    { ...WEB, idTokenSignedResponseAlg: 'EdDSA' },
    /idTokenSignedResponseAlg is a string/
  ],
  [
    'an unknown column name',
    { ...WEB, first_party: false },
    /first_party is no field of a client\. There are: clientId, /
  ],
  ['the id of another client', { ...WEB, clientId: 'other' }, /clientId is not the one that was asked for/],
  ['no id', { ...WEB, clientId: null }, /clientId is nothing/]
]

for (const [what, row, said] of clientRows) {
  // covers A4
  t.test(`${said === null ? 'accepts' : 'refuses'} a client row: ${what}`, async (t) => {
    const { app, misfits, lines } = await appOver(t, () => ({}), {
      scopes: ['openid', 'api'],
      clients: { findById: async () => row as never }
    })
    const authorization = `Basic ${Buffer.from(`web:${row.clientSecret ?? ''}`).toString('base64')}`
    const token = await app.inject({
      method: 'POST',
      url: '/auth/token',
      headers: { authorization },
      payload: { grant_type: 'client_credentials', scope: 'api' }
    })
    const query = new URLSearchParams({
      client_id: 'web',
      redirect_uri: 'https://app.example.com/cb',
      response_type: 'code',
      scope: 'openid',
      prompt: 'none',
      code_challenge: 'a'.repeat(43),
      code_challenge_method: 'S256'
    })
    const authorize = await app.inject({ url: `/auth/authorize?${String(query)}` })
    if (said === null) {
      t.same([token.statusCode, authorize.statusCode, misfits()], [200, 303, []])
      return
    }
    t.same([token.statusCode, token.json<{ error: string }>().error], [401, 'invalid_client'])
    t.equal(authorize.statusCode, 400, 'no redirect')
    t.match(misfits(), [said])
    t.notMatch(
      JSON.stringify(lines.filter(({ level }) => level === 50)),
      /a-secret-of|169\.254|"short"/,
      'no value is shown'
    )
  })
}

for (const [what, answer] of Object.entries({ 'an array': [WEB], 'a string': 'web', true: true })) {
  // covers A4
  t.test(`treats ${what} from a client store as an unknown client`, async (t) => {
    const { app, misfits } = await appOver(t, () => ({}), { clients: { findById: async () => answer as never } })
    t.equal(
      (
        await app.inject({
          method: 'POST',
          url: '/auth/token',
          payload: { grant_type: 'client_credentials', client_id: 'web', client_secret: SECRET }
        })
      ).statusCode,
      401
    )
    t.match(misfits(), [/^clients\.findById: the answer is an? (array|string|boolean); it takes a client\.$/])
  })
}

// covers A4
t.test('treats undefined from the client store as an unknown client, and checks a changed row again', async (t) => {
  let row: unknown
  const { app, misfits } = await appOver(t, () => ({}), {
    scopes: ['api'],
    clients: { findById: async () => row as never }
  })
  const ask = async (): Promise<number> =>
    (
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'client_credentials', client_id: 'web', client_secret: SECRET }
      })
    ).statusCode
  t.equal(await ask(), 401)
  t.same(misfits(), [])
  for (const [next, status] of [
    [WEB, 200],
    [WEB, 200],
    [{ ...WEB, firstParty: 1 }, 401],
    [{ ...WEB, firstParty: false }, 200]
  ] as const) {
    row = next
    t.equal(await ask(), status)
  }
})

// covers A4
t.test('reads the fields of a client from the getters of its class', async (t) => {
  class Row {
    clientId = 'web'
    redirectUris = WEB.redirectUris
    grantTypes = ['authorization_code', 'password']
    #own = { clientSecret: SECRET, firstParty: false }
    get clientSecret(): string {
      return this.#own.clientSecret
    }
    get firstParty(): boolean {
      return this.#own.firstParty
    }
  }
  const { app, misfits } = await appOver(t, () => ({}), { clients: { findById: async () => new Row() as never } })
  const ask = async (secret: object): Promise<unknown> =>
    (
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'password', ...ANN, client_id: 'web', ...secret }
      })
    ).json<{ error: string }>().error
  t.equal(await ask({}), 'invalid_client', 'it has a secret')
  t.equal(await ask({ client_secret: SECRET }), 'unauthorized_client', "it is not the host's own")
  t.same(misfits(), [])
})

// covers A4
t.test('uses a changed client secret even if toJSON of the row omits it', async (t) => {
  class Hiding {
    toJSON(): object {
      return { clientId: 'web' }
    }
  }
  let row = Object.assign(new Hiding(), WEB)
  const { app } = await appOver(t, () => ({}), { scopes: ['api'], clients: { findById: async () => row as never } })
  const ask = async (secret: string): Promise<number> =>
    (
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'client_credentials', client_id: 'web', client_secret: secret }
      })
    ).statusCode
  t.equal(await ask(SECRET), 200)
  row = Object.assign(new Hiding(), WEB, { clientSecret: `${SECRET} of tomorrow` })
  t.same([await ask(SECRET), await ask(`${SECRET} of tomorrow`)], [401, 200])
})

// covers A5
t.test('reads the fields of a user from the getters of its class', async (t) => {
  class Row {
    #row: User
    constructor(row: User) {
      this.#row = row
    }
    get id(): string {
      return this.#row.id
    }
    get username(): string {
      return this.#row.username
    }
    get passwordHash(): string | null {
      return this.#row.passwordHash
    }
    get disabled(): number {
      return 0
    }
    get passwordChangedAt(): number {
      return changedAt
    }
  }
  let changedAt = 0
  const { app, clock, signIn, misfits } = await appOver(t, (users) => ({
    findByUsername: async () => new Row(await row(users)),
    findById: async () => new Row(await row(users))
  }))
  const reply = await signIn()
  t.equal(reply.statusCode, 200)
  const refresh = async (): Promise<number> =>
    (
      await app.inject({
        method: 'POST',
        url: '/auth/refresh',
        headers: { authorization: `Bearer ${reply.json<{ refresh_token: string }>().refresh_token}` }
      })
    ).statusCode
  t.equal(await refresh(), 200)
  changedAt = clock.now() + 1
  t.equal(await refresh(), 401, 'from before the password')
  t.same(misfits(), [])
})
