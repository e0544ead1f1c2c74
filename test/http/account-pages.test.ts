import { Type } from '@sinclair/typebox'
import t from '../support/tap.ts'
import type { UserStore } from '../../lib/ports/user-store.ts'
import { format, messagesOf } from '../../lib/pages/texts.ts'
import { NEXT_PASSWORD, PASSWORD } from '../unit/accounts/world.ts'
import { OWN, pagesApp, type PagesApp, readJourney, visible } from './support/account-pages-app.ts'

const JOURNEY = '?client_id=app&state=s%26t'
const FIELDS = Type.Object({
  age: Type.Integer({ title: 'Your age', minimum: 18 }),
  nickname: Type.Optional(Type.String({ maxLength: 10 })),
  news: Type.Boolean()
})

/** Returns the secrets found in pages, events and log lines. The hidden token field of a page does not count. */
function secretsOf(test: PagesApp): string[] {
  const told = JSON.stringify([
    test.sent.map(({ content: { token: _token, ...content }, settings }) => [content, settings]),
    test.logged.map(({ req: _req, ...line }) => line),
    test.w.told
  ])
  return [PASSWORD, NEXT_PASSWORD, ...test.w.secrets].filter((secret) => told.includes(secret))
}

const FIELD = { type: 'text', required: false, value: '', hint: null, choices: [], limits: {}, lang: null }

t.test('sign-up: shows the form with the login hint, and keeps the authorization request in its links', async (t) => {
  const test = await pagesApp(t, { fields: FIELDS })
  const reply = await test.get(`/auth/signup${JOURNEY}&login_hint=Ada&password=x`)
  t.equal(reply.statusCode, 200)
  t.equal(reply.headers['cache-control'], 'no-store')
  t.strictSame(test.last(), {
    page: 'signup',
    content: {
      action: `/auth/signup${JOURNEY}`,
      error: null,
      username: 'Ada',
      minLength: 8,
      loginUrl: `/auth/login${JOURNEY}`,
      connections: [],
      fields: [
        { ...FIELD, name: 'age', label: 'Your age', type: 'number', required: true, limits: { min: 18, step: 1 } },
        { ...FIELD, name: 'nickname', label: 'Pseudo', limits: { maxlength: 10 } },
        { ...FIELD, name: 'news', label: 'news', type: 'checkbox' }
      ]
    },
    settings: { statusCode: 200, clientName: 'app', uiLocales: ['fr'], formActions: ['https://app.example'] }
  })
})

t.test('sign-up: signs a new user in and continues to the requested page', async (t) => {
  const test = await pagesApp(t, { fields: FIELDS })
  const cases: Array<[string, string]> = [
    ['', '/'],
    ['?return_to=/cart', '/cart'],
    [JOURNEY, `/auth/authorize${JOURNEY}`]
  ]
  for (const [index, [query, next]] of cases.entries()) {
    const username = `ada${index}`
    const reply = await test.post(`/auth/signup${query}`, {
      username,
      password: PASSWORD,
      age: '36',
      nickname: '',
      news: 'on',
      submit: 'x'
    })
    t.equal(reply.statusCode, 303)
    t.equal(reply.headers.location, next)
    t.equal(reply.headers['set-cookie'], '__Host-session=fresh')
    t.equal(reply.headers['cache-control'], 'no-store')
    const user = await test.w.store.findByUsername(username)
    t.match(user, { age: 36, news: true })
    t.notOk(Object.hasOwn(user ?? {}, 'nickname'))
    t.equal(test.signedIn.at(-1), user?.id)
  }
  t.strictSame(test.sent, [])
})

