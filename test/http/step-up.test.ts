import type { FastifyRequest } from 'fastify'
import t, { type Test } from '../support/tap.ts'
import { type AuthorityOptions, type AuthRequirements, type Client, StartError } from '../../lib/index.ts'
import { bearer, signIn, signUp, tellCode, type TestApp, testApp } from '../support/app.ts'
import { basic, SECRET } from '../support/openid.ts'

const ROBOT: Client = { clientId: 'robot', clientSecret: SECRET, grantTypes: ['client_credentials'], scopes: ['read'] }
const STALE =
  'Bearer error="insufficient_user_authentication", error_description="A more recent sign-in is needed.", max_age="300"'
const WEAK =
  'Bearer error="insufficient_user_authentication", error_description="Another sign-in is ' +
  'needed.", acr_values="password"'

interface Subject extends TestApp {
  sub: string
  /** Status, challenge and `error` of an answer. */
  ask(url: string, token?: string): Promise<[status: number, challenge: unknown, error: unknown]>
}

async function subjectOf(t: Test, options: Partial<AuthorityOptions> = {}): Promise<Subject> {
  const subject = await testApp(
    { clients: [ROBOT], scopes: ['openid', 'profile', 'email', 'offline_access', 'read'], ...options },
    {},
    (host) => {
      // A handler of a route that is added before the plugin gets the hooks when it is called.
      const route = (url: string, required: AuthRequirements[]): void => {
        host.get(
          url,
          {
            errorHandler: tellCode,
            onRequest: [
              (...args) => {
                host.authenticate(...args)
              },
              ...required.map((each) => async (request: FastifyRequest) => {
                await host.requireAuth(each)(request)
              })
            ]
          },
          async () => 'open'
        )
      }
      route('/recent', [{ maxAge: 300 }])
      route('/password', [{ acr: 'password' }])
      route('/both', [{ maxAge: 300, acr: 'password' }])
      route('/several', [{ maxAge: 900 }, { maxAge: 300 }, { acr: 'password' }])
      route('/year', [{ maxAge: 31_536_000 }])
      host.get(
        '/scoped',
        {
          errorHandler: tellCode,
          onRequest: [
            (...args) => {
              host.authenticate(...args)
            },
            (...args) => {
              host.requireScope('read')(...args)
            },
            (...args) => {
              host.requireAuth({ maxAge: 300 })(...args)
            }
          ]
        },
        async () => 'open'
      )
      host.get(
        '/unguarded',
        {
          errorHandler: tellCode,
          onRequest: (...args) => {
            host.requireAuth({ maxAge: 300 })(...args)
          }
        },
        async () => 'open'
      )
    }
  )
  t.teardown(subject.close)
  const { sub } = await signUp(subject.app)
  return {
    ...subject,
    sub,
    async ask(url, token) {
      const reply = await subject.app.inject({ url, headers: token === undefined ? {} : bearer(token) })
      return [reply.statusCode, reply.headers['www-authenticate'], reply.statusCode === 200 ? null : reply.json().error]
    }
  }
}

const OPEN = [200, undefined, null]
const refused = (challenge: string) => [401, challenge, 'insufficient_user_authentication']

// covers ASVS-10.3.4 SU-06
t.test('requireAuth accepts a sign-in until maxAge, and not a second longer', async (t) => {
  const { app, ask, clock } = await subjectOf(t, { accessToken: { expiresIn: 86_400 } })
  const { access_token: token } = await signIn(app)
  const all = async (): Promise<unknown[]> =>
    await Promise.all(['/recent', '/password', '/both', '/several', '/year'].map(async (url) => await ask(url, token)))
  const both =
    'Bearer error="insufficient_user_authentication", error_description="Another sign-in is ' +
    'needed.", acr_values="password", max_age="300"'
  t.strictSame(await all(), [OPEN, OPEN, OPEN, OPEN, OPEN])
  // The claim has whole seconds, so the time limit counts from the start of that second.
  clock.step(300_000 - (clock.now() % 1000))
  t.strictSame(await all(), [OPEN, OPEN, OPEN, OPEN, OPEN], 'the last moment')
  clock.step(1)
  t.strictSame(
    await all(),
    [refused(STALE), OPEN, refused(both), refused(STALE), OPEN],
    'a moment later, and the challenge of both names both'
  )
  clock.step(999)
  t.strictSame(await all(), [refused(STALE), OPEN, refused(both), refused(STALE), OPEN], 'stale by one second')
  clock.step(600_000)
  t.strictSame(
    await ask('/several', token),
    refused(STALE.replace('300', '900')),
    'the first of several hooks that is not met says what it asks for'
  )
  t.strictSame(await ask('/recent', (await signIn(app)).access_token), OPEN, 'a new sign-in')
})

