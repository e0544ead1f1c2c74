import { CHALLENGE, VERIFIER, basic, CALLBACK } from '../../support/openid.ts'
import { entropyOf } from './jwt-checks.ts'
import { BY_POST, FIRST, SECOND } from './op.ts'
import { checkUserinfo, type Suite } from './suite.ts'

/** A module of the certification suite, for the response mode of the suite. */
export type Module = (suite: Suite) => Promise<void>

/** The flow itself: requests, responses and the use of the code. */
export const FLOW_MODULES: Readonly<Record<string, Module>> = {
  async 'oidcc-server'(suite) {
    const { t } = suite
    const first = await suite.signIn()
    const second = await suite.signIn({}, { client: SECOND })
    t.strictSame(first.seen, ['login'])
    t.strictSame(second.seen, [], 'signed in already')
    t.equal(second.claims['sub'], first.claims['sub'], 'subjects are public')
    for (const { code, userinfo } of [first, second]) {
      t.ok(code.length >= 16, 'a long code')
      t.ok(entropyOf(code) >= 96, 'of at least 96 bits')
      t.strictSame(Object.keys(userinfo), ['sub'], 'no claim that no scope asked for')
    }
  },

  async 'oidcc-response-type-missing'(suite) {
    suite.t.ok(
      ['unsupported_response_type', 'invalid_request'].includes(await suite.refusal({ response_type: undefined }))
    )
  },

  async 'oidcc-idtoken-signature'(suite) {
    const { t, op } = suite
    const { tokens } = await suite.signIn()
    const header = JSON.parse(Buffer.from(tokens.id_token.split('.')[0] ?? '', 'base64url').toString()) as Record<
      string,
      unknown
    >
    t.strictSame(
      op.keys.filter(({ kid, alg }) => kid === header['kid'] && alg === 'RS256').length,
      1,
      'RS256 where the client registered nothing'
    )
  },

  async 'oidcc-idtoken-unsigned'({ t, op }) {
    // The suite skips the module then.
    t.notOk(
      (op.document['id_token_signing_alg_values_supported'] as string[]).includes('none'),
      'nobody can register it'
    )
  },

  async 'oidcc-userinfo-get'(suite) {
    const { tokens, claims } = await suite.signIn()
    await checkUserinfo(
      suite.t,
      await suite.userinfo({ headers: { authorization: `Bearer ${tokens.access_token}` } }),
      claims
    )
  },

  async 'oidcc-userinfo-post-header'(suite) {
    const { tokens, claims } = await suite.signIn()
    await checkUserinfo(
      suite.t,
      await suite.userinfo({ method: 'POST', headers: { authorization: `Bearer ${tokens.access_token}` } }),
      claims
    )
  },

  async 'oidcc-userinfo-post-body'(suite) {
    const { tokens, claims } = await suite.signIn()
    await checkUserinfo(
      suite.t,
      await suite.userinfo({ method: 'POST', body: new URLSearchParams({ access_token: tokens.access_token }) }),
      claims
    )
  },

  async 'oidcc-ensure-request-without-nonce-succeeds-for-code-flow'(suite) {
    const { claims } = await suite.signIn({ nonce: undefined })
    suite.t.notOk('nonce' in claims)
  },

  async 'oidcc-ensure-request-with-unknown-parameter-succeeds'(suite) {
    await suite.signIn({ extra: 'foobar', kq3ZbT0c8VvYx1Lr: 'Jm2nHs7pQe5dWu9A' })
  },

  async 'oidcc-ensure-post-request-succeeds'(suite) {
    const { seen, claims } = await suite.signIn({}, { method: 'POST' })
    suite.t.strictSame(seen, ['login'])
    const again = await suite.signIn({}, { method: 'POST' })
    suite.t.strictSame(again.seen, [], 'whoever is signed in is known, though the form itself brings no cookie')
    suite.t.equal(again.claims['auth_time'], claims['auth_time'])
  },

  async 'oidcc-ensure-registered-redirect-uri'(suite) {
    const { t } = suite
    for (const redirectUri of [`${CALLBACK}/qLx8Wv0sTz`, `${CALLBACK}?x=y`, 'https://evil.example/cb']) {
      t.match(await suite.errorPage({ redirect_uri: redirectUri }), 'invalid_request', redirectUri)
    }
  },

  async 'oidcc-server-client-secret-post'(suite) {
    const { t } = suite
    const { code } = await suite.signIn({}, { client: BY_POST })
    const { code: other } = await suite.code({}, { client: BY_POST })
    const twice = await fetch(suite.op.endpoint('token_endpoint'), {
      method: 'POST',
      headers: basic(BY_POST.id, BY_POST.secret),
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code: other,
        redirect_uri: CALLBACK,
        client_id: BY_POST.id,
        client_secret: BY_POST.secret
      })
    })
    t.equal(twice.status, 400, 'never two at once')
    t.not(code, other)
  },

  async 'oidcc-ensure-request-with-valid-pkce-succeeds'(suite) {
    const { t, op } = suite
    const { code } = await suite.code({ code_challenge: CHALLENGE, code_challenge_method: 'S256', nonce: 'n-pkce' })
    const redeem = async (given: string, params: Record<string, string>): Promise<Response> =>
      await fetch(op.endpoint('token_endpoint'), {
        method: 'POST',
        headers: basic(FIRST.id, FIRST.secret),
        body: new URLSearchParams({ grant_type: 'authorization_code', code: given, redirect_uri: CALLBACK, ...params })
      })
    await suite.tokensOf(await redeem(code, { code_verifier: VERIFIER }), { nonce: 'n-pkce' })
    for (const params of [{}, { code_verifier: `${VERIFIER}x` }]) {
      const { code: another } = await suite.code({ code_challenge: CHALLENGE, code_challenge_method: 'S256' })
      const refused = await redeem(another, params as Record<string, string>)
      t.equal(refused.status, 400)
      t.match(await refused.json(), { error: 'invalid_grant' })
    }
  }
}
