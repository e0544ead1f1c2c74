import t, { type Test } from '../support/tap.ts'
import { type AuthorityOptions, memoryState, memoryUserStore, type User } from '../../lib/index.ts'
import { bearer, PASSWORD, signIn, signUp, testApp } from '../support/app.ts'
import { decodeJwt } from '../support/jwt.ts'
import {
  authorizeAs,
  authorizePath,
  basic,
  CALLBACK,
  CLIENTS,
  openidApp,
  type OpenidApp,
  redeem,
  SECRET,
  suitePath,
  tokensOf
} from '../support/openid.ts'

async function started(t: Test, options: Partial<AuthorityOptions> = {}): Promise<OpenidApp> {
  const subject = await openidApp({
    scopes: ['openid', 'email', 'offline_access', 'read'],
    clients: [...CLIENTS, { clientId: 'machine', clientSecret: SECRET, grantTypes: ['client_credentials'] }],
    ...options
  })
  t.teardown(subject.close)
  return subject
}

const named = ({ events }: Pick<OpenidApp, 'events'>, name: string): Array<Record<string, unknown>> =>
  events.filter((event) => event.name === name).map(({ payload }) => payload)

// covers C4
t.test('answers invalid_grant to a wrong refresh token or code, and invalid_request to a missing one', async (t) => {
  const subject = await started(t)
  const { app } = subject
  const { access_token: access, id_token: id = '' } = await tokensOf(subject)
  t.ok(access.length > 400)
  for (const [what, token] of Object.entries({
    'an access token': access,
    'an ID token': id,
    'a word': 'x',
    'two parts': 'a.b',
    huge: 'x'.repeat(15_000),
    'of other characters': 'ä\u0000"',
    'a number in text': '1',
    'a dot': '.'
  })) {
    for (const [grant, params] of Object.entries({
      refresh_token: { refresh_token: token },
      authorization_code: { code: token, redirect_uri: CALLBACK, code_verifier: 'x'.repeat(43) }
    })) {
      const reply = await app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: grant, client_id: 'spa', ...params }
      })
      t.same([reply.statusCode, reply.json().error], [400, 'invalid_grant'], `${grant}: ${what}`)
    }
    const header = Buffer.from(token).toString('latin1')
    const reply = await app.inject({
      method: 'POST',
      url: '/auth/refresh',
      headers: bearer(/^[\x20-\x7e]+$/.test(header) ? header : 'x y')
    })
    t.same([reply.statusCode, reply.json().error], [401, 'invalid_token'], `refresh: ${what}`)
  }
  for (const [what, value] of Object.entries({
    missing: undefined,
    empty: '',
    null: null,
    'a number': 1,
    'a list': ['x'],
    'an object': {}
  })) {
    for (const [grant, name] of [
      ['refresh_token', 'refresh_token'],
      ['authorization_code', 'code']
    ] as const) {
      const reply = await app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: grant, client_id: 'spa', [name]: value }
      })
      t.same([reply.statusCode, reply.json().error], [400, 'invalid_request'], `${grant}: ${what}`)
    }
  }
  t.equal((await app.inject({ url: '/me', headers: bearer(access) })).statusCode, 200, 'and nothing was ended by it')
})

// covers C4
t.test('counts a malformed refresh token as a failed attempt', async (t) => {
  const { app, close } = await testApp({ rateLimit: { refresh: { max: 2 } } })
  t.teardown(close)
  const statuses: number[] = []
  for (let turn = 0; turn < 4; turn++)
    statuses.push(
      (
        await app.inject({
          method: 'POST',
          url: '/auth/token',
          payload: { grant_type: 'refresh_token', refresh_token: 'x'.repeat(900) }
        })
      ).statusCode
    )
  t.same(statuses, [400, 400, 429, 429])
})

