/**
 * openid-client 6 and an issuer with a path, with and without a final slash: both kinds of discovery find it, and every
 * response names it.
 */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as oidc from 'openid-client'
import t, { type Test } from '../support/tap.ts'
import { steppedClock } from '../../lib/testing/index.ts'
import { PASSWORD, signUp, testApp } from '../support/app.ts'
import { CALLBACK, CLIENTS, KEYS, LOGGED_OUT } from '../support/openid.ts'
import { formBrowser } from './support/form-browser.ts'

async function issuerAt(t: Test, path: string): Promise<URL> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = new URL(path, `http://localhost:${(server.address() as AddressInfo).port}`)
  const { app, close } = await testApp(
    { issuer: issuer.href, clock: steppedClock(Date.now()), keys: KEYS, clients: CLIENTS },
    { serverFactory: (handler) => server.on('request', handler as RequestListener) }
  )
  t.teardown(async () => {
    server.close()
    server.closeAllConnections()
    await close()
  })
  await signUp(app)
  return issuer
}

for (const [algorithm, path] of [
  ['oidc', '/one'],
  ['oauth2', '/one'],
  ['oidc', '/one/'],
  ['oauth2', '/one/'],
  ['oidc', '/'],
  ['oauth2', '/']
] as const) {
  // covers C8
  t.test(
    `issuer at ${path}: supports discovery by ${algorithm === 'oidc' ? 'OpenID Connect' : 'RFC 8414'}, sign-in, refresh and logout`,
    async (t) => {
      const issuer = await issuerAt(t, path)
      const config = await oidc.discovery(issuer, 'spa', undefined, oidc.None(), {
        algorithm,
        execute: [oidc.allowInsecureRequests]
      })
      t.equal(config.serverMetadata().issuer, issuer.href)
      for (const [name, value] of Object.entries(config.serverMetadata()))
        if (/_endpoint$|^jwks_uri$/.test(name)) t.notMatch(new URL(value as string).pathname, '//', name)

      const person = formBrowser(issuer.origin)
      const checks = {
        pkceCodeVerifier: oidc.randomPKCECodeVerifier(),
        expectedState: oidc.randomState(),
        expectedNonce: oidc.randomNonce(),
        idTokenExpected: true
      }
      const page = await person.get(
        oidc.buildAuthorizationUrl(config, {
          redirect_uri: CALLBACK,
          scope: 'openid offline_access',
          state: checks.expectedState,
          nonce: checks.expectedNonce,
          code_challenge: await oidc.calculatePKCECodeChallenge(checks.pkceCodeVerifier),
          code_challenge_method: 'S256'
        }).href
      )
      const back = await person.submit(page, { username: 'ann', password: PASSWORD })
      t.equal(back.url.searchParams.get('iss'), issuer.href)
      const tokens = await oidc.authorizationCodeGrant(config, back.url, checks)
      t.equal(tokens.claims()?.iss, issuer.href)
      const { refresh_token: refreshToken = '', id_token: idToken = '' } = tokens
      t.equal((await oidc.refreshTokenGrant(config, refreshToken)).claims()?.iss, issuer.href)
      t.equal(
        (
          await person.get(
            oidc.buildEndSessionUrl(config, { id_token_hint: idToken, post_logout_redirect_uri: LOGGED_OUT }).href
          )
        ).url.href,
        LOGGED_OUT
      )
    }
  )
}
