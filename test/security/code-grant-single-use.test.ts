import t, { type Test } from '../support/tap.ts'
import { memoryUserStore } from '../../lib/index.ts'
import { bearer, PASSWORD } from '../support/app.ts'
import {
  authorizeAs,
  authorizePath,
  basic,
  type CodeTokens,
  openidApp,
  type OpenidApp,
  redeem,
  SECRET,
  suitePath,
  tokensOf
} from '../support/openid.ts'

const OFFLINE = { scope: 'openid offline_access' }

async function codeOf(
  { browser }: Pick<OpenidApp, 'browser'>,
  params: Record<string, string> = OFFLINE
): Promise<string> {
  return (await authorizeAs(browser, authorizePath(params)))['code'] ?? ''
}

/** Tries the tokens of a grant at userinfo, /me, introspection and refresh. Refresh comes last, because it rotates. */
async function opens(
  { app }: Pick<OpenidApp, 'app'>,
  { access_token: access, refresh_token: refresh = '' }: CodeTokens
): Promise<Record<string, boolean>> {
  const userinfo = await app.inject({ url: '/auth/userinfo', headers: bearer(access) })
  const me = await app.inject({ url: '/me', headers: bearer(access) })
  const ask = async (token: string): Promise<boolean> =>
    (
      await app.inject({ method: 'POST', url: '/auth/introspect', headers: basic('web', SECRET), payload: { token } })
    ).json().active as boolean
  const accessActive = await ask(access)
  const refreshed = await app.inject({
    method: 'POST',
    url: '/auth/token',
    payload: { grant_type: 'refresh_token', refresh_token: refresh, client_id: 'spa' }
  })
  if (userinfo.statusCode !== 200 && userinfo.json().error !== 'invalid_token') throw new Error(userinfo.body)
  if (refreshed.statusCode !== 200 && refreshed.json().error !== 'invalid_grant') throw new Error(refreshed.body)
  return {
    userinfo: userinfo.statusCode === 200,
    me: me.statusCode === 200,
    introspect: accessActive,
    refresh: refreshed.statusCode === 200
  }
}
const ALL = { userinfo: true, me: true, introspect: true, refresh: true }
const NONE = { userinfo: false, me: false, introspect: false, refresh: false }

function refused(t: Test, reply: Awaited<ReturnType<typeof redeem>>, name: string, error = 'invalid_grant'): void {
  t.equal(reply.statusCode, error === 'invalid_client' ? 401 : 400, name)
  t.equal(reply.json().error, error, name)
  t.same(Object.keys(reply.json()), ['error', 'error_description'], name)
  t.match(
    reply.headers,
    { 'cache-control': 'no-store', pragma: 'no-cache', 'content-type': 'application/json; charset=utf-8' },
    name
  )
}

// covers R6749-4.1.2 ASVS-10.4.2 OIDF-oidcc-codereuse OIDF-oidcc-codereuse-30seconds
t.test('redeems a code once, and revokes its tokens on a second use', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const { app, clock, events } = subject
  for (const after of [0, 30_000, 61_000, 600_000]) {
    const code = await codeOf(subject)
    const tokens: CodeTokens = (await redeem(app, code)).json()
    t.same(await opens(subject, tokens), ALL, `before a replay after ${after} ms`)
    clock.step(after)
    events.length = 0
    refused(t, await redeem(app, code), `after ${after} ms`)
    t.same(await opens(subject, tokens), NONE, 'everything is dead')
    t.match(
      events.filter(({ name }) => name === 'logged_out'),
      [{ payload: { by: 'code_reused', userId: subject.ann.sub } }]
    )
    t.notMatch(JSON.stringify(events), code.split('.')[1] ?? 'x', 'the event has no secret')
    refused(t, await redeem(app, code), 'a third time')
  }
  t.match(
    await authorizeAs(subject.browser, authorizePath({ prompt: 'none' })),
    { code: /./ },
    'the browser session goes on'
  )
})

