/**
 * An access token is for APIs and an ID token is for its client. Neither passes for the other at any place that takes a
 * token, whichever `typ` and whichever algorithm the host has chosen for its access tokens.
 */
import { createPublicKey, type JsonWebKeyInput, verify } from 'node:crypto'
import t from '../support/tap.ts'
import { memoryState, memoryUserStore } from '../../lib/index.ts'
import { bearer, ISSUER, signIn, signUp, testApp } from '../support/app.ts'
import { decodeJwt } from '../support/jwt.ts'
import {
  answerOf,
  authorizePath,
  basic,
  CALLBACK,
  CLIENTS,
  KEYS,
  openidApp,
  SECRET,
  tokensOf
} from '../support/openid.ts'

const API = 'https://api.example'
const STATE_SECRET = 'kJ8v2Qm4Xr7Zt1Wc9Ly6Bn3Hs5Dg0Pf!'
// The claims of a host that puts every mark of an ID token into its access tokens.
const claims = (): Record<string, unknown> => ({
  at_hash: 'x'.repeat(22),
  nonce: 'n',
  azp: 'spa',
  typ: 'JWT',
  jti: 'hosts-own',
  aud: 'spa'
})

for (const typ of ['at+jwt', 'JWT'] as const) {
  for (const [keys, audience] of [
    [KEYS, ISSUER],
    [[KEYS[1] as (typeof KEYS)[0]], [ISSUER, API]]
  ] as const) {
    // covers L1 L8
    t.test(
      `RFC 8725 §3.11 typ ${typ}, signed with ${keys[0]?.alg}: accepts no ID token as access token, nor the reverse`,
      async (t) => {
        const subject = await openidApp({
          keys: [...keys],
          claims,
          accessToken: { typ, audience: typeof audience === 'string' ? audience : [...audience] }
        })
        t.teardown(subject.close)
        const { app, browser, events } = subject
        const { access_token: access, id_token: id = '' } = await tokensOf(subject, {
          scope: 'openid profile offline_access'
        })
        t.match(decodeJwt(access), { header: { typ, alg: keys[0]?.alg }, claims: { aud: audience } })
        t.equal(decodeJwt(id).header['typ'], 'JWT')
        t.not(decodeJwt(access).claims['jti'], 'hosts-own')

        const asAccess = {
          guard: async (token: string) => (await app.inject({ url: '/me', headers: bearer(token) })).statusCode === 200,
          userinfo: async (token: string) =>
            (await app.inject({ url: '/auth/userinfo', headers: bearer(token) })).statusCode === 200,
          sessions: async (token: string) =>
            (await app.inject({ url: '/auth/sessions', headers: bearer(token) })).statusCode === 200,
          'app.authority.verify': async (token: string) =>
            await app.authority.verify(token).then(
              () => true,
              () => false
            ),
          introspect: async (token: string) =>
            (
              await app.inject({
                method: 'POST',
                url: '/auth/introspect',
                headers: basic('web', SECRET),
                payload: { token }
              })
            ).json<{ active: boolean }>().active
        }
        for (const [place, accepts] of Object.entries(asAccess)) {
          t.equal(await accepts(access), true, `${place} takes an access token`)
          t.equal(await accepts(id), false, `${place} takes no ID token`)
        }
        // Revocation must end nothing for an ID token, whatever it answers.
        await app.inject({ method: 'POST', url: '/auth/revoke', payload: { token: id, client_id: 'spa' } })
        t.strictSame(
          events.filter(({ name }) => name === 'logged_out'),
          [],
          'revoke takes no ID token'
        )

        const hinted = async (hint: string): Promise<Record<string, string>> =>
          answerOf(String((await browser.get(authorizePath({ id_token_hint: hint, prompt: 'none' }))).headers.location))
        t.match(await hinted(id), { code: /./ }, 'an ID token is a hint')
        t.match(await hinted(access), { code: /./ }, 'an access token counts as none')
        t.equal(
          (await browser.get(`/auth/logout?id_token_hint=${access}`)).statusCode,
          200,
          'at the end of a session too: the page asks'
        )
        t.equal(await asAccess.guard(access), true, 'which has not ended')

        await app.inject({ method: 'POST', url: '/auth/revoke', payload: { token: access, client_id: 'spa' } })
        t.equal(await asAccess.guard(access), false, 'revoke takes an access token')
      }
    )
  }
}