// covers C9 R6749-3.3
t.test('omits scope from the response, the token and the introspection when no scope is granted', async (t) => {
  const none = await started(t, { scopes: ['openid', 'profile', 'email', 'offline_access'] })
  for (const [what, params, granted] of [
    ['left out', {}, undefined],
    ['empty', { scope: '' }, undefined]
  ] as const) {
    const reply = await none.app.inject({
      method: 'POST',
      url: '/auth/token',
      headers: basic('machine', SECRET),
      payload: { grant_type: 'client_credentials', ...params }
    })
    t.equal(reply.statusCode, 200, what)
    t.equal(reply.json().scope, granted, what)
    t.notOk('scope' in reply.json(), what)
    const { claims } = decodeJwt(reply.json().access_token as string)
    t.notOk('scope' in claims, `${what}: nor in the token`)
    t.equal(
      (await none.app.inject({ url: '/me', headers: bearer(reply.json().access_token as string) })).statusCode,
      200
    )
    t.equal(
      (await none.app.inject({ url: '/admin', headers: bearer(reply.json().access_token as string) })).statusCode,
      403
    )
    const looked = await none.app.inject({
      method: 'POST',
      url: '/auth/introspect',
      headers: basic('web', SECRET),
      payload: { token: reply.json().access_token }
    })
    t.match(looked.json(), { active: true, client_id: 'machine' })
    t.notOk('scope' in looked.json(), `${what}: nor in an introspection`)
  }
  const some = await started(t)
  for (const params of [{}, { scope: '' }, { scope: 'read' }])
    t.equal(
      (
        await some.app.inject({
          method: 'POST',
          url: '/auth/token',
          headers: basic('machine', SECRET),
          payload: { grant_type: 'client_credentials', ...params }
        })
      ).json().scope,
      'read',
      'what the client may have'
    )
  const mute = await testApp({ clients: [{ clientId: 'mute', grantTypes: ['password', 'refresh_token'], scopes: [] }] })
  t.teardown(mute.close)
  await signUp(mute.app)
  const tokens = await signIn(mute.app, 'ann', PASSWORD, { client_id: 'mute' })
  t.notOk('scope' in tokens, 'by a password')
  const refreshed = await mute.app.inject({
    method: 'POST',
    url: '/auth/token',
    payload: { grant_type: 'refresh_token', client_id: 'mute', refresh_token: tokens.refresh_token }
  })
  t.equal(refreshed.statusCode, 200)
  t.notOk('scope' in refreshed.json(), 'and by a refresh')
})

// covers C10 R6749-4.1.3
t.test('accepts a missing redirect_uri with a valid code verifier, and compares one that is sent', async (t) => {
  const subject = await started(t)
  const rows: Array<[what: string, params: Record<string, string | undefined>, good: boolean]> = [
    ['as it was', {}, true],
    ['left out', { redirect_uri: undefined }, true],
    ['empty, which is left out', { redirect_uri: '' }, true],
    ['another', { redirect_uri: `${CALLBACK}/` }, false],
    ['another of the client', { redirect_uri: `${CALLBACK}?dummy1=lorem&dummy2=ipsum` }, false],
    ['null as text', { redirect_uri: 'null' }, false],
    ['long', { redirect_uri: `${CALLBACK}?${'x'.repeat(2000)}` }, false],
    ['left out, with a wrong verifier', { redirect_uri: undefined, code_verifier: 'x'.repeat(43) }, false],
    ['left out, without a verifier', { redirect_uri: undefined, code_verifier: undefined }, false]
  ]
  for (const [what, params, good] of rows) {
    const { code = '' } = await authorizeAs(subject.browser, authorizePath())
    const reply = await redeem(subject.app, code, params)
    t.same([reply.statusCode, reply.json().error], good ? [200, undefined] : [400, 'invalid_grant'], what)
  }
  for (const [what, params, good] of [
    ['as it was', {}, true],
    ['left out', { redirect_uri: undefined }, false],
    ['empty', { redirect_uri: '' }, false],
    ['another', { redirect_uri: `${CALLBACK}x` }, false]
  ] as const) {
    const { code = '' } = await authorizeAs(subject.browser, suitePath())
    const reply = await redeem(
      subject.app,
      code,
      { client_id: undefined, code_verifier: undefined, ...params },
      basic('suite', SECRET)
    )
    t.same(
      [reply.statusCode, reply.json().error],
      good ? [200, undefined] : [400, 'invalid_grant'],
      `without PKCE: ${what}`
    )
  }
  const { code = '' } = await authorizeAs(subject.browser, authorizePath())
  t.equal(
    (await redeem(subject.app, code, { redirect_uri: `${CALLBACK}?${'x'.repeat(3000)}` })).json().error,
    'invalid_request',
    'longer than any'
  )
})