t.test('sign-up: shows each error with its status, and keeps the input except the password', async (t) => {
  const test = await pagesApp(t, { fields: FIELDS })
  await test.w.addUser({ username: 'taken' })
  const good = { username: 'ada', password: PASSWORD, age: '36', nickname: 'A', news: 'true' }
  const table: Array<[Record<string, string>, number, string, string | null]> = [
    [{ username: 'TAKEN' }, 409, 'username_taken', 'username'],
    [{ username: 'a' }, 400, 'invalid_request', 'username'],
    [{ username: 'a@b' }, 400, 'invalid_request', 'username'],
    [{ username: '' }, 400, 'invalid_request', 'username'],
    [{ username: '<script>' }, 400, 'invalid_request', 'username'],
    [{ password: '' }, 400, 'invalid_request', 'password'],
    [{ password: 'short' }, 400, 'invalid_password', 'password'],
    [{ password: 'password123' }, 400, 'invalid_password', 'password'],
    [{ password: 'x'.repeat(1025) }, 400, 'invalid_password', 'password'],
    [{ age: '17' }, 400, 'invalid_request', 'age'],
    [{ age: 'old' }, 400, 'invalid_request', 'age'],
    [{ age: '' }, 400, 'invalid_request', 'age'],
    [{ nickname: 'far too long' }, 400, 'invalid_request', 'nickname']
  ]
  for (const [bad, status, error, field] of table) {
    const form = { ...good, ...bad }
    const reply = await test.post(`/auth/signup${JOURNEY}`, form)
    t.equal(reply.statusCode, status, JSON.stringify(bad))
    const { page, content } = test.last()
    t.match(
      { page, content },
      {
        page: 'signup',
        content: {
          error: { error, field, text: /\w/ },
          username: form.username,
          action: `/auth/signup${JOURNEY}`
        }
      },
      JSON.stringify(bad)
    )
    t.strictSame(
      (content.fields as Array<{ value: string }>).map(({ value }) => value),
      [form.age, form.nickname, form.news]
    )
    t.equal(reply.headers['set-cookie'], undefined)
    if (form.password !== '')
      t.notOk(
        JSON.stringify([test.sent, test.logged]).includes(form.password),
        'ASVS-16.2.5 the password is not repeated'
      )
  }
  t.strictSame(test.signedIn, [])
  t.equal(await test.w.store.findByUsername('ada'), null)
})

// covers ASVS-8.2.3 ASVS-15.3.3
t.test('sign-up: ignores fields that the host did not declare', async (t) => {
  const test = await pagesApp(t)
  const reply = await test.post('/auth/signup', {
    username: 'ada',
    password: PASSWORD,
    id: 'root',
    emailVerified: 'true',
    email: 'victim@example.com',
    disabled: '',
    role: 'admin',
    passwordHash: 'x',
    __proto__x: 'y',
    constructor: 'z'
  })
  t.equal(reply.statusCode, 303)
  t.strictSame(
    Object.keys((await test.w.store.findByUsername('ada')) ?? {}).toSorted((a, b) => a.localeCompare(b)),
    ['createdAt', 'id', 'passwordHash', 'username', 'version']
  )
})

t.test('sign-up: redirects to the sign-in page when signing in the new account fails', async (t) => {
  const test = await pagesApp(t, {
    deps: ({ browser }) => ({
      browser: {
        ...browser,
        read: async () => {
          throw new Error('the session store is down')
        }
      }
    })
  })
  const reply = await test.post(`/auth/signup${JOURNEY}`, { username: 'ada', password: PASSWORD })
  t.equal(reply.statusCode, 303)
  t.equal(reply.headers.location, `/auth/login${JOURNEY}`)
  t.ok(await test.w.store.findByUsername('ada'))
  t.ok(test.logged.some(({ level, msg }) => level === 50 && /signed in/.test(String(msg))))
})

t.test('sign-up: shows errors in the language of the request, with the rule that failed', async (t) => {
  const test = await pagesApp(t, { verifyEmail: true })
  const text = async (query: string, form: Record<string, string>): Promise<unknown> => {
    await test.post(`/auth/signup${query}`, form)
    return test.last().content.error
  }
  t.strictSame(await text('', { username: 'ada@example.com', password: 'short' }), {
    error: 'invalid_password',
    text: format(messagesOf('en').errorPasswordTooShort, { minLength: 8 }),
    field: 'password'
  })
  t.strictSame(await text(JOURNEY, { username: 'ada@example.com', password: 'short' }), {
    error: 'invalid_password',
    text: format(messagesOf('fr').errorPasswordTooShort, { minLength: 8 }),
    field: 'password'
  })
  t.strictSame(await text('', { username: 'ada', password: PASSWORD }), {
    error: 'invalid_request',
    text: messagesOf('en').errorEmailForm,
    field: 'username'
  })
})