// covers SU-09
t.test('requireAuth rejects a token from a refresh of an older sign-in', async (t) => {
  const { app, ask, clock } = await subjectOf(t)
  const { refresh_token: refresh } = await signIn(app)
  clock.step(301_000)
  const own = (await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(refresh) })).json().access_token
  const granted = (
    await app.inject({
      method: 'POST',
      url: '/auth/token',
      payload: { grant_type: 'refresh_token', refresh_token: refresh }
    })
  ).json().access_token
  for (const token of [own, granted]) {
    t.strictSame(await ask('/recent', token), refused(STALE))
    t.strictSame(await ask('/password', token), OPEN, 'and no weaker')
  }
})

// covers SU-07 SU-08
t.test('treats a missing acr as unmet, and answers access_denied to a token without a user', async (t) => {
  const { app, ask, sub } = await subjectOf(t, { claims: () => ({ acr: 'phr', auth_time: 9e9, sid: 'x' }) })
  const byHost = async (amr?: string[]): Promise<string> => (await app.authority.issueTokens(sub, { amr })).access_token
  t.strictSame(await ask('/password', await byHost()), refused(WEAK), 'the host did not say how')
  t.strictSame(await ask('/password', await byHost(['face', 'otp'])), refused(WEAK), 'not a value of ours')
  t.strictSame(await ask('/recent', await byHost()), OPEN, 'but when')
  t.strictSame(await ask('/password', await byHost(['pwd'])), OPEN)
  const { access_token: robot } = (
    await app.inject({
      method: 'POST',
      url: '/auth/token',
      headers: basic('robot', SECRET),
      payload: { grant_type: 'client_credentials', scope: 'read' }
    })
  ).json()
  for (const url of ['/recent', '/password', '/both', '/year', '/scoped'])
    t.strictSame(await ask(url, robot), [403, undefined, 'access_denied'], url)
})

t.test('rejects a missing token, an invalid token, and a hook without authenticate before it', async (t) => {
  const { app, ask } = await subjectOf(t)
  const { access_token: token } = await signIn(app)
  t.strictSame(await ask('/recent'), [401, 'Bearer', 'invalid_token'])
  t.match(await ask('/recent', `${token}x`), [401, /^Bearer error="invalid_token"/, 'invalid_token'])
  t.strictSame(await ask('/unguarded', token), [500, undefined, 'server_error'])
  t.strictSame(
    await ask('/scoped', (await signIn(app, 'ann', undefined, { scope: 'openid' })).access_token),
    [403, 'Bearer error="insufficient_scope", scope="read"', 'insufficient_scope'],
    'the first hook answers'
  )
})

t.test('throws a StartError for an invalid requirement of requireAuth, and names the option', async (t) => {
  const { app } = await subjectOf(t)
  const rows: Array<[required: unknown, message: RegExp]> = [
    [undefined, /^Invalid option "requireAuth": got nothing; it takes \{ maxAge, acr \}/],
    [null, /"requireAuth": got null/],
    ['password', /"requireAuth": got "password"/],
    [[300], /"requireAuth": got an array/],
    [{}, /"requireAuth": got neither/],
    [{ maxAge: undefined, acr: undefined }, /"requireAuth": got neither/],
    [{ max_age: 300 }, /"requireAuth\.max_age": there is no such option/],
    [{ maxAge: 300, acrs: ['mfa'] }, /"requireAuth\.acrs"/],
    ...[null, '300', 0, -1, 0.5, Number.NaN, Infinity, 31_536_001, 2 ** 60, 300n].map((maxAge): [unknown, RegExp] => [
      { maxAge },
      /"requireAuth\.maxAge": got .*; it takes a whole number of seconds from 1 to 31536000/
    ]),
    ...[null, '', 1, 'mfa', 'phr', 'PASSWORD', 'password mfa', ['password'], 'x'.repeat(10_000)].map(
      (acr): [unknown, RegExp] => [
        { acr },
        /"requireAuth\.acr": got .*; it takes what a sign-in of this configuration can be worth \(password\)/
      ]
    )
  ]
  for (const [required, message] of rows) {
    t.throws(
      () => app.requireAuth(required as AuthRequirements),
      { code: 'FST_AUTHORITY_INVALID_OPTIONS', message, constructor: StartError } as never,
      String(message)
    )
  }
  t.doesNotThrow(() => app.requireAuth({ maxAge: 1, acr: undefined }))
})
