/** An unchanged openid-client 6 with DPoP over real sockets: tokens, refresh, userinfo and an API, with nonces. */
import * as oidc from 'openid-client'
import t, { type Test } from '../support/tap.ts'
import { steppedClock } from '../../lib/testing/index.ts'
import { startProvider } from '../browser/support/provider.ts'
import { PASSWORD } from '../support/app.ts'
import { decodeJwt } from '../support/jwt.ts'
import { CALLBACK, SECRET } from '../support/openid.ts'
import { formBrowser } from './support/form-browser.ts'

async function subjectOf(t: Test, dpop: true | { requireNonce: boolean }) {
  const provider = await startProvider(t, {
    clock: steppedClock(Date.now()),
    secret: SECRET,
    dpop,
    scopes: ['openid', 'profile', 'email', 'offline_access', 'reports'],
    clients: [
      { clientId: 'spa', redirectUris: [CALLBACK], dpopBoundAccessTokens: true },
      { clientId: 'worker', clientSecret: SECRET, grantTypes: ['client_credentials'], scopes: ['reports'] }
    ]
  })
  const config = async (clientId: string, auth: oidc.ClientAuth) =>
    await oidc.discovery(new URL(provider.origin), clientId, undefined, auth, {
      execute: [oidc.allowInsecureRequests]
    })
  return { provider, config }
}

for (const dpop of [true, { requireNonce: true }] as const) {
  const how = dpop === true ? 'without nonces' : 'with nonces'
  t.test(`signs a user in, refreshes, and calls an API with DPoP-bound tokens, ${how}`, async (t) => {
    const { provider, config } = await subjectOf(t, dpop)
    const spa = await config('spa', oidc.None())
    const handle = oidc.getDPoPHandle(spa, await oidc.randomDPoPKeyPair())
    const verifier = oidc.randomPKCECodeVerifier()
    const person = formBrowser(provider.origin)
    const url = oidc.buildAuthorizationUrl(spa, {
      redirect_uri: CALLBACK,
      scope: 'openid profile offline_access',
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      dpop_jkt: await handle.calculateThumbprint()
    })
    const stop = await person.get(url.href)
    const answer = await person.submit(stop, { username: 'ann', password: PASSWORD })
    const checks = { pkceCodeVerifier: verifier, idTokenExpected: true }
    const tokens = await oidc.authorizationCodeGrant(spa, answer.url, checks, undefined, { DPoP: handle })
    t.equal(tokens.token_type, 'dpop')
    const jkt = await handle.calculateThumbprint()
    t.same(decodeJwt(tokens.access_token).claims['cnf'], { jkt })
    const { sub } = tokens.claims() ?? {}
    t.match(await oidc.fetchUserInfo(spa, tokens.access_token, String(sub), { DPoP: handle }), { sub })
    const next = await oidc.refreshTokenGrant(spa, tokens.refresh_token ?? '', undefined, { DPoP: handle })
    t.equal(next.token_type, 'dpop')
    const api = new URL(`${provider.origin}/me`)
    for (let count = 0; count < 2; count++) {
      const reply = await oidc.fetchProtectedResource(spa, next.access_token, api, 'GET', null, undefined, {
        DPoP: handle
      })
      t.match(await reply.json(), { cnf: { jkt } })
    }
    await t.rejects(oidc.refreshTokenGrant(spa, next.refresh_token ?? ''), { message: /./ }, 'without a proof')
    const other = oidc.getDPoPHandle(spa, await oidc.randomDPoPKeyPair())
    await t.rejects(
      oidc.refreshTokenGrant(spa, next.refresh_token ?? '', undefined, { DPoP: other }),
      { message: /./ },
      'with another key'
    )
  })

  t.test(`issues a DPoP-bound token to a client without a user, ${how}`, async (t) => {
    const { provider, config } = await subjectOf(t, dpop)
    const worker = await config('worker', oidc.ClientSecretBasic(SECRET))
    const handle = oidc.getDPoPHandle(worker, await oidc.randomDPoPKeyPair('EdDSA'))
    const tokens = await oidc.clientCredentialsGrant(worker, { scope: 'reports' }, { DPoP: handle })
    t.equal(tokens.token_type, 'dpop')
    const api = new URL(`${provider.origin}/me`)
    const sent = [api, 'GET', null, undefined] as const
    const reply = await oidc.fetchProtectedResource(worker, tokens.access_token, ...sent, { DPoP: handle })
    t.match(await reply.json(), { cnf: { jkt: await handle.calculateThumbprint() } })
    await t.rejects(oidc.fetchProtectedResource(worker, tokens.access_token, ...sent), { message: /./ }, 'as Bearer')
  })
}
