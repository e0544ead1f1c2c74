/** Checks of the answer at the callback, before a request to the provider. */
import t from '../../support/tap.ts'
import { oauth2, oidc } from '../../../lib/connections/index.ts'
import { checkUpstreamAnswer } from '../../../lib/protocol/upstream-answer.ts'
import { openidServer } from '../../support/upstream/openid-server.ts'
import { flow, refusalOf, signInAt, upstreamOf } from '../../support/upstream/sign-in.ts'

// covers FED-2 FED-3 FED-18 ADV-CVE-2023-31999
t.test('refuses an answer with an error or a mismatch, without calling the token endpoint', async (t) => {
  const server = await openidServer()
  t.teardown(async () => {
    await server.close()
  })
  const subject = upstreamOf(oidc({ id: 'up', issuer: server.issuer, clientId: 'client', clientSecret: 'secret' }))
  const url = await subject.authorizationUrl(flow(), {})
  const good = server.answerTo(url)
  const changed = (...pairs: Array<[string, string | null]>): URLSearchParams => {
    const answer = new URLSearchParams(good)
    for (const [name, value] of pairs) {
      if (value === null) answer.delete(name)
      else answer.set(name, value)
    }
    return answer
  }
  const twice = (name: string, value = good.get(name) ?? 'x'): URLSearchParams =>
    new URLSearchParams([...good, [name, value], ...(good.has(name) ? [] : [[name, value]])] as Array<[string, string]>)
  const wrong: Array<[name: string, answer: URLSearchParams, reason: string]> = [
    ['nothing', new URLSearchParams(), 'mismatch'],
    ['no state', changed(['state', null]), 'mismatch'],
    ['another state', changed(['state', 'CANARY']), 'mismatch'],
    ['an empty state', changed(['state', '']), 'mismatch'],
    ['state twice', twice('state'), 'mismatch'],
    ['no code', changed(['code', null]), 'mismatch'],
    ['an empty code', changed(['code', '']), 'mismatch'],
    ['code twice', twice('code'), 'mismatch'],
    ['another code after the first', twice('code', 'CANARY'), 'mismatch'],
    ['iss of another', changed(['iss', 'https://other.example']), 'mismatch'],
    ['iss with a slash more', changed(['iss', `${server.issuer}/`]), 'mismatch'],
    ['no iss, where it is promised', changed(['iss', null]), 'mismatch'],
    ['an empty iss', changed(['iss', '']), 'mismatch'],
    ['iss twice', twice('iss'), 'mismatch'],
    ['an ID token, which was not asked for', changed(['id_token', 'x']), 'mismatch'],
    ['a JARM response', changed(['response', 'x']), 'mismatch'],
    ['an access token, which was not asked for', changed(['access_token', 'x']), 'mismatch'],
    ['a token, which was not asked for', changed(['token', 'x']), 'mismatch'],
    ['an error with another state', changed(['error', 'access_denied'], ['state', 'other']), 'mismatch'],
    ['an error with another iss', changed(['error', 'access_denied'], ['iss', 'https://other.example']), 'mismatch'],
    ['an error without iss', changed(['error', 'access_denied'], ['iss', null]), 'mismatch'],
    ['an error twice', twice('error'), 'mismatch'],
    [
      'the person said no',
      changed(['error', 'access_denied'], ['code', null], ['error_description', 'CANARY']),
      'denied'
    ],
    ['the person said no, and there is a code', changed(['error', 'access_denied']), 'denied'],
    ['as Apple says it', changed(['error', 'user_cancelled_authorize']), 'denied'],
    ['login_required', changed(['error', 'login_required']), 'denied'],
    ['interaction_required', changed(['error', 'interaction_required']), 'denied'],
    ['consent_required', changed(['error', 'consent_required']), 'denied'],
    ['account_selection_required', changed(['error', 'account_selection_required']), 'denied'],
    ['server_error', changed(['error', 'server_error'], ['error_description', 'CANARY']), 'outage'],
    ['temporarily_unavailable', changed(['error', 'temporarily_unavailable']), 'outage'],
    ['invalid_scope', changed(['error', 'invalid_scope']), 'exchange'],
    ['an error of its own', changed(['error', 'CANARY']), 'exchange']
  ]
  for (const [name, answer, reason] of wrong)
    t.equal((await refusalOf(subject.authenticate(answer, flow()))).reason, reason, name)
  t.equal(server.count('/token'), 0)
  t.equal((await subject.authenticate(good, flow())).assertion.subject, 'person-1', 'the right one is still good')
  t.match(await refusalOf(subject.authenticate(good, flow())), { reason: 'mismatch', message: /invalid_grant/ }, 'once')
})