// covers ENUM-register ASVS-6.3.8
t.test('answers a sign-up with verifyEmail the same for free and taken names, and signs nobody in', async (t) => {
  const test = await pagesApp(t, { verifyEmail: true, fields: Type.Object({ nickname: Type.Optional(Type.String()) }) })
  const seen: unknown[] = []
  for (const fields of [
    { emailVerified: true },
    { emailVerified: false },
    { disabled: true },
    { passwordHash: '' },
    null
  ]) {
    const username = `user${seen.length}@example.com`
    if (fields !== null) await test.w.addUser({ username, email: username, ...fields })
    const { hashes } = await test.w.hashesOf(async () => {
      const sent = await test.post(`/auth/signup${JOURNEY}`, { username, password: PASSWORD, nickname: 'A' })
      t.equal(sent.statusCode, 303)
      const reply = await test.follow(sent)
      seen.push(JSON.parse(JSON.stringify(visible(reply, test.last())).replaceAll(username, 'NAME')))
    })
    t.equal(hashes, 1)
  }
  t.match(seen[0], {
    statusCode: 200,
    page: 'check_email',
    content: { awaits: 'signup', error: null, username: 'NAME' }
  })
  for (const other of seen.slice(1)) t.strictSame(other, seen[0])
  t.strictSame(test.signedIn, [])
})

// covers ENUM-reset ASVS-6.3.8
t.test('answers the forgotten password form the same for known, unknown and malformed names', async (t) => {
  const test = await pagesApp(t)
  const seen: unknown[] = []
  for (const fields of [{}, { disabled: true }, { passwordHash: '' }, { emailVerified: false }, null]) {
    const username = `user${seen.length}@example.com`
    if (fields !== null) await test.w.addUser({ username, email: username, ...fields })
    const reply = await test.follow(await test.post(`/auth/forgot-password${JOURNEY}`, { username }))
    seen.push(JSON.parse(JSON.stringify(visible(reply, test.last())).replaceAll(username, 'NAME')))
  }
  for (const username of ['no name\u0000', 'x'.repeat(300), '<b>', 'a@b@c']) {
    const reply = await test.follow(await test.post(`/auth/forgot-password${JOURNEY}`, { username }))
    seen.push(
      JSON.parse(
        JSON.stringify(visible(reply, { ...test.last(), content: { ...test.last().content, username: 'NAME' } }))
      )
    )
  }
  t.match(seen[0], {
    statusCode: 200,
    page: 'check_email',
    content: {
      awaits: 'forgot',
      error: null,
      username: 'NAME',
      action: `/auth/check-email${JOURNEY}`,
      loginUrl: `/auth/login${JOURNEY}`
    }
  })
  for (const other of seen.slice(1)) t.strictSame(other, seen[0])
  await test.w.idle()
  t.strictSame(
    test.w.messages.map(({ kind, user }) => `${kind} ${user.username}`).toSorted((a, b) => a.localeCompare(b)),
    [0, 2, 3].map((at) => `password_reset user${at}@example.com`)
  )
  t.strictSame(secretsOf(test), [])
})

t.test('forgotten password: shows the form, and an error for an empty form', async (t) => {
  const test = await pagesApp(t)
  await test.get('/auth/forgot-password?login_hint=ada&return_to=/cart')
  t.strictSame(test.last(), {
    page: 'forgot_password',
    content: {
      action: '/auth/forgot-password?return_to=%2Fcart',
      error: null,
      username: 'ada',
      loginUrl: '/auth/login?return_to=%2Fcart'
    },
    settings: { statusCode: 200, clientName: null, uiLocales: [] }
  })
  for (const form of ['', 'username=', 'user=ada']) {
    t.equal((await test.post('/auth/forgot-password', form)).statusCode, 400)
    t.match(test.last(), {
      page: 'forgot_password',
      content: { error: { error: 'invalid_request', field: 'username' } }
    })
  }
})

