import t from '../../support/tap.ts'
import { logout } from '../../../lib/authorize/logout.ts'
import type { OAuthError } from '../../../lib/errors.ts'
import type { Client } from '../../../lib/ports/client-store.ts'
import type { OpenSession } from '../../../lib/sessions/browser-sessions.ts'
import type { LogoutParams } from '../../../lib/protocol/request-params.ts'
import type { IdTokenHint } from '../../../lib/tokens/id-tokens.ts'
import { partitionOf } from '../../../lib/protocol/digest.ts'
import { NEW_BROWSER, origin, sessionWorld } from '../sessions/session-world.ts'

const BACK = 'https://app.example/signed-out?from=op'
const CLIENTS: Client[] = [
  { clientId: 'app', postLogoutRedirectUris: [BACK, 'https://app.example/bye', 'javascript:alert(1)'] },
  { clientId: 'shop', firstParty: false, postLogoutRedirectUris: ['https://shop.example/bye'] },
  { clientId: 'bare' }
]

const INVALID = { code: 'FST_AUTHORITY_OAUTH', error: 'invalid_request', statusCode: 400 } as { code: string }

const anns = (name: string): string => partitionOf('ann') + name

/** Each hint is a name that stands for a verified ID token. Tests of ID tokens cover the verification. */
async function journey() {
  const world = sessionWorld()
  const { session, cookie } = await world.browser.start('ann', world.byPassword(), NEW_BROWSER)
  await world.addFamily({ sid: anns('app-online'), clientId: 'app', sessionSid: session.sid, offline: false })
  await world.addFamily({ sid: anns('app-offline'), clientId: 'app', sessionSid: session.sid })
  await world.addFamily({ sid: anns('shop-online'), clientId: 'shop', sessionSid: session.sid, offline: false })
  await world.addFamily({ sid: anns('shop-offline'), clientId: 'shop', sessionSid: session.sid })
  const hints: Record<string, IdTokenHint> = {
    mine: { sub: 'ann', aud: 'app', sid: session.sid },
    'no sid': { sub: 'ann', aud: 'app', sid: undefined },
    'former session': { sub: 'ann', aud: 'app', sid: 'former' },
    'other user': { sub: 'bob', aud: 'app', sid: undefined },
    'other user, this sid': { sub: 'bob', aud: 'app', sid: session.sid },
    bare: { sub: 'ann', aud: 'bare', sid: session.sid },
    gone: { sub: 'ann', aud: 'gone', sid: session.sid }
  }
  const deps = {
    clients: { findById: async (clientId: string) => CLIENTS.find((client) => client.clientId === clientId) ?? null },
    idTokens: { readHint: async (token: string) => hints[token] ?? null } as Parameters<typeof logout>[2]['idTokens'],
    sessions: world.sessions,
    accounts: { advise() {} }
  }
  return {
    ...world,
    session,
    ask: async (
      params: LogoutParams,
      { confirmed = false, session: of = session }: { confirmed?: boolean; session?: OpenSession | null } = {}
    ) => await logout(params, { session: of, origin, confirmed }, deps),
    alive: async () => (await world.browser.find(cookie)) !== null
  }
}

// covers OIDF-oidcc-rp-initiated-logout
t.test('signs out without a question for a hint of the current session, and redirects with the state', async (t) => {
  for (const hint of ['mine', 'no sid']) {
    const { ask, alive, families, loggedOut, ended } = await journey()
    t.strictSame(
      await ask({ id_token_hint: hint, post_logout_redirect_uri: BACK, state: 'a b&c=d' }),
      { outcome: 'redirect', ended: true, location: `${BACK}&state=a%20b%26c%3Dd` },
      hint
    )
    t.equal(await alive(), false)
    t.strictSame(
      await families(),
      [anns('shop-offline')],
      'the asking client loses all of it, the other keeps offline access'
    )
    t.equal(loggedOut.length, 1)
    t.equal(ended.length, 1)
  }
})

// covers OIDF-oidcc-rp-initiated-logout-no-state
t.test('redirects to exactly the registered URI when the request has no state', async (t) => {
  const { ask } = await journey()
  t.strictSame(
    await ask({ id_token_hint: 'mine', client_id: 'app', post_logout_redirect_uri: 'https://app.example/bye' }),
    { outcome: 'redirect', ended: true, location: 'https://app.example/bye' }
  )
})

