import t from '../../support/tap.ts'
import { formAction, testBrowser } from '../../support/browser.ts'
import { PASSWORD, signUp } from '../../support/app.ts'
import { AGENT, documentHost, open, press, register, requestOf, tokensFor, world } from './world.ts'

const MCP = 'http://localhost:3000/mcp'

t.test(
  'asks for consent again for more scopes, another API, or another name or redirect host of the client',
  async (t) => {
    const host = await documentHost(t)
    const test = await world(t, {
      resources: [
        { resource: '/mcp', scopes: { 'notes:read': 'read your notes', 'notes:write': 'change your notes' } },
        { resource: '/mail', scopes: { 'mail:read': 'read your mail' } }
      ]
    })
    const asks = async (params: Record<string, string>): Promise<boolean> => {
      const { reply, url } = await open(test.browser, requestOf(host.url, params))
      if (!url.includes('/auth/consent?')) return false
      await press(test.browser, reply.body)
      return true
    }
    const notes = { resource: MCP, scope: 'notes:read' }
    const rows: Array<[string, () => Promise<boolean>, boolean]> = [
      ['the first time', () => asks(notes), true],
      ['again', () => asks(notes), false],
      ['a scope more', () => asks({ ...notes, scope: 'notes:read notes:write' }), true],
      ['another API', () => asks({ resource: 'http://localhost:3000/mail', scope: 'mail:read' }), true],
      ['both as before', () => asks({ ...notes, scope: 'notes:read notes:write' }), false]
    ]
    for (const [name, ask, expected] of rows) t.equal(await ask(), expected, name)
    for (const change of [
      { client_name: 'Agent 2' },
      { redirect_uris: [AGENT, 'https://elsewhere.example/cb'] },
      { redirect_uris: [AGENT, 'https://elsewhere.example/cb', 'com.example.agent:/cb'] }
    ]) {
      host.metadata = { ...host.metadata, ...change }
      test.clock.step(301_000)
      t.equal(await asks(notes), true, JSON.stringify(change))
      t.equal(await asks(notes), false)
    }
    host.metadata = {
      ...host.metadata,
      redirect_uris: [AGENT, `${AGENT}/other`, 'https://elsewhere.example/cb', 'com.example.agent:/cb']
    }
    test.clock.step(301_000)
    t.equal(await asks(notes), false, 'another path of a known place')
    const [consent] = await test.app.authority.consents(test.ann.sub)
    t.equal(consent?.clientId, host.url)
  }
)

t.test('asks a user for consent although another user has given it', async (t) => {
  const test = await world(t)
  const { client_id: id } = (await register(test, { client_name: 'Agent', redirect_uris: [AGENT] })).json()
  await tokensFor(test, id)
  await signUp(test.app, 'bob')
  const browser = testBrowser(test.app)
  const { url } = await browser.follow(await browser.get(requestOf(id)))
  const { url: next } = await browser.follow(await browser.submit(url, { username: 'bob', password: PASSWORD }))
  t.match(next, '/auth/consent?')
})

t.test('answers prompt=none before the consent with consent_required', async (t) => {
  const host = await documentHost(t)
  const test = await world(t)
  await test.browser.submit('/auth/login', { username: 'ann', password: PASSWORD })
  t.match((await open(test.browser, requestOf(host.url, { prompt: 'none' }))).url, 'error=consent_required')
  await tokensFor(test, host.url)
  t.match((await open(test.browser, requestOf(host.url, { prompt: 'none' }))).url, 'code=')
})

// covers ADV-GHSA-c2jp-c369-7pvx ADV-GHSA-rww4-4w9c-7733
t.test('accepts a consent decision only from the browser, session and page that asked for it', async (t) => {
  const host = await documentHost(t)
  const test = await world(t)
  const { reply } = await open(test.browser, requestOf(host.url))
  const action = formAction(reply.body)
  await signUp(test.app, 'bob')
  const other = testBrowser(test.app)
  await other.submit('/auth/login', { username: 'bob', password: PASSWORD })
  const second = await other.follow(await other.submit(action, { decision: 'allow' }))
  t.match(second.reply.body, 'decision', 'the page of the other person')
  t.notMatch(second.url, 'code=')
  const nobody = testBrowser(test.app)
  t.notMatch((await nobody.follow(await nobody.submit(action, { decision: 'allow' }))).url, 'code=')
  const crossSite = await test.browser.submit(
    action,
    { decision: 'allow' },
    { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
  )
  t.equal(crossSite.statusCode, 403)
  const widened = action.replace('scope=openid', 'scope=openid+profile+email')
  t.not(widened, action)
  const wide = await test.browser.follow(await test.browser.submit(widened, { decision: 'allow' }))
  t.notMatch(wide.url, 'code=', 'a page that asked for less')
  host.metadata = { ...host.metadata, client_name: 'Another Agent' }
  test.clock.step(301_000)
  const changed = await test.browser.follow(await test.browser.submit(action, { decision: 'allow' }))
  t.match(changed.reply.body, 'Another Agent', 'the client changed while the page was open')
  t.same(await test.app.authority.consents(test.ann.sub), [])
  t.match((await press(test.browser, changed.reply.body)).url, 'code=')
})

t.test('asks for consent each time before it sends a code to a loopback or app redirect URI', async (t) => {
  const test = await world(t, { clientRegistration: { redirectSchemes: ['cursor'] } })
  for (const redirectUri of [
    'http://localhost:4000/cb',
    'http://127.0.0.1:4000/cb',
    'cursor://x/cb',
    'com.example.a:/cb'
  ]) {
    const { client_id: id } = (await register(test, { client_name: 'Agent', redirect_uris: [redirectUri] })).json()
    for (let count = 0; count < 2; count++) {
      const { reply, url } = await open(test.browser, requestOf(id, { redirect_uri: redirectUri }))
      t.match(url, '/auth/consent?', `${redirectUri}, time ${count}`)
      t.match(reply.body, 'A program on this computer')
      t.match(reply.body, 'Unverified app')
      t.match((await press(test.browser, reply.body)).url, 'code=')
    }
    const silent = await open(test.browser, requestOf(id, { redirect_uri: redirectUri, prompt: 'none' }))
    t.match(silent.url, 'error=interaction_required')
  }
})

t.test('names the host of the document, the API and its scopes, and warns unless the host is trusted', async (t) => {
  const host = await documentHost(t)
  const loopback = 'http://localhost:4000/cb'
  host.metadata = { ...host.metadata, redirect_uris: [AGENT, loopback], logo_uri: 'https://agent.example/logo.png' }
  const params = { redirect_uri: loopback, resource: MCP, scope: 'notes:read' }
  const page = async (trusted: string[]): Promise<string> => {
    const test = await world(t, { clientIdMetadata: { trusted } })
    return (await open(test.browser, requestOf(host.url, params))).reply.body
  }
  const warned = await page([])
  for (const text of [
    new URL(host.url).host,
    'localhost:4000',
    'Notes',
    'read your notes',
    'A program on this computer'
  ])
    t.match(warned, text)
  t.notMatch(warned, '<img')
  t.notMatch(warned, 'Unverified')
  const trusted = await page(['127.0.0.1'])
  t.notMatch(trusted, 'A program on this computer')
  t.match(trusted, new URL(host.url).host)
})