// covers ASVS-6.4.3 ASVS-3.5.3
t.test('reset: keeps the link valid when it is opened, and sets the password without a sign-in', async (t) => {
  const test = await pagesApp(t)
  const user = await test.w.addUser()
  await test.w.addSession(user.id, 'thief')
  const token = await test.resetToken()
  for (let i = 0; i < 20; i++) t.equal((await test.get(`/auth/reset-password?token=${token}`)).statusCode, 200)
  t.equal(
    (await test.app.inject({ method: 'HEAD', url: `/auth/reset-password?token=${token}` })).statusCode,
    200,
    'nor does a HEAD'
  )
  t.strictSame(test.last(), {
    page: 'reset_password',
    content: {
      action: '/auth/reset-password',
      error: null,
      token,
      username: 'ada@example.com',
      minLength: 8,
      loginUrl: '/auth/login',
      done: false
    },
    settings: { statusCode: 200, clientName: null, uiLocales: [], formActions: [], secretAddress: true }
  })
  t.strictSame(await test.w.sids(user.id), ['thief'])

  const refused = await test.post('/auth/reset-password', { token, password: 'short' })
  t.equal(refused.statusCode, 400)
  t.match(
    test.last(),
    {
      page: 'reset_password',
      content: { error: { error: 'invalid_password', field: 'password' }, token, done: false }
    },
    'a bad password uses nothing up'
  )

  const reply = await test.post('/auth/reset-password', { token, password: NEXT_PASSWORD })
  t.equal(reply.statusCode, 303)
  await test.follow(reply)
  t.match(test.last(), {
    page: 'reset_password',
    content: { error: null, token: '', done: true, loginUrl: '/auth/login' }
  })
  t.strictSame(test.signedIn, [])
  t.strictSame(await test.w.sids(user.id), [])
  t.equal(await test.w.deps.hashing.verify((await test.w.passwordHashOf(user.id)) ?? null, NEXT_PASSWORD), 'match')
  t.strictSame(secretsOf(test), [])
})

// covers ASVS-6.4.3 ASVS-6.5.1
t.test('sets one password when 50 forms use the same reset token at once', async (t) => {
  const test = await pagesApp(t)
  const user = await test.w.addUser()
  const token = await test.resetToken()
  const replies = await Promise.all(
    Array.from(
      { length: 50 },
      async (_, index) => await test.post('/auth/reset-password', { token, password: `${NEXT_PASSWORD} ${index}` })
    )
  )
  t.strictSame(
    replies.map(({ statusCode }) => statusCode).filter((status) => status !== 400),
    [303]
  )
  const winner = replies.findIndex(({ statusCode }) => statusCode === 303)
  t.equal(
    await test.w.deps.hashing.verify((await test.w.passwordHashOf(user.id)) ?? null, `${NEXT_PASSWORD} ${winner}`),
    'match'
  )
  t.equal(test.w.count('password_changed'), 1)
})