// covers ASVS-10.4.2
t.test('revokes refreshed tokens as well when their code is replayed', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const { app } = subject
  const code = await codeOf(subject)
  const { refresh_token: refresh } = (await redeem(app, code)).json()
  const second: CodeTokens = (
    await app.inject({
      method: 'POST',
      url: '/auth/token',
      payload: { grant_type: 'refresh_token', refresh_token: refresh, client_id: 'spa' }
    })
  ).json()
  refused(t, await redeem(app, code, { code_verifier: 'x'.repeat(43) }), 'whatever else is wrong with the replay')
  t.same(await opens(subject, second), NONE)
})

// covers ASVS-2.3.4 ADV-CVE-2026-53518
t.test('redeems a code for one of 50 parallel requests, and revokes the issued tokens', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const code = await codeOf(subject)
  const replies = await Promise.all(Array.from({ length: 50 }, async () => await redeem(subject.app, code)))
  const won = replies.filter(({ statusCode }) => statusCode === 200)
  t.equal(won.length, 1)
  for (const reply of replies) if (reply.statusCode !== 200) refused(t, reply, 'a loser')
  t.same(await opens(subject, won[0]?.json() as CodeTokens), NONE)
})

// covers R6749-4.1.3 R6749-10.5 R6749-3.2.1 ADV-CVE-2026-55672
t.test('refuses a code from another or unauthenticated client without using it up', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const { app, browser } = subject
  const code = await codeOf(subject)
  refused(t, await redeem(app, code, { client_id: 'web', client_secret: SECRET }), 'a confidential one')
  refused(t, await redeem(app, code, { client_id: undefined }, basic('third', SECRET)), 'a third party')
  refused(t, await redeem(app, code, { client_id: undefined }), 'nobody', 'invalid_client')
  refused(t, await redeem(app, code, { client_id: 'other' }), 'an unknown one', 'invalid_client')
  const tokens: CodeTokens = (await redeem(app, code)).json()
  t.ok(tokens.access_token, 'its own client redeems it still')
  refused(t, await redeem(app, code, { client_id: 'web', client_secret: SECRET }), 'after its use')
  t.same(await opens(subject, tokens), ALL, "a stranger's replay signs nobody out")
  for (const [what, params, headers, error] of [
    ['without secret', {}, {}, 'invalid_client'],
    ['a wrong one', { client_secret: `${SECRET}x` }, {}, 'invalid_client'],
    ['an empty one', { client_secret: '' }, {}, 'invalid_client'],
    ['a part', { client_secret: SECRET.slice(0, 32) }, {}, 'invalid_client'],
    ['two ways at once', { client_secret: SECRET }, basic('web', SECRET), 'invalid_request'],
    ['two ids', { client_id: 'spa' }, basic('web', SECRET), 'invalid_request'],
    ['a wrong Basic', { client_id: undefined }, basic('web', 'x'), 'invalid_client']
  ] as Array<[string, Record<string, string | undefined>, Record<string, string>, string]>) {
    const { code: ofWeb = '' } = await authorizeAs(browser, authorizePath({ client_id: 'web' }))
    const reply = await redeem(app, ofWeb, { client_id: 'web', ...params }, headers)
    refused(t, reply, `R6749-2.3 R6749-5.2 confidential, ${what}`, error)
    t.equal(
      'www-authenticate' in reply.headers,
      error === 'invalid_client' && 'authorization' in headers,
      'a challenge of the scheme that was used'
    )
    t.equal(
      (await redeem(app, ofWeb, { client_id: 'web', client_secret: SECRET })).statusCode,
      200,
      'the code is still good'
    )
  }
})

// covers R6749-4.1.3 R6749-10.6 OIDC-3.1.3.2 ASVS-2.2.3 C10
t.test('refuses a redirect_uri that differs from the authorization request, and uses the code up', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  for (const redirectUri of [
    'null',
    'https://app.example/cb/',
    'https://app.example/CB',
    'https://app.example/cb?',
    'https://evil.example/cb',
    'https://app.example/cb?dummy1=lorem&dummy2=ipsum'
  ]) {
    const { code = '' } = await authorizeAs(subject.browser, authorizePath({ client_id: 'web' }))
    refused(
      t,
      await redeem(subject.app, code, { client_id: 'web', client_secret: SECRET, redirect_uri: redirectUri }),
      redirectUri
    )
    refused(t, await redeem(subject.app, code, { client_id: 'web', client_secret: SECRET }), 'and then the right one')
  }
})

