/** The options for the looks and the texts of the pages. */
import t from '../support/tap.ts'
import type { AuthorityOptions } from '../../lib/index.ts'
import { PASSWORD, testApp } from '../support/app.ts'
import { testBrowser } from '../support/browser.ts'
import { turns } from '../unit/accounts/world.ts'

t.test('stops the start for an invalid page text, and names its path', async (t) => {
  const rows: Array<[Partial<AuthorityOptions>, string, RegExp]> = [
    [{ pages: { texts: { xx: {} } as object } }, 'pages.texts.xx', /no language "xx"\. There are: en, de/],
    [{ pages: { texts: { de: { loginHeading: 'x' } } as object } }, 'pages.texts.de.loginHeading', /no such text/],
    [{ pages: { texts: { de: { lang: 'x' } } as object } }, 'pages.texts.de.lang', /no such text/],
    [{ pages: { texts: { en: { constructor: 'x' } } as object } }, 'pages.texts.en.constructor', /no such text/],
    [{ pages: { texts: { en: { continueTo: 'On you go.' } } } }, 'pages.texts.en.continueTo', /lacks \{client\}/],
    [
      { pages: { texts: { en: { loginTitle: 'Sign in to {name}' } } } },
      'pages.texts.en.loginTitle',
      /nothing that \{name\} could stand for/
    ],
    [{ scopes: { openid: {}, 'orders:read': { tlh: 'x' } as object } }, 'scopes.orders:read.tlh', /no language "tlh"/]
  ]
  for (const [options, path, problem] of rows) {
    const error = await testApp(options).then(
      () => null,
      (error: Error & { code?: string }) => error
    )
    t.match(error, { code: 'FST_AUTHORITY_INVALID_OPTIONS', message: problem }, path)
    t.ok(error?.message.startsWith(`Invalid option "${path}": `), error?.message ?? '')
  }
})

t.test('links from the page of an invalid link to the page that sends a new one', async (t) => {
  const { app, close } = await testApp({ registration: { verifyEmail: true } })
  t.teardown(close)
  for (const [path, next] of [
    ['/auth/reset-password', '/auth/forgot-password'],
    ['/auth/verify-email', '/auth/login']
  ] as const) {
    for (const token of ['', 'x', 'A'.repeat(100)]) {
      const reply = await app.inject(`${path}?token=${token}`)
      t.equal(reply.statusCode, 400)
      t.match(reply.body, 'This link no longer works')
      t.match(reply.body, `<p class="actions"><a href="${next}">`)
      t.match(reply.body, /<code[^>]*>invalid_token · req-\w+<\/code>/)
    }
  }
  t.notMatch((await app.inject('/auth/consent')).body, 'This link no longer works')
})

t.test('resends the confirmation of a sign-up on request, at most once in five minutes', async (t) => {
  const { app, clock, close, idle, messages } = await testApp({
    registration: { username: 'email', verifyEmail: true },
    rateLimit: { register: false }
  })
  t.teardown(close)
  const browser = testBrowser(app)
  const ask = async () => {
    const reply = await browser.submit('/auth/check-email', { decision: 'resend' })
    await idle()
    await turns()
    return (await browser.follow(reply)).reply
  }
  const kinds = (): string[] => messages.messages.map(({ kind }) => kind)
  await browser.submit('/auth/signup', { username: 'ann@example.com', password: PASSWORD })
  await idle()
  await turns()
  t.same(kinds(), ['verify_email'])
  const again = await ask()
  t.equal(again.statusCode, 200)
  t.same(kinds(), ['verify_email'], 'the first is on its way')
  clock.step(5 * 60_000)
  await ask()
  t.same(kinds(), ['verify_email', 'verify_email'])
  t.match(again.body, 'ann@example.com')
  t.equal((await browser.submit('/auth/signup', { decision: 'resend' })).statusCode, 400)
})

t.test('rejects a resend without verifyEmail, and sends nothing', async (t) => {
  const { app, close, messages } = await testApp({ rateLimit: { register: false } })
  t.teardown(close)
  t.equal((await testBrowser(app).submit('/auth/signup', { username: 'ann', decision: 'resend' })).statusCode, 400)
  t.same(messages.messages, [])
})

const BRAND = {
  title: 'Acme Photos',
  logo: { url: 'https://cdn.photos.example/l.svg', dark: 'https://dark.photos.example/d.svg', height: 32 },
  accentColor: { light: '#0B6E4F', dark: '#ffd400' }
}
const SERVICE = { title: 'Example', logo: { url: '/service.svg' } }

/** The first address of the built-in stylesheet in a page. */
const styleOf = (body: string): string =>
  (/<link rel="stylesheet" href="([^"]*)"/.exec(body)?.[1] ?? '').replaceAll('&amp;', '&')

