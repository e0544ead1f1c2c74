import t from '../support/tap.ts'
import type { Client } from '../../lib/index.ts'
import { bearer, ISSUER, PASSWORD } from '../support/app.ts'
import { formAction } from '../support/browser.ts'
import {
  answerOf,
  authorizeAs,
  authorizePath,
  basic,
  CLIENTS,
  openidApp,
  type OpenidApp,
  redeem,
  SECRET
} from '../support/openid.ts'

const THIRD = 'https://third.example/cb'
const NATIVE: Client = {
  clientId: 'native',
  applicationType: 'native',
  name: 'An App',
  firstParty: false,
  redirectUris: ['http://127.0.0.1/cb', 'com.example.app:/cb', 'https://app.example/universal']
}
const OWN_NATIVE: Client = { ...NATIVE, clientId: 'own-native', name: 'Our App', firstParty: true }
const thirdPath = (params: Record<string, string | undefined> = {}): string =>
  authorizePath({ client_id: 'third', redirect_uri: THIRD, ...params })

/** Follows a signed-in user's request to the consent page or back to the client. */
async function lead(
  { browser }: OpenidApp,
  path: string
): Promise<{ page: string; action: string } | { answer: Record<string, string> }> {
  const { reply, url } = await browser.follow(await browser.get(path))
  return reply.statusCode === 200 && url.startsWith(`${ISSUER}/auth/consent?`)
    ? { page: reply.body, action: formAction(reply.body) }
    : { answer: answerOf(url) }
}

/** Presses a button of the consent page, and resolves to the response to the client. */
async function decide(subject: OpenidApp, path: string, decision: 'allow' | 'deny'): Promise<Record<string, string>> {
  const asked = await lead(subject, path)
  if (!('action' in asked)) throw new Error(`not asked: ${JSON.stringify(asked)}`)
  const { url } = await subject.browser.follow(await subject.browser.submit(asked.action, { decision }))
  return answerOf(url)
}

// covers ASVS-10.7.1
t.test('asks for consent to a third-party client at first use, for further scopes and after a year', async (t) => {
  const subject = await openidApp({ session: { expiresIn: 31_536_000, idleTimeout: 31_536_000 } })
  t.teardown(subject.close)
  t.type((await authorizeAs(subject.browser, authorizePath())).code, 'string', 'first party: no page but the sign-in')
  const asks = async (params: Record<string, string | undefined>): Promise<boolean> =>
    'page' in (await lead(subject, thirdPath(params)))

  t.match(await decide(subject, thirdPath({ scope: 'openid' }), 'deny'), {
    error: 'access_denied',
    state: 'state-1',
    iss: ISSUER
  })
  t.equal(await asks({ scope: 'openid' }), true, 'a refusal is not remembered')
  t.type((await decide(subject, thirdPath({ scope: 'openid email' }), 'allow')).code, 'string')
  t.equal(await asks({ scope: 'openid email' }), false, 'an allowance is')
  t.equal(await asks({ scope: 'openid' }), false, 'less than was allowed')
  t.equal(await asks({ scope: 'openid profile' }), true, 'other than was allowed')
  t.equal(await asks({ scope: 'openid', prompt: 'consent' }), true, 'where the client wants it')
  t.match(await lead(subject, thirdPath({ scope: 'openid profile', prompt: 'none' })), {
    answer: { error: 'consent_required' }
  })
  subject.clock.step(364 * 86_400_000)
  t.equal(await asks({ scope: 'openid email' }), false)
  subject.clock.step(86_400_000 - 1000)
  await subject.browser.submit('/auth/login', { username: 'ann', password: 'correct horse battery' })
  subject.clock.step(1001)
  t.equal(await asks({ scope: 'openid email' }), true, 'a year later')
})

// covers A7 ASVS-10.7.1 R8252-8.6
t.test('asks for consent every time for a native app whose redirect URI other apps can claim', async (t) => {
  const subject = await openidApp({ clients: [...CLIENTS, NATIVE] })
  t.teardown(subject.close)
  await authorizeAs(subject.browser, authorizePath())
  for (const redirectUri of ['http://127.0.0.1:49152/cb', 'com.example.app:/cb']) {
    const path = authorizePath({ client_id: 'native', redirect_uri: redirectUri })
    t.type((await decide(subject, path, 'allow')).code, 'string')
    t.ok('page' in (await lead(subject, path)), `${redirectUri}, at once again`)
    t.match(await lead(subject, authorizePath({ client_id: 'native', redirect_uri: redirectUri, prompt: 'none' })), {
      answer: { error: 'interaction_required' }
    })
  }
  const claimed = { client_id: 'native', redirect_uri: 'https://app.example/universal' }
  t.type(
    (await authorizeAs(subject.browser, authorizePath({ ...claimed, prompt: 'none' }))).code,
    'string',
    'R8252-7.2 at an https address that the system keeps for it, the consent of before counts'
  )
})