// covers R7636-4.1 R7636-4.6 R9700-2.1.1 R9700-4.8.2 ASVS-10.4.6 ADV-CVE-2026-41213
t.test('refuses a code with a wrong or missing code_verifier, and uses it up', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const { app, browser } = subject
  const good = 'a-verifier-of-at-least-43-characters-for-all-the-tests'
  for (const verifier of [
    undefined,
    '',
    'x',
    good.slice(0, 42),
    good.slice(0, -1),
    `${good} `,
    good.toUpperCase(),
    `${good}=`,
    'é'.repeat(43),
    'a'.repeat(43),
    'a'.repeat(129),
    'ZOhB8gEJj4wLtxNsi9QRThpUQoTjPGwSnDTqyNNoKrY'
  ]) {
    const code = await codeOf(subject)
    refused(t, await redeem(app, code, { code_verifier: verifier }), JSON.stringify(verifier))
    refused(t, await redeem(app, code), 'and then the right one')
  }
  refused(
    t,
    await redeem(app, await codeOf(subject), { code_verifier: 'a'.repeat(257) }),
    'a verifier past its bound',
    'invalid_request'
  )
  for (const verifier of [good, 'a'.repeat(43), 'x', good.slice(0, 42)]) {
    const { code = '' } = await authorizeAs(browser, suitePath())
    refused(
      t,
      await redeem(app, code, { client_id: 'suite', client_secret: SECRET, code_verifier: verifier }),
      `downgrade: a verifier without a challenge, ${verifier}`
    )
  }
  const { code = '' } = await authorizeAs(browser, suitePath())
  t.equal(
    (await redeem(app, code, { client_id: 'suite', client_secret: SECRET, code_verifier: undefined })).statusCode,
    200,
    'neither, of a client that needs none'
  )
  const { code: withChallenge = '' } = await authorizeAs(browser, authorizePath({ client_id: 'suite' }))
  refused(
    t,
    await redeem(app, withChallenge, { client_id: 'suite', client_secret: SECRET, code_verifier: undefined }),
    'R9700-2.1.1 a challenge without a verifier, though none was needed'
  )
  const [one, two] = [await codeOf(subject, { code_challenge: 'A'.repeat(43) }), await codeOf(subject)]
  refused(t, await redeem(app, one), 'R7636-4.4 the challenge belongs to its code')
  t.equal((await redeem(app, two)).statusCode, 200)
})

// covers ASVS-10.4.3 R6749-4.1.2
t.test('rejects a code after 60 seconds, or after the configured lifetime', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  for (const [ms, status] of [
    [59_000, 200],
    [59_999, 200],
    [60_000, 400],
    [60_001, 400],
    [600_000, 400]
  ] as const) {
    const code = await codeOf(subject)
    subject.clock.step(ms)
    t.equal((await redeem(subject.app, code)).statusCode, status, `${ms} ms`)
  }
  const quick = await openidApp({ authorizationCode: { expiresIn: 10 } })
  t.teardown(quick.close)
  const code = await codeOf(quick)
  quick.clock.step(10_000)
  refused(t, await redeem(quick.app, code), 'as configured')
})