// covers C11
t.test('undoes a sign-in whose redemption fails, and emits logged_out by "undone" but no token_issued', async (t) => {
  const users = memoryUserStore()
  const state = memoryState()
  let seen: (user: User | null) => User | null = (user) => user
  let failing: 'claims' | 'store' | null = null
  const subject = await started(t, {
    state,
    users: { ...users, findById: async (id) => seen(await users.findById(id)) },
    claims: () => {
      if (failing === 'claims') throw new Error('a claim that can not be made')
      return {}
    }
  })
  const { app, browser, events, ann } = subject
  const rows: Array<[what: string, status: number, meanwhile: () => void, params: Record<string, string | undefined>]> =
    [
      ['a wrong verifier', 400, () => {}, { code_verifier: 'x'.repeat(43) }],
      ['another redirect URI', 400, () => {}, { redirect_uri: `${CALLBACK}x` }],
      [
        'a disabled user',
        400,
        () => {
          seen = (user) => (user === null ? null : { ...user, disabled: true })
        },
        {}
      ],
      [
        'a user who is gone',
        400,
        () => {
          seen = () => null
        },
        {}
      ],
      [
        'claims that fail',
        503,
        () => {
          failing = 'claims'
        },
        {}
      ]
    ]
  for (const [what, status, meanwhile, params] of rows) {
    const { code = '' } = await authorizeAs(browser, authorizePath())
    events.length = 0
    meanwhile()
    t.equal((await redeem(app, code, params)).statusCode, status, what)
    t.match(named(subject, 'logged_out'), [{ userId: ann.sub, by: 'undone' }], what)
    t.same(named(subject, 'token_issued'), [], `C12 ${what}`)
    seen = (user) => user
    failing = null
  }
})

// covers C11 C12
t.test('revokes tokens without token_issued when the user changes or the store fails during the sign-in', async (t) => {
  const users = memoryUserStore()
  let now: (user: User | null) => User | null = (user) => user
  const subject = await testApp({ users: { ...users, findById: async (id) => now(await users.findById(id)) } })
  t.teardown(subject.close)
  await signUp(subject.app)
  const ask = async (): Promise<number> =>
    (
      await subject.app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'password', username: 'ann', password: PASSWORD }
      })
    ).statusCode
  const rows: Array<[string, typeof now, number]> = [
    ['disabled', (user) => (user === null ? null : { ...user, disabled: true }), 400],
    ['gone', () => null, 400],
    ['another password', (user) => (user === null ? null : { ...user, passwordHash: null }), 400],
    [
      'a store that fails',
      () => {
        throw new Error('down')
      },
      503
    ]
  ]
  for (const [what, next, status] of rows) {
    subject.events.length = 0
    now = next
    t.equal(await ask(), status, what)
    t.match(named(subject, 'logged_out'), [{ by: 'undone' }], what)
    t.same(named(subject, 'token_issued'), [], what)
  }
  now = (user) => user
  subject.events.length = 0
  t.equal(await ask(), 200)
  t.same(
    subject.events.map(({ name }) => name),
    ['authenticated', 'token_issued'],
    'and when all is well, first the one, then the other'
  )
})
