/** Authorization requests that clients push (RFC 9126). */
import t from '../../support/tap.ts'
import { ISSUER } from '../../support/app.ts'
import { formAction } from '../../support/browser.ts'
import { decodeJwt } from '../../support/jwt.ts'
import { answerOf, PAR, type Sent, THIRD, world } from './world.ts'

t.test('issues a code after the sign-in to a browser that presents the request_uri', async (t) => {
  const { addressOf, app, browser, push, redeem, signIn } = await world(t)
  const pushed = await push()
  t.equal(pushed.statusCode, 201)
  t.equal(pushed.headers['cache-control'], 'no-store')
  t.match(pushed.json(), { request_uri: /^urn:ietf:params:oauth:request_uri:[\w.-]{22,}/, expires_in: 90 })
  t.notMatch(pushed.body, 'the state')
  // The endpoint ignores other parameters of the browser.
  const page = await browser.get(
    addressOf(pushed, 'spa', { state: 'forged', redirect_uri: 'https://evil.example', scope: 'x', prompt: 'none' })
  )
  t.match(page, { statusCode: 303, headers: { location: /^\/auth\/login\?client_id=spa&request_uri=urn/ } })
  t.notMatch(String(page.headers.location), 'state')
  const { url } = await signIn(page)
  const { code = '', ...others } = answerOf(url)
  t.equal(new URL(url).origin, 'https://app.example')
  t.same(others, { state: 'the state', iss: ISSUER })
  const tokens = await redeem(code)
  t.equal(tokens.statusCode, 200)
  t.match(tokens.json(), { scope: 'openid', id_token: String })
  const { body: metadata } = await app.inject('/.well-known/oauth-authorization-server')
  t.match(JSON.parse(metadata), {
    pushed_authorization_request_endpoint: `${ISSUER}${PAR}`,
    require_pushed_authorization_requests: false
  })
})

t.test('allows a browser to open a request_uri twice, but issues one code for it', async (t) => {
  const { addressOf, browser, other, push, redeem, signIn } = await world(t)
  const address = addressOf(await push())
  await browser.get(address)
  const page = await browser.get(address)
  t.equal((await browser.get(String(page.headers.location))).statusCode, 200, 'the page can be reloaded')
  const { url } = await signIn(page)
  t.equal((await redeem(answerOf(url)['code'] ?? '')).statusCode, 200)
  for (const again of [address, String(page.headers.location).replace('login', 'authorize')]) {
    const { url: refused } = await browser.follow(await browser.get(again))
    t.same(answerOf(refused), {
      error: 'invalid_request_uri',
      error_description: 'The request_uri is unknown, has expired, or was used before.',
      state: 'the state',
      iss: ISSUER
    })
  }
  const another = other()
  const { url: elsewhere } = await signIn(await another.get(address), another)
  t.match(answerOf(elsewhere), { error: 'invalid_request_uri' }, 'in another browser')
})

t.test('issues a code to one of 50 parallel requests with one request_uri', async (t) => {
  const { addressOf, browser, push, redeem, signIn } = await world(t)
  await signIn(await browser.get(addressOf(await push())))
  const address = addressOf(await push())
  const all = await Promise.all(Array.from({ length: 50 }, async () => await browser.get(address)))
  const answers = all.map(({ headers }) => answerOf(String(headers.location)))
  const codes = answers.flatMap(({ code }) => code ?? [])
  t.equal(codes.length, 1)
  t.equal(answers.filter(({ error }) => error === 'invalid_request_uri').length, 49)
  t.equal((await redeem(codes[0] ?? null)).statusCode, 200)
})

// covers ADV-CVE-2024-4540
t.test('applies pushed parameters, and keeps the state and the login hint out of cookies and logs', async (t) => {
  const { addressOf, browser, logs, push, redeem, signIn } = await world(t, {
    resources: [
      { resource: 'https://one.example', scopes: { 'one:read': 'one' } },
      { resource: 'https://two.example', scopes: { 'two:read': 'two' } }
    ]
  })
  const pushed = await push({
    state: 'ä state/with+all&kinds=of%20it',
    scope: 'openid one:read two:read',
    resource: 'https://one.example',
    ui_locales: 'de',
    login_hint: 'hint@example.com',
    claims: JSON.stringify({ userinfo: { name: null } }),
    max_age: '600'
  })
  const page = await browser.get(addressOf(pushed))
  const { body } = await browser.get(String(page.headers.location))
  t.match(body, /<html lang="de"/)
  t.match(body, /value="hint@example.com"/)
  const { url } = await signIn(page)
  const { code = '', state } = answerOf(url)
  t.equal(state, 'ä state/with+all&kinds=of%20it')
  const tokens = (await redeem(code)).json()
  t.match(decodeJwt(tokens.access_token).claims, { aud: 'https://one.example', scope: 'one:read' })
  for (const [name, value] of browser.cookies) t.notMatch(value, /kinds|hint/, name)
  t.notMatch(JSON.stringify(logs.lines), /hint@example|kinds=of|urn:ietf:params:oauth:request_uri/)
})

t.test('asks once for the new sign-in that was pushed, although the browser adds prompt=none', async (t) => {
  for (const asks of [{ prompt: 'login' }, { max_age: '0' }, { prompt: 'select_account' }] as Sent[]) {
    const { addressOf, browser, clock, push, signIn } = await world(t)
    await signIn(await browser.get(addressOf(await push())))
    clock.step(1000)
    const address = addressOf(await push(asks))
    const page = await browser.get(`${address}&prompt=none&max_age=10000`)
    t.match(page, { statusCode: 303, headers: { location: /^\/auth\/login/ } }, JSON.stringify(asks))
    clock.step(1000)
    t.ok(answerOf((await signIn(page)).url)['code'], JSON.stringify(asks))
  }
})

t.test('shows the consent page for a pushed request, and issues a code after Allow', async (t) => {
  const { addressOf, browser, push, signIn } = await world(t)
  const pushed = await push({ ...THIRD, prompt: 'consent' })
  const { reply, url } = await signIn(await browser.get(addressOf(pushed, 'third')))
  t.match(url, /\/auth\/consent\?client_id=third&request_uri=/)
  t.match(reply.body, /A Third Party/)
  const { url: back } = await browser.follow(await browser.submit(formAction(reply.body), { decision: 'allow' }))
  t.ok(answerOf(back)['code'])
})