t.test('returns the iss of the answer, or null without one', async (t) => {
  const expected = { state: 's', issuerPromised: false, acceptsIssuer: (iss: string) => iss === 'https://up.example' }
  t.strictSame(
    checkUpstreamAnswer(new URLSearchParams({ state: 's', code: 'c', iss: 'https://up.example' }), expected),
    { iss: 'https://up.example' }
  )
  t.strictSame(checkUpstreamAnswer(new URLSearchParams({ state: 's', code: 'c' }), expected), { iss: null })
})

// covers FED-8
t.test('compares an iss in the answer, and accepts an answer without iss if the metadata promise none', async (t) => {
  const server = await openidServer({
    sendsIss: false,
    metadata: { authorization_response_iss_parameter_supported: undefined }
  })
  t.teardown(async () => {
    await server.close()
  })
  const subject = upstreamOf(oidc({ id: 'up', issuer: server.issuer, clientId: 'client', clientSecret: 'secret' }))
  t.equal((await signInAt(subject, server.answerTo)).assertion.subject, 'person-1')
  t.match(
    await refusalOf(
      signInAt(subject, (url) => new URLSearchParams([...server.answerTo(url), ['iss', 'https://other.example']]))
    ),
    { reason: 'mismatch' }
  )
})

t.test('sends PKCE, state and nonce, and lets protocol parameters override those of the host', async (t) => {
  const server = await openidServer({ metadata: {} })
  t.teardown(async () => {
    await server.close()
  })
  const common = { id: 'up', issuer: server.issuer, clientId: 'client', clientSecret: 'secret' }
  const asked = async (option: Parameters<typeof upstreamOf>[0], wishes = {}): Promise<Record<string, string>> =>
    Object.fromEntries(new URL(await upstreamOf(option).authorizationUrl(flow(), wishes)).searchParams)
  const usual = {
    response_type: 'code',
    client_id: 'client',
    redirect_uri: flow().redirectUri,
    scope: 'openid profile email',
    state: flow().state,
    nonce: flow().nonce,
    code_challenge: 'AOVs1hxPpyZIUgqbeAWrXnJYAxOBi4ZkHS5Cl5FWHDQ',
    code_challenge_method: 'S256'
  }
  const { code_challenge: challenge, ...rest } = await asked(oidc(common))
  t.match(challenge, /^[\w-]{43}$/)
  t.strictSame(rest, Object.fromEntries(Object.entries(usual).filter(([name]) => name !== 'code_challenge')))
  t.notOk('code_challenge' in (await asked(oidc({ ...common, pkce: false }))))
  t.match(
    await asked(
      oidc({
        ...common,
        responseMode: 'form_post',
        parameters: { organization: 'acme', state: 'fixed', redirect_uri: 'https://evil.example' }
      })
    ),
    { organization: 'acme', state: flow().state, redirect_uri: flow().redirectUri, response_mode: 'form_post' }
  )
  t.match(await asked(oidc(common), { loginHint: 'ann@example.com', uiLocales: 'de', prompt: 'login', maxAge: 0 }), {
    login_hint: 'ann@example.com',
    ui_locales: 'de',
    prompt: 'login',
    max_age: '0'
  })
  server.is.metadata = { authorization_endpoint: `${server.origin}/authorize?tenant=7` }
  t.match(await asked(oidc(common)), { tenant: '7', client_id: 'client' }, 'an endpoint keeps its own query')
  const plain = await asked(
    oauth2({
      ...common,
      scopes: [],
      authorizationEndpoint: 'https://x.example/a',
      tokenEndpoint: 'https://x.example/t',
      identify: () => ({ subject: '1' })
    })
  )
  t.strictSame(Object.keys(plain).sort(), [
    'client_id',
    'code_challenge',
    'code_challenge_method',
    'redirect_uri',
    'response_type',
    'state'
  ])
})

t.test('sends a verifier only with PKCE, and fails if the verifier is wrong', async (t) => {
  const server = await openidServer()
  t.teardown(async () => {
    await server.close()
  })
  const option = { id: 'up', issuer: server.issuer, clientId: 'client', clientSecret: 'secret' }
  const subject = upstreamOf(oidc(option))
  const answer = server.answerTo(await subject.authorizationUrl(flow(), {}))
  t.match(
    await refusalOf(
      subject.authenticate(answer, flow({ codeVerifier: 'another-verifier-of-at-least-43-characters-xxxxxx' }))
    ),
    { reason: 'mismatch', message: /invalid_grant/ }
  )
  await signInAt(upstreamOf(oidc({ ...option, pkce: false })), server.answerTo)
  t.notOk(server.asked.at(-3)?.form.has('code_verifier'))
})
