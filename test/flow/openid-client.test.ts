/** An unchanged openid-client 6 over real sockets, as a server-side client. The person uses the hosted pages. */
import * as oidc from 'openid-client'
import t, { type Test } from '../support/tap.ts'
import { steppedClock } from '../../lib/testing/index.ts'
import { type Provider, startProvider } from '../browser/support/provider.ts'
import { PASSWORD } from '../support/app.ts'
import { CALLBACK, CLIENTS, LOGGED_OUT, SECRET } from '../support/openid.ts'
import { type FormBrowser, formBrowser, type Stop } from './support/form-browser.ts'

const { privateKey, publicKey } = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, [
  'sign',
  'verify'
])
const PUBLIC = { ...(await crypto.subtle.exportKey('jwk', publicKey)), kid: 'k1' }

const OFFLINE = 'openid profile email offline_access'

interface Subject extends Provider {
  person: FormBrowser
  config(clientId: string, auth?: oidc.ClientAuth): Promise<oidc.Configuration>
}

async function subjectOf(t: Test): Promise<Subject> {
  // The library checks tokens by the machine's clock.
  const clock = steppedClock(Date.now())
  const provider = await startProvider(t, {
    clock,
    scopes: ['openid', 'profile', 'email', 'offline_access', 'reports'],
    clients: [
      ...CLIENTS,
      { clientId: 'worker', clientSecret: SECRET, grantTypes: ['client_credentials'], scopes: ['reports'] },
      { clientId: 'signer', jwks: { keys: [PUBLIC] }, grantTypes: ['client_credentials'], scopes: ['reports'] }
    ]
  })
  return {
    ...provider,
    clock,
    person: formBrowser(provider.origin),
    config: async (clientId, auth = oidc.None()) =>
      await oidc.discovery(new URL(provider.origin), clientId, undefined, auth, {
        execute: [oidc.allowInsecureRequests]
      })
  }
}

interface Begun {
  url: URL
  checks: { pkceCodeVerifier: string; expectedState: string; expectedNonce: string; idTokenExpected: true }
}

async function begin(config: oidc.Configuration, params: Record<string, string> = {}): Promise<Begun> {
  const [pkceCodeVerifier, expectedState, expectedNonce] = [
    oidc.randomPKCECodeVerifier(),
    oidc.randomState(),
    oidc.randomNonce()
  ]
  const url = oidc.buildAuthorizationUrl(config, {
    redirect_uri: CALLBACK,
    scope: OFFLINE,
    code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    state: expectedState,
    nonce: expectedNonce,
    ...params
  })
  return { url, checks: { pkceCodeVerifier, expectedState, expectedNonce, idTokenExpected: true } }
}

/** Opens the authorization URL, and signs in on the page that it shows. */
async function signIn({ person }: Subject, url: URL): Promise<Stop> {
  const page = await person.get(url.href)
  return await person.submit(page, { username: 'ann', password: PASSWORD })
}

async function tokensOf(
  subject: Subject,
  config: oidc.Configuration
): Promise<oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers> {
  const { url, checks } = await begin(config)
  return await oidc.authorizationCodeGrant(config, (await signIn(subject, url)).url, checks)
}

const refreshTokenOf = ({ refresh_token: token }: oidc.TokenEndpointResponse): string => {
  if (token === undefined) throw new Error('no refresh token')
  return token
}

/** Returns the error of openid-client. */
async function refusalOf(call: Promise<unknown>): Promise<unknown> {
  try {
    await call
  } catch (error) {
    return error
  }
  throw new Error('nothing was refused')
}