// covers R6749-10.10 ASVS-7.2.3 ASVS-11.5.1
t.test('refuses malformed, guessed and altered codes', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const { app } = subject
  const tokens = await tokensOf(subject, OFFLINE)
  const code = await codeOf(subject)
  const [id = '', secret = ''] = code.split('.')
  t.ok(Buffer.from(secret, 'base64url').length >= 32, '256 bits')
  for (const [what, presented] of [
    ['made up', `${'A'.repeat(id.length)}.${'A'.repeat(secret.length)}`],
    ['half', id],
    ['the other half', secret],
    ['a guessed secret', `${id}.${'A'.repeat(secret.length)}`],
    ['longer', `${code}A`],
    ['with padding', `${code}=`],
    ['with a space', `${code} `],
    [
      'ADV-CVE-2026-27840 spare bits',
      `${code.slice(0, -1)}${String.fromCodePoint((code.codePointAt(code.length - 1) ?? 0) + 1)}`
    ],
    ['ADV-CVE-2026-4282 ASVS-9.2.2 a refresh token', tokens.refresh_token ?? ''],
    ['an access token', tokens.access_token.slice(0, 500)],
    ['an ID token', (tokens.id_token ?? '').slice(0, 500)],
    ['the session cookie', [...subject.browser.cookies.values()][0] ?? '']
  ] as const)
    refused(t, await redeem(app, presented), what)
  t.same(
    await opens(subject, tokens),
    NONE,
    "its family's id with another secret is a replay: nobody but a holder knows the id"
  )
  refused(t, await redeem(app, code), 'and a guess at a secret was the only one')
  for (const [what, value, error] of [
    ['empty', '', 'invalid_request'],
    ['absent', undefined, 'invalid_request'],
    ['C4 long', 'a'.repeat(513), 'invalid_grant']
  ] as const)
    refused(t, await redeem(app, value as string, { code: value }), what, error)
  for (const value of [['a'], {}, 1, true, null]) {
    const reply = await app.inject({
      method: 'POST',
      url: '/auth/token',
      payload: { grant_type: 'authorization_code', client_id: 'spa', code: value, redirect_uri: 'x' }
    })
    refused(t, reply, `ADV-CVE-2013-0233 ${JSON.stringify(value)}`, 'invalid_request')
  }
  const refreshing = await app.inject({
    method: 'POST',
    url: '/auth/token',
    payload: { grant_type: 'refresh_token', client_id: 'spa', refresh_token: code }
  })
  refused(t, refreshing, 'a code is no refresh token')
  t.equal(
    (await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(await codeOf(subject)) })).statusCode,
    401
  )
})

// covers ASVS-7.4.1 ASVS-7.4.2 ASVS-7.4.3 ASVS-8.3.2
t.test('rejects codes and access tokens after sign-out, a password change, disabling or revokeUser', async (t) => {
  let disabled = false
  const rows: Array<[what: string, end: (subject: OpenidApp, access: string) => Promise<unknown>]> = [
    ['sign-out', async ({ browser }) => await browser.submit('/auth/logout', { decision: 'sign_out' })],
    [
      'a changed password',
      async ({ app }, access) =>
        await app.inject({
          method: 'POST',
          url: '/auth/password',
          headers: bearer(access),
          payload: { current_password: PASSWORD, new_password: 'a wholly new password' }
        })
    ],
    [
      'a disabled account',
      async () => {
        disabled = true
      }
    ],
    [
      'revokeUser',
      async ({ app, ann }) => {
        await app.authority.revokeUser(ann.sub)
      }
    ]
  ]
  for (const [what, end] of rows) {
    const users = memoryUserStore()
    const find = users.findById
    disabled = false
    const subject = await openidApp({
      users: {
        ...users,
        findById: async (id) => {
          const user = await find(id)
          return user === null || !disabled ? user : { ...user, disabled }
        }
      }
    })
    const elsewhere: CodeTokens = (
      await subject.app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'password', username: 'ann', password: PASSWORD }
      })
    ).json()
    const tokens = await tokensOf(subject)
    const code = await codeOf(subject, {})
    await end(subject, elsewhere.access_token)
    refused(t, await redeem(subject.app, code), `a code after ${what}`)
    t.equal(
      (await subject.app.inject({ url: '/auth/userinfo', headers: bearer(tokens.access_token) })).statusCode,
      401,
      `an access token after ${what}`
    )
    t.equal(
      (
        await subject.app.inject({
          method: 'POST',
          url: '/auth/introspect',
          headers: basic('web', SECRET),
          payload: { token: tokens.access_token }
        })
      ).json().active,
      false,
      `introspection after ${what}`
    )
    t.match(
      await authorizeAs(subject.browser, authorizePath({ prompt: 'none' })),
      { error: 'login_required', code: undefined },
      `the browser session after ${what}`
    )
    disabled = false
    if (what === 'a disabled account')
      refused(t, await redeem(subject.app, code), 'nor when the account is enabled again')
    await subject.close()
  }
})
