import { generateKeyPairSync, createHmac, sign } from 'node:crypto'
import t, { type Test } from '../support/tap.ts'
import { decodeJwt, encodePart } from '../support/jwt.ts'
import { LOGGED_OUT } from '../support/openid.ts'
import { checkBack, startLogout } from './support/logout.ts'
import { LONG_STATE } from './support/modules-session.ts'
import { FIRST, startOp } from './support/op.ts'
import type { Params } from './support/suite.ts'

/** Asserts that a page shows the error, without a redirect or a sign-out. */
async function checkRefused(t: Test, params: Params): Promise<void> {
  const { logOut, isSignedIn } = await startLogout(t)
  const { landing, seen } = await logOut(params)
  t.match(landing, { at: 'page', status: 400 })
  t.strictSame(seen, [])
  t.equal(await isSignedIn(), true, 'still signed in')
}

/** Asserts that a page confirms the sign-out and the session has ended. `seen` lists the pages before it. */
async function checkSignedOut(t: Test, params: Params, seen: string[]): Promise<void> {
  const { logOut, isSignedIn } = await startLogout(t)
  t.equal(await isSignedIn(), true)
  const visit = await logOut(params)
  t.match(visit.landing, { at: 'page', status: 200, html: /signed out/i })
  t.strictSame(visit.seen, seen)
  t.equal(await isSignedIn(), false)
}

t.test('OIDF-oidcc-rp-initiated-logout-discovery-endpoint-verification', async (t) => {
  const { document, issuer } = await startOp(t)
  t.equal(document['end_session_endpoint'], `${issuer}/auth/logout`)
})

for (const method of ['GET', 'POST'] as const) {
  // covers OIDF-oidcc-rp-initiated-logout
  t.test(`signs the user out by ${method}, and returns to the client`, async (t) => {
    const { logOut, isSignedIn, suite, browser, signedIn } = await startLogout(t)
    t.equal(await isSignedIn(), true)
    const form = new URLSearchParams({
      id_token_hint: signedIn.tokens.id_token,
      post_logout_redirect_uri: LOGGED_OUT,
      state: LONG_STATE
    })
    const visit =
      method === 'GET' ? await logOut() : await browser.go(suite.op.endpoint('end_session_endpoint'), { form })
    checkBack(t, visit.landing)
    t.strictSame(visit.seen, [], 'nobody was asked')
    t.equal(await suite.refusal({ prompt: 'none', state: LONG_STATE }, { browser }), 'login_required')
    const again = await suite.signIn({}, { browser })
    t.strictSame(again.seen, ['login'])
    t.not(again.claims['sid'], signedIn.claims['sid'], 'another session')
  })
}

t.test('OIDF-oidcc-rp-initiated-logout-bad-post-logout-redirect-uri', async (t) => {
  for (const uri of [`${LOGGED_OUT}/qLx8Wv0sTz`, `${LOGGED_OUT}qLx8Wv0sTz`, 'https://evil.example/', FIRST.redirectUri])
    await checkRefused(t, { post_logout_redirect_uri: uri })
})

t.test('OIDF-oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri', async (t) => {
  await checkRefused(t, { post_logout_redirect_uri: `${LOGGED_OUT}?foo=bar` })
})

t.test('OIDF-oidcc-rp-initiated-logout-modified-id-token-hint', async (t) => {
  const {
    logOut,
    isSignedIn,
    signedIn: { tokens }
  } = await startLogout(t)
  const { header, claims } = decodeJwt(tokens.id_token)
  const [, payload = '', signature = ''] = tokens.id_token.split('.')
  for (const hint of [
    `${encodePart({ ...header, alg: 'none' })}.${payload}.`,
    `${encodePart({ ...header, alg: 'none' })}.${payload}.${signature}`,
    `${encodePart({ alg: 'none' })}.${payload}.`,
    `${encodePart(header)}.${encodePart({ ...claims, sub: 'somebody else' })}.${signature}`,
    `${encodePart(header)}.${payload}.`
  ]) {
    const { landing, seen } = await logOut({ id_token_hint: hint }, { confirm: false })
    t.match(landing, { at: 'page', status: 200, html: /name="decision" value="sign_out"/ })
    t.strictSame(seen, [])
  }
  t.equal(await isSignedIn(), true, 'still signed in')
})

t.test('OIDF-oidcc-rp-initiated-logout-bad-id-token-hint', async (t) => {
  const {
    logOut,
    isSignedIn,
    suite,
    signedIn: { claims }
  } = await startLogout(t)
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const backwards = { ...claims, iss: FIRST.id, aud: suite.op.issuer, sub: 'SubjectID', nonce: 'flibble' }
  const bySecret = (body: string): string => createHmac('sha256', FIRST.secret).update(body).digest('base64url')
  const byForeignKey = (body: string): string => sign('RSA-SHA256', Buffer.from(body), privateKey).toString('base64url')
  for (const [alg, kid, signed] of [
    ['RS256', 'rs', byForeignKey],
    ['RS256', 'unknown', byForeignKey],
    ['HS256', 'rs', bySecret],
    ['HS256', undefined, bySecret]
  ] as const) {
    for (const payload of [claims, backwards]) {
      const body = `${encodePart({ alg, typ: 'JWT', kid })}.${encodePart(payload)}`
      const { landing, seen } = await logOut({ id_token_hint: `${body}.${signed(body)}` }, { confirm: false })
      t.match(landing, { at: 'page', status: 200, html: /name="decision" value="sign_out"/ }, `${alg} ${String(kid)}`)
      t.strictSame(seen, [])
    }
  }
  t.equal(await isSignedIn(), true, 'still signed in')
})

t.test('OIDF-oidcc-rp-initiated-logout-no-id-token-hint', async (t) => {
  await checkRefused(t, { id_token_hint: undefined })
  const { logOut, isSignedIn } = await startLogout(t)
  const { landing } = await logOut({ id_token_hint: undefined, client_id: FIRST.id }, { confirm: false })
  t.match(
    landing,
    { at: 'page', status: 200, html: /name="decision" value="sign_out"/ },
    'with the name of the client a person is asked'
  )
  t.equal(await isSignedIn(), true)
})

t.test('OIDF-oidcc-rp-initiated-logout-no-params', async (t) => {
  await checkSignedOut(t, { id_token_hint: undefined, post_logout_redirect_uri: undefined, state: undefined }, [
    'logout'
  ])
})

t.test('OIDF-oidcc-rp-initiated-logout-only-state', async (t) => {
  await checkSignedOut(t, { id_token_hint: undefined, post_logout_redirect_uri: undefined }, ['logout'])
})

t.test('OIDF-oidcc-rp-initiated-logout-no-post-logout-redirect-uri', async (t) => {
  await checkSignedOut(t, { post_logout_redirect_uri: undefined }, [])
})

t.test('OIDF-oidcc-rp-initiated-logout-no-state', async (t) => {
  const { logOut, isSignedIn } = await startLogout(t)
  const { landing } = await logOut({ state: undefined })
  t.strictSame(landing, { at: 'client', method: 'GET', url: LOGGED_OUT })
  t.equal(await isSignedIn(), false)
})