// covers OIDF-oidcc-rp-initiated-logout-no-post-logout-redirect-uri
t.test('signs out and shows a page when the request names no redirect URI', async (t) => {
  const { ask, alive } = await journey()
  t.match(await ask({ id_token_hint: 'mine', state: 'x' }), { outcome: 'signed_out', client: { clientId: 'app' } })
  t.equal(await alive(), false)
})

// covers ASVS-10.6.2 OIDF-oidcc-rp-initiated-logout-no-params OIDF-oidcc-rp-initiated-logout-only-state
t.test('asks the user to confirm a sign-out without a hint of the current session', async (t) => {
  const cases: Record<string, LogoutParams> = {
    'no params': {},
    'only state': { state: 'x' },
    "a client's name": { client_id: 'app', post_logout_redirect_uri: BACK },
    'hint of a former session': { id_token_hint: 'former session' },
    'hint of another user': { id_token_hint: 'other user', post_logout_redirect_uri: BACK },
    'hint of another user with this sid': { id_token_hint: 'other user, this sid' }
  }
  for (const [what, params] of Object.entries(cases)) {
    const { ask, alive, families, session } = await journey()
    const asked = await ask(params)
    t.match(
      asked,
      { outcome: 'confirm', session: { sid: session.sid }, redirectUri: params.post_logout_redirect_uri ?? null },
      what
    )
    t.equal(await alive(), true, what)
    t.equal((await families()).length, 4, what)
    const done = await ask(params, { confirmed: true })
    t.strictSame(done.outcome, params.post_logout_redirect_uri === undefined ? 'signed_out' : 'redirect', what)
    t.equal(await alive(), false, what)
  }
})

// covers OIDF-oidcc-rp-initiated-logout-modified-id-token-hint OIDF-oidcc-rp-initiated-logout-bad-id-token-hint
t.test('asks a signed-in user to confirm, and does not redirect, when the hint cannot be verified', async (t) => {
  for (const params of [
    { id_token_hint: 'a key that is gone' },
    { id_token_hint: 'a key that is gone', post_logout_redirect_uri: BACK },
    { id_token_hint: 'a key that is gone', client_id: 'app', post_logout_redirect_uri: BACK }
  ]) {
    const { ask, alive, session } = await journey()
    t.match(await ask(params), { outcome: 'confirm', session: { sid: session.sid }, redirectUri: null })
    t.equal(await alive(), true)
    t.match(await ask(params, { session: null }), { outcome: 'signed_out', ended: false })
    t.match(await ask(params, { confirmed: true }), { outcome: 'signed_out', ended: true })
    t.equal(await alive(), false)
  }
})

// covers OIDF-oidcc-rp-initiated-logout-bad-post-logout-redirect-uri
t.test('rejects an invalid redirect URI or client, and keeps the session', async (t) => {
  const bad: Record<string, LogoutParams> = {
    'not registered': { id_token_hint: 'mine', post_logout_redirect_uri: 'https://evil.example/' },
    'OIDF-oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri': {
      id_token_hint: 'mine',
      post_logout_redirect_uri: `${BACK}&foo=bar`
    },
    'OIDF-oidcc-rp-initiated-logout-no-id-token-hint': { post_logout_redirect_uri: BACK },
    'a part of it': { id_token_hint: 'mine', post_logout_redirect_uri: 'https://app.example/' },
    'another case': { id_token_hint: 'mine', post_logout_redirect_uri: 'https://APP.example/bye' },
    'another port': { id_token_hint: 'mine', post_logout_redirect_uri: 'https://app.example:8443/bye' },
    'registered, but no URI to lead anyone to': {
      id_token_hint: 'mine',
      post_logout_redirect_uri: 'javascript:alert(1)'
    },
    "another client's URI": { id_token_hint: 'mine', post_logout_redirect_uri: 'https://shop.example/bye' },
    "another client than the hint's": {
      id_token_hint: 'mine',
      client_id: 'shop',
      post_logout_redirect_uri: 'https://shop.example/bye'
    },
    'another client, without a URI': { id_token_hint: 'mine', client_id: 'shop' },
    'unknown client': { client_id: 'nobody' },
    'a client without URIs': { id_token_hint: 'bare', post_logout_redirect_uri: BACK },
    'a client that is gone': { id_token_hint: 'gone', post_logout_redirect_uri: BACK }
  }
  for (const [what, params] of Object.entries(bad)) {
    for (const confirmed of [false, true]) {
      const { ask, alive, families, loggedOut, session } = await journey()
      for (const of of [session, null]) {
        await t.rejects(ask(params, { confirmed, session: of }), INVALID, what)
        t.notMatch(
          await ask(params, { confirmed, session: of }).catch((error: OAuthError) => error.message),
          /evil|alg none|foreign key/,
          'nothing of it is repeated'
        )
      }
      t.equal(await alive(), true, what)
      t.equal((await families()).length, 4, what)
      t.strictSame(loggedOut, [], what)
    }
  }
})

