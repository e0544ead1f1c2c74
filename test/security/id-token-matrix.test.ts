import { cookieName } from '../support/cookies.ts'
import t from '../support/tap.ts'
import { bearer } from '../support/app.ts'
import { decodeJwt } from '../support/jwt.ts'
import {
  answerOf,
  authorizeAs,
  authorizePath,
  basic,
  CLIENTS,
  KEYS,
  openidApp,
  redeem,
  SECRET,
  tokensOf
} from '../support/openid.ts'
import { forgedJwt } from './support/forged-jwt.ts'

type Artefact = 'access' | 'id' | 'refresh' | 'code' | 'cookie' | 'logout' | 'sid' | 'own access'

// covers ASVS-9.2.2 ADV-CVE-2026-4282 R8725-3.12 R9068-4 OIDC-5.3.1
t.test('accepts each kind of token and code at its own endpoints only', async (t) => {
  const subject = await openidApp({
    clients: [
      ...CLIENTS,
      { clientId: 'machine', clientSecret: SECRET, grantTypes: ['client_credentials'], scopes: ['api'] }
    ],
    scopes: ['openid', 'offline_access', 'api']
  })
  t.teardown(subject.close)
  const { app, browser } = subject
  const tokens = await tokensOf(subject, { scope: 'openid offline_access' })
  const { code = '' } = await authorizeAs(browser, authorizePath())
  const { header, claims } = decodeJwt(tokens.id_token ?? '')
  const { access_token: own } = (
    await app.inject({
      method: 'POST',
      url: '/auth/token',
      headers: basic('machine', SECRET),
      payload: { grant_type: 'client_credentials' }
    })
  ).json()
  const logout = {
    iss: claims['iss'],
    sub: claims['sub'],
    aud: 'spa',
    iat: claims['iat'],
    exp: Number(claims['iat']) + 120,
    jti: 'j',
    events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    sid: claims['sid']
  }
  const artefacts: Record<Artefact, string> = {
    access: tokens.access_token,
    id: tokens.id_token ?? '',
    refresh: tokens.refresh_token ?? '',
    code,
    cookie: [...browser.cookies.values()][0] ?? '',
    logout: forgedJwt(KEYS[1] ?? null, { ...header, typ: 'logout+jwt' }, logout),
    sid: String(claims['sid']),
    'own access': own
  }
  for (const [name, value] of Object.entries(artefacts)) t.ok(value.length > 20, name)
  const post = async (
    url: string,
    payload: Record<string, string>,
    headers: Record<string, string> = {}
  ): Promise<number> => (await app.inject({ method: 'POST', url, payload, headers })).statusCode
  const doors: Record<string, { open: (artefact: string) => Promise<boolean>; fits: Artefact[] }> = {
    'userinfo, header': {
      open: async (artefact) =>
        (await app.inject({ url: '/auth/userinfo', headers: bearer(artefact) })).statusCode === 200,
      fits: ['access']
    },
    'userinfo, form': {
      open: async (artefact) =>
        (
          await app.inject({
            method: 'POST',
            url: '/auth/userinfo',
            headers: { 'content-type': 'application/x-www-form-urlencoded' },
            payload: new URLSearchParams({ access_token: artefact }).toString()
          })
        ).statusCode === 200,
      fits: ['access']
    },
    'a guarded route': {
      open: async (artefact) => (await app.inject({ url: '/me', headers: bearer(artefact) })).statusCode === 200,
      fits: ['access', 'own access']
    },
    sessions: {
      open: async (artefact) =>
        (await app.inject({ url: '/auth/sessions', headers: bearer(artefact) })).statusCode === 200,
      fits: ['access']
    },
    introspection: {
      open: async (artefact) =>
        (
          await app.inject({
            method: 'POST',
            url: '/auth/introspect',
            headers: basic('web', SECRET),
            payload: { token: artefact }
          })
        ).json().active as boolean,
      fits: ['access', 'own access']
    },
    'authorize by cookie': {
      open: async (artefact) =>
        'code' in
        answerOf(
          String(
            (
              await app.inject({
                url: authorizePath({ prompt: 'none' }),
                cookies: { [cookieName('session')]: artefact }
              })
            ).headers.location
          )
        ),
      fits: ['cookie']
    },
    'client secret': {
      open: async (artefact) =>
        (await post('/auth/token', {
          grant_type: 'client_credentials',
          client_id: 'web',
          client_secret: artefact.slice(0, 1024)
        })) === 200,
      fits: []
    },
    password: {
      open: async (artefact) =>
        (await post('/auth/token', { grant_type: 'password', username: 'ann', password: artefact })) === 200,
      fits: []
    },
    reset: {
      open: async (artefact) =>
        (await post('/auth/password-reset/confirm', {
          token: artefact.slice(0, 512),
          password: 'a wholly new password'
        })) === 204,
      fits: []
    },
    'POST refresh': {
      open: async (artefact) => (await post('/auth/refresh', {}, bearer(artefact))) === 200,
      fits: ['refresh']
    },
    'refresh grant': {
      open: async (artefact) =>
        (await post('/auth/token', {
          grant_type: 'refresh_token',
          client_id: 'spa',
          refresh_token: artefact.slice(0, 512)
        })) === 200,
      fits: ['refresh']
    },
    'code grant': {
      open: async (artefact) => (await redeem(app, artefact.slice(0, 512))).statusCode === 200,
      fits: ['code']
    },
    // The last one: an ID token ends the session that it names, with or without a cookie.
    'logout by hint': {
      open: async (artefact) =>
        (
          await app.inject({
            url: `/auth/logout?${new URLSearchParams({ id_token_hint: artefact, post_logout_redirect_uri: 'https://app.example/logged-out' }).toString()}`
          })
        ).statusCode === 303,
      fits: ['id']
    }
  }
  for (const [door, { open, fits }] of Object.entries(doors)) {
    // At the code grant, a refresh token is a replay and ends its family, so it is tried last.
    for (const [name, artefact] of Object.entries(artefacts))
      t.equal(await open(artefact), (fits as string[]).includes(name), `${name} at ${door}`)
  }
})