// covers L1
t.test('accepts at+jwt tokens that were issued before accessToken.typ changed', async (t) => {
  const [state, users] = [memoryState(), memoryUserStore()]
  const before = await testApp({ state, users, keys: KEYS })
  t.teardown(before.close)
  await signUp(before.app)
  const { access_token: old } = await signIn(before.app)
  const after = await testApp({ state, users, keys: KEYS, accessToken: { typ: 'JWT' } })
  t.teardown(after.close)
  const { access_token: fresh } = await signIn(after.app)
  t.equal(decodeJwt(old).header['typ'], 'at+jwt')
  t.equal(decodeJwt(fresh).header['typ'], 'JWT')
  for (const token of [old, fresh, old, fresh])
    t.equal((await after.app.inject({ url: '/me', headers: bearer(token) })).statusCode, 200)
  t.equal(
    (await before.app.inject({ url: '/me', headers: bearer(fresh) })).statusCode,
    401,
    'without the option, RFC 9068 is as strict as ever'
  )
})

// covers L8
t.test('accepts access tokens across instances that sign with ES256 and RS256', async (t) => {
  const [state, users] = [memoryState(), memoryUserStore()]
  const clients = CLIENTS
  const [elliptic, rsa] = (await Promise.all(
    (['ES256', 'RS256'] as const).map(
      async (alg) => await testApp({ state, users, clients, secret: STATE_SECRET, accessToken: { alg } })
    )
  )) as [Awaited<ReturnType<typeof testApp>>, Awaited<ReturnType<typeof testApp>>]
  t.teardown(async () => {
    await elliptic.close()
    await rsa.close()
  })
  await signUp(elliptic.app)
  const tokens = { ES256: (await signIn(elliptic.app)).access_token, RS256: (await signIn(rsa.app)).access_token }
  // An instance looks for keys made elsewhere at most once in five seconds.
  elliptic.clock.step(6000)
  const { keys } = (await rsa.app.inject('/.well-known/jwks.json')).json<{
    keys: Array<JsonWebKeyInput['key'] & { kid: string; alg: string }>
  }>()
  for (const [alg, token] of Object.entries(tokens)) {
    const { header } = decodeJwt(token)
    t.equal(header['alg'], alg)
    for (const { app } of [elliptic, rsa])
      t.equal((await app.inject({ url: '/me', headers: bearer(token) })).statusCode, 200, alg)
    const key = keys.find(({ kid }) => kid === header['kid'])
    t.equal(key?.alg, alg, 'published')
    const [signed, signature] = [token.slice(0, token.lastIndexOf('.')), token.slice(token.lastIndexOf('.') + 1)]
    t.ok(
      verify(
        'sha256',
        Buffer.from(signed),
        {
          key: createPublicKey({ key: key as JsonWebKeyInput['key'], format: 'jwk' }),
          ...(alg === 'ES256' ? { dsaEncoding: 'ieee-p1363' as const } : {})
        },
        Buffer.from(signature, 'base64url')
      )
    )
  }
})

// covers L8
t.test('signs access tokens with a generated RS256 key in an app without clients', async (t) => {
  const { app, close } = await testApp({ accessToken: { alg: 'RS256', typ: 'JWT' } })
  t.teardown(close)
  await signUp(app)
  const { access_token: token } = await signIn(app)
  t.match(decodeJwt(token).header, { alg: 'RS256', typ: 'JWT' })
  t.equal((await app.inject({ url: '/me', headers: bearer(token) })).statusCode, 200)
  t.match((await app.inject({ method: 'POST', url: '/auth/revoke', payload: { token } })).statusCode, 200)
  t.equal((await app.inject({ url: '/me', headers: bearer(token) })).statusCode, 401)
})

// covers L1
t.test('refuses a client whose id equals the audience of an API', async (t) => {
  const { app, close } = await testApp({
    keys: KEYS,
    accessToken: { typ: 'JWT', audience: API },
    clients: { findById: async (clientId) => ({ clientId, redirectUris: [CALLBACK] }) }
  })
  t.teardown(close)
  t.equal(
    (await app.inject(authorizePath({ client_id: API }))).statusCode,
    400,
    'a row of a client store with its name is an unknown client'
  )
  t.equal((await app.inject(authorizePath({ client_id: 'spa' }))).statusCode, 303)
})
