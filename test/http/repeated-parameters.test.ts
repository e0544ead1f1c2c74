/** A request may repeat parameters that this service ignores, and no others. `resource` has tests of its own. */
import t from '../support/tap.ts'
import { authorizeAs, authorizePath, CALLBACK, openidApp, tokensOf, VERIFIER } from '../support/openid.ts'
import { testBrowser } from '../support/browser.ts'

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const IGNORED = 'nonsense=https%3A%2F%2Fa.example&nonsense=https%3A%2F%2Fb.example&x=1&x=2'

// covers R6749-3.1 R6749-3.2
t.test('ignores repeated unknown parameters at the authorization, token and logout endpoints', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const { app, browser } = subject
  const { code = '' } = await authorizeAs(browser, `${authorizePath()}&${IGNORED}`)
  const redeemed = await app.inject({
    method: 'POST',
    url: '/auth/token',
    headers: FORM,
    payload: `${new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: 'spa',
      redirect_uri: CALLBACK,
      code,
      code_verifier: VERIFIER
    }).toString()}&${IGNORED}`
  })
  t.equal(redeemed.statusCode, 200)
  const hint = redeemed.json<{ id_token: string }>().id_token
  const out = await browser.get(`/auth/logout?id_token_hint=${hint}&${IGNORED}`)
  t.equal(out.statusCode, 200)
  t.match(out.body, 'You are signed out')
})

// covers R6749-3.1 R6749-3.2
t.test('rejects a repeated known parameter, and names it', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const { app } = subject
  const { id_token: hint = '', access_token: token } = await tokensOf(subject)
  for (const name of ['grant_type', 'username', 'scope', 'client_id']) {
    const reply = await app.inject({
      method: 'POST',
      url: '/auth/token',
      headers: FORM,
      payload: `grant_type=password&username=ann&password=x&scope=openid&client_id=spa&${name}=openid`
    })
    t.match([reply.statusCode, reply.json()], [400, { error: 'invalid_request' }], name)
    t.match(reply.json<{ error_description: string }>().error_description, name)
  }
  const browser = testBrowser(app)
  for (const name of ['client_id', 'redirect_uri', 'state'])
    t.equal((await browser.get(`${authorizePath()}&${name}=x`)).statusCode, 400, name)
  for (const name of ['scope', 'prompt', 'nonce', 'response_type', 'code_challenge']) {
    const { headers } = await subject.browser.get(`${authorizePath()}&${name}=x&${name}=y`)
    const answer = new URL(headers.location ?? 'about:blank')
    t.equal(answer.origin + answer.pathname, CALLBACK, `${name}: the client is told`)
    t.match(Object.fromEntries(answer.searchParams), {
      error: 'invalid_request',
      error_description: `${name} must be sent once.`,
      state: /./
    })
  }
  t.equal((await browser.get(`/auth/logout?id_token_hint=${hint}&id_token_hint=${hint}`)).statusCode, 400)
  const userInfo = await app.inject({
    method: 'POST',
    url: '/auth/userinfo',
    headers: FORM,
    payload: `access_token=${token}&access_token=${token}`
  })
  t.match([userInfo.statusCode, userInfo.json()], [400, { error: 'invalid_request' }])
  t.equal((await browser.submit('/auth/login', { username: 'ann' })).statusCode, 400)
  const twice = await app.inject({
    method: 'POST',
    url: '/auth/login',
    headers: { ...FORM, 'sec-fetch-site': 'same-origin' },
    payload: 'username=ann&username=bob&password=x'
  })
  t.equal(twice.statusCode, 400, 'a form of our own')
})
