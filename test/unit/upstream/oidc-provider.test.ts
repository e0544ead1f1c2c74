/**
 * A sign-in at oidc-provider, another implementation of OpenID Connect, with its own checks and parameters.
 */
import t from '../../support/tap.ts'
import { oidc } from '../../../lib/connections/index.ts'
import { ACCOUNT, startForeignProvider } from '../../browser/support/foreign-provider.ts'
import { flow, REDIRECT_URI, refusalOf, upstreamOf } from '../../support/upstream/sign-in.ts'

/** The parameters that the browser of a signed-in person brings back to the redirect URI. */
async function walk(url: string): Promise<URLSearchParams> {
  const cookies = new Map<string, string>()
  for (let at = url; ;) {
    if (at.startsWith(REDIRECT_URI)) return new URL(at).searchParams
    const response = await fetch(at, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') }
    })
    for (const cookie of response.headers.getSetCookie())
      cookies.set(...(cookie.split(';', 1).join('').split(/=(.*)/s, 2) as [string, string]))
    const location = response.headers.get('location')
    if (location === null) throw new Error(`${response.status} at ${at}: ${await response.text()}`)
    at = new URL(location, at).href
  }
}

t.test('signs in at oidc-provider and returns subject, profile and times', async (t) => {
  const { origin } = await startForeignProvider(t, { redirectUris: [REDIRECT_URI], signedOutUris: [] })
  const subject = upstreamOf(oidc({ id: 'up', issuer: origin, clientId: 'app' }))
  const answer = await walk(
    await subject.authorizationUrl(flow(), {
      prompt: 'login',
      maxAge: 0,
      loginHint: 'bea@example.com',
      uiLocales: 'de'
    })
  )
  t.match(answer.get('iss'), origin)
  const { assertion, claims, tokens } = await subject.authenticate(answer, flow())
  t.match(assertion, { issuer: origin, subject: ACCOUNT.sub, profile: { name: 'Bea' }, authenticatedAt: Number })
  t.equal(assertion.email, undefined, 'it has not said that the address is verified')
  t.match(claims, { email: 'bea@example.com', nonce: flow().nonce, aud: 'app' })
  t.ok(tokens.idToken)
  t.match(
    await refusalOf(subject.authenticate(answer, flow())),
    { reason: 'mismatch', message: /invalid_grant/ },
    'a code is good once'
  )
})

t.test('refuses an answer for another state, nonce, verifier, redirect URI or client', async (t) => {
  const { origin } = await startForeignProvider(t, { redirectUris: [REDIRECT_URI], signedOutUris: [] })
  const subject = upstreamOf(oidc({ id: 'up', issuer: origin, clientId: 'app' }))
  const wrong: Array<[Partial<ReturnType<typeof flow>>, string]> = [
    [{ state: 'other' }, 'mismatch'],
    [{ nonce: 'other' }, 'id_token'],
    [{ codeVerifier: 'another-verifier-of-at-least-43-characters-xxxxxx' }, 'mismatch'],
    [{ redirectUri: `${REDIRECT_URI}/x` }, 'mismatch']
  ]
  for (const [change, reason] of wrong) {
    const answer = await walk(await subject.authorizationUrl(flow(), {}))
    t.equal((await refusalOf(subject.authenticate(answer, flow(change)))).reason, reason, JSON.stringify(change))
  }
  const answer = await walk(await subject.authorizationUrl(flow(), {}))
  t.match(
    await refusalOf(
      upstreamOf(oidc({ id: 'up', issuer: origin, clientId: 'other', clientSecret: 'x' })).authenticate(answer, flow())
    ),
    { reason: 'exchange', message: /invalid_client\. Look at clientId and clientSecret of the connection\.$/ }
  )
})
