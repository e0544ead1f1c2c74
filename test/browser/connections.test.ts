/**
 * A second instance of the plugin is the provider, at 127.0.0.1, which browsers treat as another site than localhost.
 */
import t from '../support/tap.ts'
import type { Page } from 'playwright-core'
import { oidc } from '../../lib/connections/index.ts'
import type { Client } from '../../lib/index.ts'
import { decodeJwt } from '../support/jwt.ts'
import { SECRET } from '../support/openid.ts'
import { withChromium } from './support/chromium.ts'
import {
  answerAt,
  followLink,
  heading,
  press,
  signInOn,
  tokensAt,
  WITH_AND_AT_NIGHT_WITHOUT
} from './support/journeys.ts'
import { startProvider } from './support/provider.ts'
import { ALL_RULES, violationsOf } from './support/viewer.ts'

const { newPage } = await withChromium(t)

const registered = new Map<string, Client>()
const upstream = await startProvider(t, {
  host: '127.0.0.1',
  pages: { title: 'Upstream' },
  clients: { findById: async (id) => registered.get(id) ?? null }
})
const common = { issuer: upstream.origin, clientId: 'the-service', clientSecret: SECRET, trustEmail: true }
const downstream = await startProvider(
  t,
  {
    secret: 'a secret of the tests with 32 bytes or more',
    connections: [
      oidc({ id: 'acme', name: 'Acme', ...common }),
      oidc({ id: 'posted', name: 'Posted', responseMode: 'form_post', ...common }),
      oidc({ id: 'work', name: 'Work', domains: ['work.example'], ...common })
    ]
  },
  (app) => {
    app.get(
      '/mine',
      async (_request, reply) =>
        await reply
          .type('text/html')
          .send(
            '<!doctype html><html lang="en"><title>Mine</title><h1>Mine</h1><form method="post" ' +
              'action="/auth/connect/acme/link?return_to=%2Fmine"><button>Link Acme</button></form>'
          )
    )
  }
)
registered.set(common.clientId, {
  clientId: common.clientId,
  name: 'The Service',
  clientSecret: SECRET,
  redirectUris: ['acme', 'posted', 'work'].map((id) => `${downstream.origin}/auth/connect/${id}/callback`)
})
for (const name of ['bob@example.com', 'zoe@work.example']) await upstream.addUser(name)
await downstream.addUser('bob@example.com')

/** Signs in at the upstream, whose page is open. */
async function atUpstream(page: Page, username = 'ann'): Promise<void> {
  await page.waitForURL((url) => url.origin === upstream.origin && url.pathname === '/auth/login')
  await signInOn(page, { username })
}

/** Without scripts, the form with the response has a button. */
async function pastForm(page: Page, javaScriptEnabled: boolean | undefined): Promise<void> {
  if (javaScriptEnabled === false) await press(page, 'Continue')
}