// covers ASVS-10.7.2
t.test('names client, destination, user, scopes and duration on the consent page', async (t) => {
  const subject = await openidApp({ scopes: ['openid', 'profile', 'email', 'offline_access', 'orders:read'] })
  t.teardown(subject.close)
  await authorizeAs(subject.browser, authorizePath())
  const textOf = async (scope: string): Promise<string> => {
    const asked = await lead(subject, thirdPath({ scope, prompt: 'consent' }))
    if (!('page' in asked)) throw new Error('not asked')
    return asked.page
      .replace(/^[\s\S]*<main/, '<main')
      .replace(/<[^>]+>/g, ' ')
      .replace(/\s+/g, ' ')
  }
  const text = await textOf('openid email orders:read')
  for (const said of ['A Third Party', 'third.example', 'ann', 'orders:read', '15 minutes'])
    t.ok(text.includes(said), `${said} in: ${text}`)
  t.match(text, /e-?mail/i)
  t.notMatch(text, /profile/i, 'what is not asked for is not on it')
  t.ok((await textOf('openid offline_access')).includes('30 days'), 'as long as a refresh token lives')
})

// covers ASVS-10.7.1 ASVS-8.2.3
t.test('grants the scopes of the request, and ignores client_id, scope and user_id in the posted form', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const { app, ann, browser } = subject
  await authorizeAs(browser, authorizePath())
  const asked = await lead(subject, thirdPath({ scope: 'openid' }))
  if (!('action' in asked)) throw new Error('not asked')
  await browser.submit(asked.action, {
    decision: 'allow',
    scope: 'openid profile email',
    client_id: 'other',
    user_id: 'somebody'
  })
  t.match(await app.authority.consents(ann.sub), [{ clientId: 'third', scopes: ['openid'] }])
  t.ok('page' in (await lead(subject, thirdPath({ scope: 'openid email' }))))
})

// covers ASVS-10.7.3 ASVS-10.4.9
t.test('ends tokens when consent is withdrawn, and asks for consent again', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const { app, ann, browser } = subject
  await authorizeAs(browser, authorizePath())
  const { code = '' } = await decide(subject, thirdPath({ scope: 'openid offline_access', prompt: 'consent' }), 'allow')
  const tokens = (await redeem(app, code, { client_id: undefined, redirect_uri: THIRD }, basic('third', SECRET))).json()
  t.equal((await app.inject({ url: '/auth/userinfo', headers: bearer(tokens.access_token as string) })).statusCode, 200)
  t.equal(await app.authority.revokeConsent(ann.sub, 'third'), true)
  t.equal(await app.authority.revokeConsent(ann.sub, 'third'), false)
  t.same(await app.authority.consents(ann.sub), [])
  t.equal((await app.inject({ url: '/auth/userinfo', headers: bearer(tokens.access_token as string) })).statusCode, 401)
  const refresh = await app.inject({
    method: 'POST',
    url: '/auth/token',
    headers: basic('third', SECRET),
    payload: { grant_type: 'refresh_token', refresh_token: tokens.refresh_token as string }
  })
  t.equal(refresh.json().error, 'invalid_grant')
  t.ok('page' in (await lead(subject, thirdPath({ scope: 'openid' }))))
})

t.test('shows the logo and page of a client on the consent page, and loads only that logo', async (t) => {
  const shown = async (more: object): Promise<{ body: string; policy: string }> => {
    const { browser, close } = await openidApp({
      clients: [
        {
          clientId: 'third',
          name: 'A Third Party',
          firstParty: false,
          clientSecret: SECRET,
          redirectUris: ['https://third.example/cb'],
          ...more
        }
      ]
    })
    t.teardown(close)
    const { url } = await browser.follow(
      await browser.get(authorizePath({ client_id: 'third', redirect_uri: 'https://third.example/cb' }))
    )
    const { reply } = await browser.follow(await browser.submit(url, { username: 'ann', password: PASSWORD }))
    return { body: reply.body, policy: String(reply.headers['content-security-policy']) }
  }
  const both = await shown({
    clientUri: 'https://third.example/about',
    logoUri: 'https://cdn.third.example/logo.svg?a=1&b=2'
  })
  t.match(
    both.body,
    '<img class="icon" src="https://cdn.third.example/logo.svg?a=1&amp;b=2" alt="" width="56" height="56">'
  )
  t.match(both.body, '<a href="https://third.example/about">third.example</a>')
  t.match(both.policy, "img-src 'self' data: https://cdn.third.example;")
  const none = await shown({})
  t.notMatch(none.body, '<img')
  t.match(none.policy, "img-src 'self' data:;")
})