// covers ENUM-confirm ENUM-verify ASVS-6.5.1
t.test('shows the same error page for every kind of invalid link, opened or posted', async (t) => {
  for (const path of ['/auth/reset-password', '/auth/verify-email']) {
    const test = await pagesApp(t)
    const [ada, bob, off, late] = await Promise.all(
      ['ada', 'bob', 'off', 'late'].map(
        async (name) => await test.w.addUser({ username: `${name}@example.com`, email: `${name}@example.com` })
      )
    )
    const mint = async (user: typeof ada): Promise<string> =>
      path === '/auth/reset-password' ? await test.resetToken(user?.username) : await test.verifyToken(user?.id ?? '')
    const expired = await mint(late)
    test.w.clock.step(24 * 60 * 60 * 1000)
    const used = await mint(ada)
    t.equal((await test.post(path, { token: used, password: NEXT_PASSWORD })).statusCode, 303)
    const replaced = await mint(bob)
    await mint(bob)
    const other =
      path === '/auth/reset-password' ? await test.verifyToken(bob?.id ?? '') : await test.resetToken(bob?.username)
    const disabled = await mint(off)
    const find = test.w.deps.users.findById
    test.w.deps.users.findById = async (id) => {
      const user = await find(id)
      return user === null || id !== off?.id ? user : { ...user, disabled: true }
    }
    const seen: unknown[] = []
    const links = {
      missing: '',
      expired,
      used,
      replaced,
      disabled,
      other,
      unknown: 'A'.repeat(59),
      short: 'x',
      long: 'A'.repeat(5000),
      hostile: '\u0000<script>€%'
    }
    for (const [what, token] of Object.entries(links)) {
      const replies = [
        await test.get(`${path}?token=${encodeURIComponent(token)}`),
        await test.post(path, { token, password: NEXT_PASSWORD })
      ]
      for (const reply of replies) {
        seen.push(visible(reply, test.last()))
        t.strictSame(seen.at(-1), seen[0], `${path} ${what}`)
      }
    }
    t.match(seen[0], {
      statusCode: 400,
      page: 'error',
      content: { error: { error: 'invalid_token', field: null }, homeUrl: 'https://auth.example.com' },
      settings: { secretAddress: true }
    })
    const fine =
      path === '/auth/reset-password' ? await test.resetToken('bob@example.com') : await test.verifyToken(bob?.id ?? '')
    t.equal((await test.get(`${path}?token=${fine}`)).statusCode, 200, 'the control')
    t.equal((await test.get(`${path}?token=${fine}&token=${fine}`)).statusCode, 400, 'a repeated token is none')
    t.equal((await test.get(`${path}?TOKEN=${fine}`)).statusCode, 400)
    t.strictSame(secretsOf(test), [])
  }
})

// covers ASVS-3.5.3
t.test('confirms an email address only when the form is sent, and only once', async (t) => {
  const test = await pagesApp(t)
  const user = await test.w.addUser({ emailVerified: false })
  const token = await test.verifyToken(user.id)
  for (const method of ['HEAD', 'GET', 'GET'] as const)
    t.equal(
      (await test.app.inject({ method, url: `/auth/verify-email?token=${token}&return_to=/cart` })).statusCode,
      200
    )
  t.strictSame(test.last(), {
    page: 'verify_email',
    content: {
      action: '/auth/verify-email?return_to=%2Fcart',
      error: null,
      token,
      username: 'ada@example.com',
      sentAt: test.w.clock.now(),
      canDisown: true,
      newAddress: null,
      loginUrl: '/auth/login?return_to=%2Fcart',
      continueUrl: null,
      done: false,
      disowned: false
    },
    settings: { statusCode: 200, clientName: null, uiLocales: [], formActions: [], secretAddress: true }
  })
  t.equal((await test.w.store.findById(user.id))?.emailVerified, false, 'to open the link confirms nothing')
  t.equal(test.w.count('email_verified'), 0)
  const replies = await Promise.all(
    Array.from({ length: 10 }, async () => await test.post('/auth/verify-email?return_to=/cart', { token }))
  )
  t.strictSame(
    replies.map(({ statusCode }) => statusCode).toSorted((a, b) => a - b),
    [303, ...Array<number>(9).fill(400)]
  )
  await test.follow(replies.find(({ statusCode }) => statusCode === 303) as (typeof replies)[number])
  t.match(
    test.sent.find(({ content }) => content.done === true),
    { page: 'verify_email', content: { token: '', loginUrl: '/auth/login?return_to=%2Fcart' } }
  )
  t.equal((await test.w.store.findById(user.id))?.emailVerified, true)
  t.equal(test.w.count('email_verified'), 1)
  t.strictSame(test.signedIn, [])
})