for (const { name, options } of WITH_AND_AT_NIGHT_WITHOUT) {
  t.test(`signs in through a connection ${name}`, async (t) => {
    t.test('FED-1 signs in by query and by form_post, and ends the former session', async (t) => {
      const page = await newPage(t, options)
      const subjects = new Set<unknown>()
      for (const [link, posted] of [
        ['Continue with Acme', false],
        ['Continue with Posted', true]
      ] as const) {
        await page.context().clearCookies()
        await page.goto(downstream.authorizeUrl())
        await signInOn(page)
        await answerAt(page, downstream)
        const before = await page.context().cookies(downstream.origin)
        await page.goto(downstream.authorizeUrl({ prompt: 'login', state: link }))
        await followLink(page, link)
        await atUpstream(page)
        if (posted) await pastForm(page, options.javaScriptEnabled)
        t.equal((await answerAt(page, downstream)).state, link)
        const { claims } = decodeJwt((await tokensAt(page, downstream)).id_token ?? '')
        subjects.add(claims.sub)
        t.equal(claims.acr, 'connection')
        t.notOk(claims.amr, 'nobody said how')
        t.not(claims.sub, downstream.ann.id)
        const after = await page.context().cookies(downstream.origin)
        t.notOk(
          after.some((cookie) => /flow|answer|link/.test(cookie.name)),
          'no cookie of the flow is left'
        )
        const [session] = before.filter(({ name }) => name.startsWith('authority_session_'))
        t.equal(
          (
            await downstream.app.inject({
              url: '/auth/account',
              headers: { cookie: `${session?.name}=${session?.value}` }
            })
          ).statusCode,
          303,
          'the former session'
        )
      }
      t.equal(subjects.size, 1, 'one person, one user')
    })

    t.test('asks the owner of an account with the same address to sign in, then links', async (t) => {
      const bob = await downstream.addUser(`bob-${options.javaScriptEnabled}@example.com`)
      await upstream.addUser(bob.username)
      const page = await newPage(t, options)
      await page.goto(downstream.authorizeUrl({ state: 'kept' }))
      await followLink(page, 'Continue with Acme')
      await atUpstream(page, bob.username)
      await page.waitForURL(`${downstream.origin}/auth/connect/confirm`)
      t.equal(await heading(page), 'You already have an account')
      if (options.javaScriptEnabled !== false) t.strictSame(await violationsOf(page, ALL_RULES), [])
      await followLink(page, 'Sign in')
      await signInOn(page, { username: bob.username })
      t.equal(await heading(page), 'Connect Acme?')
      if (options.javaScriptEnabled !== false) t.strictSame(await violationsOf(page, ALL_RULES), [])
      // With scripts, the button is disabled for half a second to prevent accidental presses.
      await page.locator('button:not([disabled])', { hasText: 'Connect' }).waitFor()
      await press(page, 'Connect')
      t.equal((await answerAt(page, downstream)).state, 'kept')
      t.equal(decodeJwt((await tokensAt(page, downstream)).id_token ?? '').claims.sub, bob.id)
      const other = await newPage(t, options)
      await other.goto(downstream.authorizeUrl({ connection: 'acme' }))
      await atUpstream(other, bob.username)
      t.equal(
        decodeJwt((await tokensAt(other, downstream)).id_token ?? '').claims.sub,
        bob.id,
        'connection= leads past the page'
      )
    })

    t.test('completes sign-ins in two tabs, and shows an error for a repeated callback', async (t) => {
      const page = await newPage(t, options)
      const tab = await page.context().newPage()
      await page.goto(downstream.authorizeUrl({ state: 'first' }))
      await tab.goto(downstream.authorizeUrl({ state: 'second' }))
      await followLink(page, 'Continue with Acme')
      await followLink(tab, 'Continue with Acme')
      const callbacks: string[] = []
      tab.on('request', (request) => {
        if (request.url().includes('/callback?')) callbacks.push(request.url())
      })
      await atUpstream(tab)
      t.equal((await answerAt(tab, downstream)).state, 'second')
      await atUpstream(page)
      t.equal((await answerAt(page, downstream)).state, 'first')
      t.equal(callbacks.length, 1)
      await tab.goto(callbacks[0] ?? '')
      t.equal(await heading(tab), 'Something went wrong')
      await followLink(tab, 'Back to sign-in')
      t.equal(await heading(tab), 'Sign in to Example Accounts')
      await page.goBack()
      await page.goto(downstream.authorizeUrl({ state: 'third' }))
      t.equal((await answerAt(page, downstream)).state, 'third', 'and the session is there')
    })

    t.test(
      'FED-22 takes a user with an address of the domain to its provider, and passes the address on',
      async (t) => {
        const page = await newPage(t, options)
        await page.goto(downstream.authorizeUrl({ state: 'work' }))
        await page.getByLabel('Username or email').fill('zoe@work.example')
        await page.getByRole('button', { name: 'Sign in', exact: true }).click()
        await page.waitForURL((url) => url.origin === upstream.origin)
        t.equal(await page.getByLabel('Username or email').inputValue(), 'zoe@work.example', 'the address goes along')
        await atUpstream(page, 'zoe@work.example')
        t.equal((await answerAt(page, downstream)).state, 'work')
      }
    )

    t.test('FED-22 links an account at the provider when a host page starts linking, and returns to it', async (t) => {
      const name = `link-${options.javaScriptEnabled}`
      const mine = await downstream.addUser(name)
      await upstream.addUser(name)
      const page = await newPage(t, options)
      await page.goto(`${downstream.origin}/auth/login?return_to=/mine`)
      await signInOn(page, { username: name })
      await page.getByRole('button', { name: 'Link Acme' }).click()
      await atUpstream(page, name)
      await page.waitForURL(`${downstream.origin}/mine`)
      t.match(await downstream.app.authority.identities(mine.id), [{ connection: 'acme' }])
    })
  })
}

t.test('FED-22 shows accessible links in all color schemes, without requests to third parties', async (t) => {
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await newPage(t, { locale: 'en', colorScheme })
    const asked: string[] = []
    page.on('request', (request) => {
      asked.push(new URL(request.url()).origin)
    })
    for (const path of ['/auth/login', '/auth/signup']) {
      await page.goto(`${downstream.origin}${path}`)
      t.strictSame(await violationsOf(page, ALL_RULES), [], `${path} ${colorScheme}`)
      for (const box of await page.locator('.connect a').all())
        t.ok(((await box.boundingBox())?.height ?? 0) >= 44, '44 px')
    }
    t.strictSame([...new Set(asked)], [downstream.origin])
    await page.emulateMedia({ forcedColors: 'active' })
    t.strictSame(await violationsOf(page, ALL_RULES), [], 'forced colours')
  }
})
