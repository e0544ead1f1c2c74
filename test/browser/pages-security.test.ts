import t from '../support/tap.ts'
import { PASSWORD } from '../support/app.ts'
import { withChromium } from './support/chromium.ts'
import { answerAt, fill, followLink, heading, press, signInOn, USERNAME } from './support/journeys.ts'
import { type Provider, type Site, startProvider, startSite } from './support/provider.ts'

const { newPage } = await withChromium(t)
/** Chromium's message on an error instead of a frame. */
const FRAMED = /frame-ancestors|X-Frame-Options|\(chrome-error:/i

/** A form on the attacker's page that posts to the provider when the visitor presses its button. */
function forged(action: string, fields: Record<string, string>): string {
  const inputs = Object.entries(fields)
    .map(([name, value]) => `<input type="hidden" name="${name}" value="${value}">`)
    .join('')
  return `<form method="post" action="${action.replaceAll('&', '&amp;')}">${inputs}<button>Win a prize</button></form>`
}

const document = (content: string, head = ''): string =>
  `<!doctype html><html lang="en"><title>Evil</title>${head}${content}`

const ATTACKERS: Array<{ name: string; host: string; page(form: string): string }> = [
  { name: 'another site', host: '127.0.0.1', page: (form) => document(form) },
  { name: 'another origin of the same site', host: 'localhost', page: (form) => document(form) },
  {
    name: 'another site that hides where it comes from',
    host: '127.0.0.1',
    page: (form) => document(form, '<meta name="referrer" content="no-referrer">')
  },
  {
    name: 'a sandboxed frame',
    host: 'localhost',
    page: (form) =>
      document(
        '<iframe title="frame" sandbox="allow-forms allow-top-navigation" ' +
          `srcdoc="${form.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replace('<form', '<form target=_top')}"></iframe>`
      )
  }
]

for (const { name, host, page: evilPage } of ATTACKERS) {
  // covers ASVS-3.5.1 ASVS-7.6.2
  t.test(`rejects a form of ${name} without any effect`, async (t) => {
    const provider = await startProvider(t)
    const evil = await startSite(t, 'Evil', host)
    const page = await newPage(t, { locale: 'en' })
    const press = async (action: string, fields: Record<string, string>): Promise<number> => {
      evil.pages.set('/evil', evilPage(forged(action, fields)))
      await page.goto(`${evil.origin}/evil`)
      const posted = page.waitForResponse((response) => response.request().method() === 'POST')
      const frame = page.frames().at(-1) ?? page.mainFrame()
      const [response] = await Promise.all([posted, frame.getByRole('button').click()])
      await page.waitForURL((url) => url.origin === provider.origin)
      return response.status()
    }

    // Login CSRF: the victim would continue as the attacker.
    t.equal(await press(`${provider.origin}/auth/login`, { username: 'ann', password: PASSWORD }), 403)
    t.equal(await heading(page), 'Something went wrong')
    t.equal(await press(`${provider.origin}/auth/signup`, { username: 'mallory', password: PASSWORD }), 403)
    t.strictSame(await page.context().cookies(provider.origin), [])
    t.notOk(provider.events.some((event) => ['authenticated', 'registered', 'login_failed'].includes(event.name)))

    await page.goto(`${provider.origin}/auth/login`)
    await signInOn(page)
    await page.goto(provider.authorizeUrl({ client_id: 'third' }))
    const action = (await page.locator('form').getAttribute('action')) ?? ''
    t.match(action, /^\/auth\/consent\?.*session=/)
    t.equal(await press(`${provider.origin}${action}`, { decision: 'allow' }), 403)
    t.strictSame(await provider.app.authority.consents(provider.ann.id), [])
    t.equal(await press(`${provider.origin}/auth/logout`, { decision: 'sign_out' }), 403)
    t.equal((await provider.app.authority.sessions(provider.ann.id)).length, 1)
    t.strictSame(provider.client.visits, [])
  })
}

// covers ASVS-3.4.6 R9700-4.16
t.test('shows no page in a frame of another origin', async (t) => {
  const provider = await startProvider(t)
  const page = await newPage(t, { locale: 'en', allow: [FRAMED] })
  await page.goto(`${provider.origin}/auth/login`)
  await signInOn(page)
  for (const host of ['127.0.0.1', 'localhost']) {
    const evil = await startSite(t, 'Evil', host)
    for (const url of [
      `${provider.origin}/auth/login`,
      `${provider.origin}/auth/signup`,
      provider.authorizeUrl({ client_id: 'third', prompt: 'consent' }),
      `${provider.origin}/auth/logout`,
      `${provider.origin}/auth/authorize`
    ]) {
      evil.pages.set('/evil', document(`<iframe title="frame" src="${url.replaceAll('&', '&amp;')}"></iframe>`))
      await page.goto(`${evil.origin}/evil`)
      const [, frame] = page.frames()
      // Waits for the browser's own error page.
      await frame?.waitForURL(/^chrome-error:/)
      t.equal(
        await frame
          ?.locator('form, h1')
          .filter({ hasText: /Sign|Allow|Create|work/ })
          .count(),
        0,
        `${host} ${url}`
      )
    }
  }
  t.equal((await provider.app.authority.sessions(provider.ann.id)).length, 1)
})

// covers ASVS-3.3.4 ASVS-3.3.2
t.test('sets cookies as HttpOnly and SameSite=Lax, so that scripts cannot read them', async (t) => {
  const provider = await startProvider(t)
  const page = await newPage(t, { locale: 'en' })
  await page.goto(`${provider.origin}/auth/login`)
  await signInOn(page)
  const cookies = await page.context().cookies(provider.origin)
  t.ok(cookies.some((cookie) => cookie.name.startsWith('authority_session_')))
  for (const cookie of cookies)
    t.match(
      cookie,
      { httpOnly: true, sameSite: 'Lax', path: cookie.name.startsWith('authority_session_') ? '/' : /^\// },
      cookie.name
    )
  t.equal(await page.evaluate('document.cookie'), '')
  await page.goto(`${provider.origin}/auth/logout`)
  t.equal(await page.evaluate('document.cookie'), '')
})

/** The headers of a request that reveal its origin. */
async function withReferers(
  t: Parameters<typeof startProvider>[0],
  options: Parameters<typeof startProvider>[1] = {}
): Promise<{ provider: Provider; referers: string[] }> {
  const referers: string[] = []
  const provider = await startProvider(t, options, (host) => {
    host.addHook('onRequest', async ({ headers }) => {
      if (headers.referer !== undefined) referers.push(headers.referer)
    })
  })
  return { provider, referers }
}

const sentTo = ({ visits }: Site): string => JSON.stringify(visits)

// covers R9700-4.12 R9700-4.2.4
t.test('sends the client neither the password nor the URL of the previous page', async (t) => {
  const { provider, referers } = await withReferers(t)
  const page = await newPage(t, { locale: 'en' })
  for (const [params, button] of [
    [{}, null],
    [{ client_id: 'third' }, 'Allow'],
    [{ response_mode: 'form_post', prompt: 'login' }, null],
    [{ prompt: 'login' }, null]
  ] as const) {
    await page.goto(provider.authorizeUrl({ ...params, login_hint: 'a-hint' }))
    if ((await heading(page)) === 'Sign in to Example Accounts') t.equal((await signInOn(page)).status(), 303)
    if (button !== null) t.equal((await press(page, button)).status(), 303)
    t.match(await answerAt(page, provider), { code: /./ })
    await page.goto(`${provider.origin}/auth/logout`)
    await press(page, 'Sign out')
  }
  t.equal(provider.client.visits.length, 4)
  t.strictSame(
    provider.client.visits.map(({ method }) => method),
    ['GET', 'GET', 'POST', 'GET']
  )
  // The form contains the origin, which is also the `iss` of the response.
  t.strictSame(
    provider.client.visits.map(({ referer }) => referer),
    [null, null, `${provider.origin}/`, null]
  )
  t.notMatch(sentTo(provider.client), 'correct horse')
  t.notMatch(sentTo(provider.client), 'a-hint')
  t.ok(referers.length > 0, 'our own pages may know')
})

// covers ASVS-3.4.5
t.test('sends no referrer with the token of a message', async (t) => {
  const { provider, referers } = await withReferers(t, { registration: { verifyEmail: true } })
  const page = await newPage(t, { locale: 'en' })
  await page.goto(`${provider.origin}/auth/signup`)
  await fill(page, { [USERNAME]: 'dora@example.com', Password: PASSWORD })
  await press(page, 'Create account')
  await provider.app.authority.startPasswordReset(provider.ann.id)
  const links = [await provider.messages.next('verify_email'), await provider.messages.next('password_reset')]
  const before = referers.length
  for (const { url = '', token = '' } of links) {
    t.ok(url.includes(token) && token.length > 20)
    await page.goto(url)
    if (url.includes('reset-password')) {
      await followLink(page, 'Back to sign-in')
      await page.goBack()
      await fill(page, { 'New password': 'short' })
      await press(page, 'Save new password')
      await fill(page, { 'New password': 'a quite different one' })
      await press(page, 'Save new password')
      await followLink(page, 'Sign in')
    } else {
      await press(page, 'Confirm email')
    }
    await page.goto(url)
    t.equal(await heading(page), 'This link no longer works')
    await followLink(page, 'Go to Example Accounts')
  }
  t.strictSame(
    referers
      .slice(before)
      .filter((referer) => referer.includes('token') || links.some(({ token }) => referer.includes(token))),
    []
  )
})