for (const [clientId, method, auth] of [
  ['spa', 'public', oidc.None()],
  ['web', 'client_secret_basic', oidc.ClientSecretBasic(SECRET)],
  ['web', 'client_secret_post', oidc.ClientSecretPost(SECRET)]
] as const) {
  t.test(`${method}: signs in, refreshes and revokes`, async (t) => {
    const subject = await subjectOf(t)
    const config = await subject.config(clientId, auth)
    t.equal(config.serverMetadata().issuer, subject.origin)
    // Also verifies responses by the published keys, which TLS makes unnecessary.
    oidc.enableNonRepudiationChecks(config)

    const { url, checks } = await begin(config)
    const back = await signIn(subject, url)
    t.equal(back.url.origin + back.url.pathname, CALLBACK)
    t.equal(back.url.searchParams.get('iss'), subject.origin)
    const tokens = await oidc.authorizationCodeGrant(config, back.url, checks)
    t.match(tokens, { token_type: 'bearer', expires_in: 900, scope: OFFLINE, refresh_token: String })
    t.match(tokens.claims(), { iss: subject.origin, sub: subject.ann.id, aud: clientId, nonce: checks.expectedNonce })

    t.match(await oidc.fetchUserInfo(config, tokens.access_token, subject.ann.id), {
      sub: subject.ann.id,
      preferred_username: 'ann',
      email: 'ann@example.com',
      email_verified: true
    })

    const refreshed = await oidc.refreshTokenGrant(config, refreshTokenOf(tokens))
    t.not(refreshed.refresh_token, tokens.refresh_token)
    t.not(refreshed.access_token, tokens.access_token)
    t.match(refreshed.claims(), {
      iss: subject.origin,
      sub: subject.ann.id,
      aud: clientId,
      auth_time: tokens.claims()?.auth_time
    })

    if (clientId === 'web')
      t.match(await oidc.tokenIntrospection(config, refreshed.access_token), {
        active: true,
        sub: subject.ann.id,
        client_id: clientId
      })
    await oidc.tokenRevocation(config, refreshTokenOf(refreshed))
    if (clientId === 'web') {
      t.same(await oidc.tokenIntrospection(config, refreshed.access_token), { active: false })
      t.same(await oidc.tokenIntrospection(config, refreshTokenOf(refreshed)), { active: false })
    }
    t.match(await refusalOf(oidc.refreshTokenGrant(config, refreshTokenOf(refreshed))), {
      error: 'invalid_grant',
      status: 400
    })
    t.match(await refusalOf(oidc.fetchUserInfo(config, refreshed.access_token, subject.ann.id)), {
      status: 401,
      cause: [{ scheme: 'bearer', parameters: { error: 'invalid_token' } }]
    })
  })
}

t.test('gives a second client its code without a page (single sign-on)', async (t) => {
  const subject = await subjectOf(t)
  await tokensOf(subject, await subject.config('spa'))
  const config = await subject.config('web', oidc.ClientSecretBasic(SECRET))
  const { url, checks } = await begin(config, { prompt: 'none' })
  const tokens = await oidc.authorizationCodeGrant(config, (await subject.person.get(url.href)).url, checks)
  t.equal(tokens.claims()?.sub, subject.ann.id)
})

t.test('passes the max_age check of openid-client', async (t) => {
  const subject = await subjectOf(t)
  const config = await subject.config('spa')
  const { url, checks } = await begin(config, { max_age: '60' })
  const tokens = await oidc.authorizationCodeGrant(config, (await signIn(subject, url)).url, { ...checks, maxAge: 60 })
  t.type(tokens.claims()?.auth_time, 'number')
})

t.test('ends the session and returns to the client after RP-initiated logout', async (t) => {
  const subject = await subjectOf(t)
  const config = await subject.config('spa')
  const { id_token: idToken = '' } = await tokensOf(subject, config)
  const page = await subject.person.get(
    oidc.buildEndSessionUrl(config, { id_token_hint: idToken, post_logout_redirect_uri: LOGGED_OUT, state: 'bye' }).href
  )
  t.equal(page.url.href, `${LOGGED_OUT}?state=bye`)

  const { url, checks } = await begin(config, { prompt: 'none' })
  const after = await subject.person.get(url.href)
  t.match(await refusalOf(oidc.authorizationCodeGrant(config, after.url, checks)), { error: 'login_required' })
})

t.test('asks before RP-initiated logout without an id_token_hint', async (t) => {
  const subject = await subjectOf(t)
  const config = await subject.config('spa')
  await tokensOf(subject, config)
  const page = await subject.person.get(oidc.buildEndSessionUrl(config, { post_logout_redirect_uri: LOGGED_OUT }).href)
  t.equal(page.status, 200)
  t.equal((await subject.person.submit(page, { decision: 'sign_out' })).url.href, LOGGED_OUT)
})

t.test('asks for consent of a third-party client once', async (t) => {
  const subject = await subjectOf(t)
  const config = await subject.config('third', oidc.ClientSecretBasic(SECRET))
  const params = { redirect_uri: 'https://third.example/cb', scope: 'openid profile' }
  const first = await begin(config, params)
  const consent = await signIn(subject, first.url)
  t.match(consent.text, 'A Third Party')
  const tokens = await oidc.authorizationCodeGrant(
    config,
    (await subject.person.submit(consent, { decision: 'allow' })).url,
    first.checks
  )
  t.equal(tokens.scope, 'openid profile')
  const second = await begin(config, params)
  t.equal(
    (await oidc.authorizationCodeGrant(config, (await subject.person.get(second.url.href)).url, second.checks)).claims()
      ?.sub,
    subject.ann.id
  )
})