t.test('redirects a signed-out user for a hint or a confirmed form, but not for a client_id alone', async (t) => {
  const { ask, loggedOut } = await journey()
  const none = { session: null }
  t.match(await ask({}, none), { outcome: 'signed_out', ended: false, client: null })
  t.match(await ask({ id_token_hint: 'former session', post_logout_redirect_uri: BACK, state: 's' }, none), {
    outcome: 'redirect',
    location: `${BACK}&state=s`
  })
  t.match(
    await ask({ client_id: 'app', post_logout_redirect_uri: BACK }, none),
    { outcome: 'signed_out', client: { clientId: 'app' } },
    'a name alone leads nowhere'
  )
  t.match(
    await ask({ client_id: 'app', post_logout_redirect_uri: BACK }, { ...none, confirmed: true }),
    { outcome: 'redirect' },
    'the form sent twice ends as the first did'
  )
  t.strictSame(loggedOut, [])
})

// covers L4
t.test('ends the session that a valid hint names when the request has no cookie', async (t) => {
  const none = { session: null }
  const { ask, alive, families, loggedOut, ended } = await journey()
  for (const hint of ['no sid', 'former session', 'other user', 'other user, this sid', 'gone']) {
    const result = await ask({ id_token_hint: hint }, none)
    t.match(result, { outcome: 'signed_out', ended: false }, `a ${hint} ends nothing`)
  }
  for (const params of [{}, { client_id: 'app' }, { logout_hint: 'ann' }])
    t.match(await ask(params, none), { outcome: 'signed_out', ended: false }, JSON.stringify(params))
  await t.rejects(ask({ id_token_hint: 'mine', client_id: 'shop' }, none), INVALID, 'another client')
  t.equal(await alive(), true)
  t.equal((await families()).length, 4)
  t.strictSame(loggedOut, [])

  t.strictSame(await ask({ id_token_hint: 'mine', post_logout_redirect_uri: BACK, state: 's' }, none), {
    outcome: 'redirect',
    ended: true,
    location: `${BACK}&state=s`
  })
  t.equal(await alive(), false)
  t.strictSame(await families(), [anns('shop-offline')], 'as with the cookie')
  t.match(loggedOut, [{ userId: 'ann', by: 'user' }])
  t.equal(ended.length, 1, 'its clients are told')
  t.match(await ask({ id_token_hint: 'mine' }, none), { outcome: 'signed_out', ended: false }, 'once')
})

// covers L4
t.test('asks the signed-in user to confirm when the hint names the session of another user', async (t) => {
  const { ask, alive, loggedOut, browser, byPassword } = await journey()
  const { session: other } = await browser.start('bob', byPassword(), NEW_BROWSER)
  t.match(await ask({ id_token_hint: 'mine' }, { session: other }), { outcome: 'confirm', session: { userId: 'bob' } })
  t.equal(await alive(), true)
  t.strictSame(loggedOut, [])
})

t.test('accepts a hint whose client no longer exists', async (t) => {
  const { ask, alive } = await journey()
  t.match(await ask({ id_token_hint: 'gone' }), { outcome: 'signed_out', client: null })
  t.equal(await alive(), false)
})

t.test('rejects the sign-out with the error of the store when the store fails', async (t) => {
  const { session } = await journey()
  const deps = {
    clients: { findById: async () => null },
    idTokens: {},
    sessions: {
      revokeBrowserSession: async () => {
        throw new Error('down')
      }
    }
  } as unknown as Parameters<typeof logout>[2]
  await t.rejects(logout({}, { session, origin, confirmed: true }, deps), { message: 'down' })
})