t.test('shows the brand of a client on the pages of its authorization request', async (t) => {
  const redirectUris = ['https://app.example/cb']
  const third = { firstParty: false, redirectUris }
  const { app, close } = await testApp({
    pages: SERVICE,
    registration: { username: 'any' },
    clients: [
      { clientId: 'photos', ...third, name: 'Photos', pages: BRAND },
      { clientId: 'named', ...third, pages: { title: 'Just a name' } },
      { clientId: 'coloured', ...third, pages: { accentColor: '#0b6e4f' } },
      { clientId: 'plain', ...third }
    ]
  })
  t.teardown(close)
  const asked = (clientId: string): string =>
    new URLSearchParams({
      client_id: clientId,
      redirect_uri: redirectUris[0] ?? '',
      response_type: 'code',
      code_challenge: 'A'.repeat(43),
      code_challenge_method: 'S256'
    }).toString()

  const own = await app.inject('/auth/login')
  const serviceStyle = styleOf(own.body)
  t.notMatch(serviceStyle, 'accent')
  for (const [clientId, brand] of [
    ['photos', / src="https:\/\/cdn\.photos\.example\/l\.svg" alt="Acme Photos" height="32"/],
    ['named', /<p><bdi>Just a name<\/bdi><\/p>/],
    ['coloured', / src="\/service\.svg" alt="Example" height="40"/],
    ['plain', / src="\/service\.svg" alt="Example" height="40"/]
  ] as const)
    for (const path of ['login', 'signup', 'forgot-password']) {
      const { body, headers } = await app.inject(`/auth/${path}?${asked(clientId)}`)
      t.match(body, brand, `${clientId} ${path}`)
      t.equal(styleOf(body) === serviceStyle, clientId === 'named' || clientId === 'plain', `${clientId} ${path}`)
      const images = /img-src ([^;]*)/.exec(String(headers['content-security-policy']))?.[1]
      t.equal(
        images,
        `'self' data:${clientId === 'photos' ? ' https://cdn.photos.example https://dark.photos.example' : ''}`
      )
    }

  const browser = testBrowser(app)
  await browser.submit('/auth/signup', { username: 'ann', password: PASSWORD })
  const consent = await browser.follow(await browser.get(`/auth/authorize?${asked('photos')}`))
  t.match(consent.reply.body, 'name="decision" value="allow"')
  t.match(consent.reply.body, 'https://cdn.photos.example/l.svg')
  t.match((await browser.get('/auth/logout?client_id=photos')).body, 'https://cdn.photos.example/l.svg')
  t.match((await browser.get('/auth/account')).body, '/service.svg', 'the account is of no client')
})

t.test("serves the stylesheet in a client's colors, and the default stylesheet for other accents", async (t) => {
  const { app, close } = await testApp({
    clients: [{ clientId: 'photos', redirectUris: ['https://app.example/cb'], pages: BRAND }]
  })
  t.teardown(close)
  const query = 'client_id=photos&redirect_uri=https%3A%2F%2Fapp.example%2Fcb&response_type=code'
  const page = await app.inject(`/auth/login?${query}&code_challenge=${'A'.repeat(43)}&code_challenge_method=S256`)
  const address = styleOf(page.body)
  t.match(address, /^\/auth\/pages\.css\?v=[\w-]+&accent=0b6e4f-ffd400$/)
  const style = await app.inject(address)
  t.match(style.body, '--accent:#0b6e4f')
  t.match(style.body, '--accent:#ffd400')
  t.equal(style.headers['cache-control'], 'public, max-age=31536000, immutable')
  const revalidated = await app.inject({ url: address, headers: { 'if-none-match': String(style.headers.etag) } })
  t.equal(revalidated.statusCode, 304)
  t.equal((await app.inject(address.replace('ffd400', 'ffd401'))).headers['cache-control'], 'no-cache')
  const { body: plain } = await app.inject('/auth/pages.css')
  for (const accent of ['', 'red', '0b6e4f', '0B6E4F-ffd400', '0b6e4f-ffd400;}', '0b6e4f-ffd400-000000'])
    t.equal((await app.inject(`/auth/pages.css?accent=${encodeURIComponent(accent)}`)).body, plain, accent)
  t.equal((await app.inject('/auth/pages.css?accent=0b6e4f-ffd400&accent=0b6e4f-ffd400')).body, plain, 'twice')
  for (let index = 0; index < 250; index++)
    await app.inject(`/auth/pages.css?accent=${String(index).padStart(6, '0')}-000000`)
  t.equal((await app.inject(address)).body, style.body, 'after those of strangers')
})