t.test('answers access_denied when the user denies a third-party client', async (t) => {
  const subject = await subjectOf(t)
  const config = await subject.config('third', oidc.ClientSecretBasic(SECRET))
  const { url, checks } = await begin(config, { redirect_uri: 'https://third.example/cb' })
  const denied = await subject.person.submit(await signIn(subject, url), { decision: 'deny' })
  t.match(await refusalOf(oidc.authorizationCodeGrant(config, denied.url, checks)), {
    code: 'OAUTH_AUTHORIZATION_RESPONSE_ERROR',
    error: 'access_denied'
  })
})

t.test('posts a response that openid-client accepts with response_mode form_post', async (t) => {
  const subject = await subjectOf(t)
  const config = await subject.config('web', oidc.ClientSecretBasic(SECRET))
  const { url, checks } = await begin(config, { response_mode: 'form_post' })
  const { text } = await signIn(subject, url)
  t.match(text, `<form method="post" action="${CALLBACK}"`)
  const fields = [...text.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(
    ([, name = '', value = '']): [string, string] => [name, value]
  )
  const request = new Request(CALLBACK, { method: 'POST', body: new URLSearchParams(fields) })
  t.equal((await oidc.authorizationCodeGrant(config, request, checks)).claims()?.sub, subject.ann.id)
})

t.test('returns the response in the fragment with response_mode fragment', async (t) => {
  const subject = await subjectOf(t)
  const config = await subject.config('spa')
  const { url, checks } = await begin(config, { response_mode: 'fragment' })
  const back = (await signIn(subject, url)).url
  t.equal(back.search, '')
  back.search = back.hash.slice(1)
  back.hash = ''
  t.equal((await oidc.authorizationCodeGrant(config, back, checks)).claims()?.sub, subject.ann.id)
})

for (const [clientId, auth] of [
  ['worker', oidc.ClientSecretBasic(SECRET)],
  ['signer', oidc.PrivateKeyJwt({ key: privateKey, kid: 'k1' })]
] as const)
  t.test(`issues a token by client_credentials to the ${clientId}`, async (t) => {
    const subject = await subjectOf(t)
    const config = await subject.config(clientId, auth)
    const tokens = await oidc.clientCredentialsGrant(config, { scope: 'reports' })
    t.match(tokens, { token_type: 'bearer', expires_in: 900, scope: 'reports' })
    t.equal(tokens.refresh_token, undefined)
    t.match(await oidc.tokenIntrospection(config, tokens.access_token), {
      active: true,
      sub: clientId,
      client_id: clientId
    })
    t.match(await refusalOf(oidc.clientCredentialsGrant(config, { scope: 'email' })), { error: 'invalid_scope' })
  })

t.test('refuses a second use of a code, and revokes its tokens', async (t) => {
  const subject = await subjectOf(t)
  const config = await subject.config('web', oidc.ClientSecretBasic(SECRET))
  const { url, checks } = await begin(config)
  const back = (await signIn(subject, url)).url
  const tokens = await oidc.authorizationCodeGrant(config, back, checks)
  t.match(await refusalOf(oidc.authorizationCodeGrant(config, back, checks)), { error: 'invalid_grant', status: 400 })
  t.same(await oidc.tokenIntrospection(config, tokens.access_token), { active: false })
  t.match(await refusalOf(oidc.refreshTokenGrant(config, refreshTokenOf(tokens))), { error: 'invalid_grant' })
})

t.test('ends the family when a refresh token is replayed after the grace time', async (t) => {
  const subject = await subjectOf(t)
  const config = await subject.config('spa')
  const first = await tokensOf(subject, config)
  const second = await oidc.refreshTokenGrant(config, refreshTokenOf(first))
  subject.clock.step(11_000)
  t.match(await refusalOf(oidc.refreshTokenGrant(config, refreshTokenOf(first))), { error: 'invalid_grant' })
  t.match(await refusalOf(oidc.refreshTokenGrant(config, refreshTokenOf(second))), { error: 'invalid_grant' })
})

t.test('names the authentication scheme in the challenge to a wrong client secret', async (t) => {
  const subject = await subjectOf(t)
  const config = await subject.config(
    'web',
    oidc.ClientSecretBasic('not the secret of more than 32 bytes, but another')
  )
  t.match(await refusalOf(oidc.clientCredentialsGrant(config)), {
    status: 401,
    cause: [{ scheme: 'basic', parameters: { realm: String } }]
  })
})