t.test(
  'offers sign-up, reset and confirmation pages only if the options and the user store support them',
  async (t) => {
    const without = (...methods: Array<keyof UserStore>) => ({
      users: (store: UserStore): UserStore =>
        Object.fromEntries(
          Object.entries(store).filter(([name]) => !methods.includes(name as keyof UserStore))
        ) as unknown as UserStore
    })
    const table: Array<[string, Parameters<typeof pagesApp>[1], string[]]> = [
      ['all', {}, ['signup', 'forgot-password', 'reset-password', 'verify-email']],
      ['no registration', { registration: false }, ['forgot-password', 'reset-password', 'verify-email']],
      ['no create', without('create'), ['forgot-password', 'reset-password', 'verify-email']],
      ['no setPasswordHash', without('setPasswordHash'), ['signup', 'verify-email']],
      [
        'no setEmailVerified',
        without('setEmailVerified'),
        ['signup', 'forgot-password', 'reset-password', 'verify-email']
      ],
      [
        'neither setEmailVerified nor update',
        without('setEmailVerified', 'update'),
        ['signup', 'forgot-password', 'reset-password']
      ],
      ['no messages', { sendMessage: null }, ['signup']]
    ]
    for (const [what, options, expected] of table) {
      const test = await pagesApp(t, options)
      const there = ['signup', 'forgot-password', 'reset-password', 'verify-email'].filter(
        (name) =>
          test.app.hasRoute({ method: 'GET', url: `/auth/${name}` }) &&
          test.app.hasRoute({ method: 'POST', url: `/auth/${name}` })
      )
      t.strictSame(there, expected, what)
    }
  }
)

t.test('puts the prefix of the host before the form address and the sign-in link', async (t) => {
  const test = await pagesApp(t, { prefix: '/api' })
  for (const [name, links] of [
    ['signup', ['action', 'loginUrl']],
    ['forgot-password', ['action', 'loginUrl']]
  ] as const) {
    t.equal((await test.get(`/api/auth/${name}`)).statusCode, 200)
    for (const link of links) t.match(test.last().content[link], /^\/api\/auth\//)
  }
})

t.test('shows an error page for an authorization request of an unknown client, and has no effect', async (t) => {
  const test = await pagesApp(t)
  const user = await test.w.addUser()
  const token = await test.resetToken()
  const bad = '?client_id=nobody'
  const replies = [
    await test.get(`/auth/signup${bad}`),
    await test.post(`/auth/signup${bad}`, { username: 'eve', password: PASSWORD }),
    await test.get(`/auth/forgot-password${bad}`),
    await test.post(`/auth/forgot-password${bad}`, { username: user.username }),
    await test.get(`/auth/reset-password${bad}&token=${token}`),
    await test.post(`/auth/reset-password${bad}`, { token, password: NEXT_PASSWORD }),
    await test.get(`/auth/verify-email${bad}`),
    await test.post(`/auth/verify-email${bad}`, { token })
  ]
  for (const reply of replies) {
    t.equal(reply.statusCode, 400)
    t.equal(reply.headers.location, undefined)
  }
  t.ok(test.sent.every(({ page }) => page === 'error'))
  await test.w.deps.background.idle()
  t.equal(test.w.messages.length, 1)
  t.equal(await test.w.store.findByUsername('eve'), null)
  t.equal(
    (await test.post('/auth/reset-password', { token, password: NEXT_PASSWORD })).statusCode,
    303,
    'the token is as good as before'
  )
})

t.test('answers 503 when reading the authorization request throws', async (t) => {
  const test = await pagesApp(t, {
    deps: () => ({
      journeys: {
        async read(request) {
          if (request.method === 'POST') throw new Error('the client store is down')
          return await readJourney(request)
        },
        async from() {
          throw new Error('no connections here')
        },
        kept: async () => await readJourney({ url: '/' } as Parameters<typeof readJourney>[0])
      }
    })
  })
  t.equal((await test.get('/auth/signup')).statusCode, 200)
  const reply = await test.post('/auth/signup', { username: 'ada', password: PASSWORD }, OWN)
  t.equal(reply.statusCode, 503)
  t.equal(reply.headers['retry-after'], '5')
  t.match(test.last(), { page: 'error', content: { error: { error: 'temporarily_unavailable' } } })
})