// covers A7 R8252-8.6
t.test('shows a page before each code for a first-party native app with a claimable redirect URI', async (t) => {
  const subject = await openidApp({
    clients: [
      ...CLIENTS,
      OWN_NATIVE,
      { clientId: 'dev', name: 'In development', redirectUris: ['http://localhost:5173/cb'] }
    ]
  })
  t.teardown(subject.close)
  const { app, browser, ann } = subject
  const LOOPBACK = 'http://127.0.0.1:49152/cb'
  for (const redirectUri of [LOOPBACK, 'com.example.app:/cb']) {
    const path = (params: Record<string, string> = {}): string =>
      authorizePath({ client_id: 'own-native', redirect_uri: redirectUri, ...params })
    browser.cookies.clear()
    t.equal(
      answerOf((await browser.get(path({ prompt: 'none' }))).headers.location as string).error,
      'interaction_required',
      'nor does it learn that nobody is signed in'
    )
    t.type((await authorizeAs(browser, path())).code, 'string', 'the sign-in page is a page, and no other follows it')
    for (let times = 0; times < 2; times++) {
      const asked = await lead(subject, path())
      if (!('page' in asked)) throw new Error(`${redirectUri}: a code without a page`)
      t.match(asked.page, /Our App/)
      t.match(asked.page, /ann/)
      t.notMatch(asked.page, /<ul class="scopes"/, 'it asks for nothing')
    }
    t.type((await decide(subject, path(), 'allow')).code, 'string')
    t.equal((await decide(subject, path(), 'deny')).error, 'access_denied')
    t.match(await lead(subject, path({ prompt: 'none' })), { answer: { error: 'interaction_required' } })
    t.type((await authorizeAs(browser, path({ prompt: 'login' }))).code, 'string', 'prompt=login is a page')
    t.ok('page' in (await lead(subject, path({ prompt: 'consent' }))))
  }
  t.same(await app.authority.consents(ann.sub), [], 'nothing was remembered')
  t.type(
    (
      await authorizeAs(
        browser,
        authorizePath({ client_id: 'own-native', redirect_uri: 'https://app.example/universal', prompt: 'none' })
      )
    ).code,
    'string',
    'R8252-7.2'
  )
  t.type(
    (
      await authorizeAs(
        browser,
        authorizePath({ client_id: 'dev', redirect_uri: 'http://localhost:5173/cb', prompt: 'none' })
      )
    ).code,
    'string',
    'a page that is developed on this machine is a web client'
  )
  t.equal(
    (await browser.get(authorizePath({ client_id: 'dev', redirect_uri: 'http://localhost:5174/cb' }))).statusCode,
    400,
    'whose address matches exactly'
  )
})

// covers A10 ASVS-10.7.1
t.test('reveals to a client without consent only that a user is signed in', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const { ann, browser, clock } = subject
  const { id_token: hint = '' } = (
    await redeem(subject.app, (await authorizeAs(browser, authorizePath())).code ?? '')
  ).json() as { id_token?: string }
  clock.step(100_000)
  const claims = (sub: string): string => JSON.stringify({ id_token: { sub: { value: sub } } })
  const guesses: Array<Record<string, string>> = [
    {},
    { claims: claims(ann.sub) },
    { claims: claims('somebody else') },
    { id_token_hint: hint },
    { max_age: '0' },
    { max_age: '50' },
    { max_age: '5000' }
  ]
  for (const guess of guesses)
    t.match(
      await lead(subject, thirdPath({ prompt: 'none', ...guess })),
      { answer: { error: 'consent_required' } },
      JSON.stringify(guess)
    )
  for (const guess of guesses.filter((guess) => !('max_age' in guess)))
    t.ok('page' in (await lead(subject, thirdPath(guess))), 'and with pages, the person is asked first')
  t.equal(
    (await decide(subject, thirdPath({ claims: claims('somebody else') }), 'allow')).error,
    'login_required',
    'then it is told'
  )
  t.match(await lead(subject, thirdPath({ prompt: 'none', claims: claims('somebody else') })), {
    answer: { error: 'login_required' }
  })
  t.match(await lead(subject, thirdPath({ prompt: 'none', max_age: '50' })), { answer: { error: 'login_required' } })
  t.type(
    (await authorizeAs(browser, thirdPath({ prompt: 'none', claims: claims(ann.sub), max_age: '5000' }))).code,
    'string'
  )
})

// covers L6 OIDC-11
t.test('asks for offline_access on the consent page, and grants it if allowed', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const { app, browser, ann } = subject
  await authorizeAs(browser, authorizePath())
  const scopeOf = async ({ code = '' }: Record<string, string>): Promise<[scope: string, refresh: boolean]> => {
    const tokens = (
      await redeem(app, code, { client_id: undefined, redirect_uri: THIRD }, basic('third', SECRET))
    ).json() as { scope: string; refresh_token?: string }
    return [tokens.scope, tokens.refresh_token !== undefined]
  }
  const path = thirdPath({ scope: 'openid email offline_access' })
  const asked = await lead(subject, path)
  t.match('page' in asked ? asked.page : '', /keep this access when you’re not using the app/)
  t.strictSame(await scopeOf(await decide(subject, path, 'allow')), ['openid email offline_access', true])
  t.strictSame(
    await scopeOf(await authorizeAs(browser, thirdPath({ scope: 'openid email offline_access', prompt: 'none' }))),
    ['openid email offline_access', true],
    'and remembered'
  )
  await app.authority.revokeConsent(ann.sub, 'third')
  await decide(subject, thirdPath({ scope: 'openid email' }), 'allow')
  t.strictSame(
    await scopeOf(await authorizeAs(browser, thirdPath({ scope: 'openid email offline_access', prompt: 'none' }))),
    ['openid email', false],
    'without a page, what was never allowed is left out'
  )
  t.ok('page' in (await lead(subject, path)), 'with one, it is asked for')
})
