/** The page of a person's API keys. */
import t from '../../support/tap.ts'
import { type AuthorityOptions, memoryApiKeyStore } from '../../../lib/index.ts'
import { ISSUER, PASSWORD, signUp, testApp } from '../../support/app.ts'
import { formAction, testBrowser } from '../../support/browser.ts'

const PAGE = '/auth/account/api-keys'
const FROM_HERE = { 'sec-fetch-site': 'same-origin' }
const OPTIONS: Partial<AuthorityOptions> = {
  scopes: { openid: {}, 'reports:read': { en: 'read reports', de: 'Berichte lesen' } },
  resources: [
    { resource: 'https://orders.example', name: 'Orders', scopes: { 'orders:read': 'see orders' } },
    { resource: 'https://bills.example', name: 'Bills', scopes: { 'bills:read': 'see bills' } }
  ]
}

async function world(
  t: { teardown(task: () => Promise<void>): void },
  options: Partial<AuthorityOptions> = { apiKeys: memoryApiKeyStore() }
) {
  const test = await testApp({ ...OPTIONS, ...options })
  t.teardown(test.close)
  const { sub } = await signUp(test.app)
  const browser = testBrowser(test.app)
  const signIn = async () => await browser.submit('/auth/login', { username: 'ann', password: PASSWORD })
  await signIn()
  const newestIn = (html: string): string => /name="newest" value="([^"]*)"/.exec(html)?.[1] ?? 'none'
  /** Opens the page and posts the form for a new key. */
  const create = async (fields: Record<string, string>) => {
    const { body } = await browser.get(PAGE)
    const sent = { decision: 'create', newest: newestIn(body), expires_in: '2592000', ...fields }
    return { action: formAction(body), sent, reply: await browser.submit(formAction(body), sent) }
  }
  return { ...test, sub, browser, create, signIn, keys: async () => await test.app.authority.apiKeys.list(sub) }
}

t.test('creates an API key on the page, shows it once, lists it and removes it', async (t) => {
  const { app, browser, clock, create, events, keys, sub } = await world(t)
  const account = await browser.get('/auth/account')
  t.match(account.body, new RegExp(`<a href="${PAGE}">.*<span>API keys <small>0</small>`))
  const empty = (await browser.get(PAGE)).body
  t.match(empty, /name="scope reports:read"[^>]*><label[^>]*><span>read reports</)
  t.match(empty, /<option value="7776000" selected>90 days</)
  for (const never of ['openid', 'offline_access']) t.notMatch(empty, `name="scope ${never}"`)
  const { action, sent, reply } = await create({ name: ' Nightly ', 'scope orders:read': 'on' })
  t.equal(reply.statusCode, 200)
  t.equal(reply.headers['cache-control'], 'no-store')
  const [key = ''] = /fa_[0-9A-Za-z]{49}/.exec(reply.body) ?? []
  t.match(reply.body, /data-copies="api-key"/)
  t.match(await app.authority.apiKeys.verify(key), {
    userId: sub,
    name: 'Nightly',
    scopes: ['orders:read'],
    resource: 'https://orders.example',
    expiresAt: new Date(clock.now() + 2_592_000_000)
  })

  // A reload of the page with the key posts the form again.
  const again = await browser.submit(action, sent)
  t.match(again, { statusCode: 303, headers: { location: PAGE } })
  t.equal((await keys()).length, 1)
  const listed = (await browser.get(PAGE)).body
  t.match(listed, /Nightly[^]*Orders[^]*Created on [^]*last used on [^]*Valid until [^]*see orders/)
  t.notMatch(listed, key)

  const [{ id } = { id: '' }] = await keys()
  const question = (await browser.get(`${PAGE}?remove=${id}`)).body
  t.match(listed, `href="${PAGE}?remove=${id}"`)
  t.match(question, /Remove Nightly\?[^]*lose access at once/)
  t.match(question, `name="key" value="${id}"`)
  t.notMatch(listed, 'name="key"', 'no press on the list removes a key')
  t.equal((await keys()).length, 1)
  t.match((await browser.get(`${PAGE}?remove=unknown`)).body, /Create a key/)
  const removed = await browser.submit(formAction(question), { key: id })
  t.match(removed, { statusCode: 303, headers: { location: `${PAGE}?done=api_key_removed` } })
  t.match((await browser.get(`${PAGE}?done=api_key_removed`, FROM_HERE)).body, /The key has been removed/)
  t.equal((await keys()).length, 0)
  t.equal((await browser.submit(formAction(listed), { key: id })).statusCode, 303, 'a second press')
  await t.rejects(app.authority.apiKeys.verify(key), { name: 'OAuthError', error: 'invalid_token' })
  t.match(
    events.filter(({ name }) => name.startsWith('api_key_')),
    [
      { name: 'api_key_created', payload: { userId: sub, keyId: id } },
      { name: 'api_key_revoked', payload: { userId: sub, keyId: id, by: 'user' } }
    ]
  )
})

t.test('removes no key of another user, and no key by the form of another session', async (t) => {
  const { app, browser, keys, signIn, sub } = await world(t)
  const other = await signUp(app, 'bob')
  const theirs = await app.authority.apiKeys.create({ userId: other.sub, name: 'Bob' })
  const mine = await app.authority.apiKeys.create({ userId: sub, name: 'Ann' })
  const { body } = await browser.get(PAGE)
  t.notMatch(body, 'Bob')
  await browser.submit(formAction(body), { key: theirs.id })
  t.equal((await app.authority.apiKeys.list(other.sub)).length, 1)
  browser.cookies.clear()
  await signIn()
  for (const fields of [{ key: mine.id }, { decision: 'create', newest: mine.id, name: 'x', expires_in: 'never' }])
    t.match(await browser.submit(formAction(body), fields), {
      statusCode: 303,
      headers: { location: `${PAGE}?done=nothing` }
    })
  t.equal((await keys()).length, 1)
  const { pathname, search } = new URL(formAction((await browser.get(PAGE)).body), ISSUER)
  const crossSite = await browser.submit(pathname + search, { key: mine.id }, { 'sec-fetch-site': 'cross-site' })
  t.equal(crossSite.statusCode, 403)
  t.equal((await keys()).length, 1)
})

t.test('explains why the form for a new API key was refused', async (t) => {
  const { app, create, keys, sub } = await world(t, {
    apiKeys: { store: memoryApiKeyStore(), maxPerUser: 2, expiresIn: 5_184_000 }
  })
  const refused: Array<[fields: Record<string, string>, status: number, text: RegExp]> = [
    [{ name: ' ' }, 400, /Please fill in this field/],
    [{ name: 'x', expires_in: '' }, 400, /Please check what you entered/],
    [{ name: 'x', expires_in: '5184001' }, 400, /Please check what you entered/],
    [
      { name: 'x', 'scope reports:read': 'on', 'scope orders:read': 'on' },
      400,
      /role="alert"[^>]*>A key is for one API/
    ],
    [{ name: 'x', 'scope orders:read': 'on', 'scope bills:read': 'on' }, 400, /role="alert"[^>]*>A key is for one API/],
    [{ name: 'x', 'scope openid': 'on' }, 400, /role="alert"/],
    [{ name: 'x', 'scope orders:read': 'on', 'scope unknown': 'on' }, 400, /role="alert"/]
  ]
  for (const [fields, status, text] of refused) {
    const { reply } = await create(fields)
    t.equal(reply.statusCode, status, JSON.stringify(fields))
    t.match(reply.body, text, JSON.stringify(fields))
    t.notMatch(reply.body, /fa_[0-9A-Za-z]{49}/)
  }
  t.equal((await keys()).length, 0)
  for (const name of ['One', 'Two']) await app.authority.apiKeys.create({ userId: sub, name })
  const { reply } = await create({ name: 'x' })
  t.equal(reply.statusCode, 409)
  t.match(reply.body, /You have as many API keys as you can have/)
  t.match(reply.body, /<option value="5184000"/)
  t.notMatch(reply.body, 'value="never"')
})

t.test('requires a fresh sign-in to create an API key on the page, but not to remove one', async (t) => {
  const { app, browser, clock, keys, sub } = await world(t)
  const { id } = await app.authority.apiKeys.create({ userId: sub, name: 'One' })
  const { body: fresh } = await browser.get(PAGE)
  clock.step(300_001)
  const { body } = await browser.get(PAGE)
  t.match(body, /Please sign in again to continue/)
  t.notMatch(body, 'name="newest"')
  const stale = await browser.submit(formAction(fresh), {
    decision: 'create',
    newest: id,
    name: 'x',
    expires_in: 'never'
  })
  t.equal(stale.statusCode, 401)
  t.notMatch(stale.body, /fa_[0-9A-Za-z]{49}/)
  t.equal((await keys()).length, 1)
  const question = (await browser.get(`${PAGE}?remove=${id}`)).body
  t.equal((await browser.submit(formAction(question), { key: id })).statusCode, 303)
  t.equal((await keys()).length, 0)
})

t.test('has no page for API keys without apiKeys or with apiKeys.pages: false', async (t) => {
  for (const options of [{}, { apiKeys: { store: memoryApiKeyStore(), pages: false } }]) {
    const { browser } = await world(t, options)
    t.equal((await browser.get(PAGE)).statusCode, 404)
    t.notMatch((await browser.get('/auth/account')).body, 'api-keys')
  }
})
