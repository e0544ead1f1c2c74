/** The walk of `http/connect/walk` in a browser instead of by `inject`. Each pair of choices occurs in some journey. */
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { Page, Response } from 'playwright-core'
import t, { type Test } from '../support/tap.ts'
import { memoryUserStore } from '../../lib/index.ts'
import { fastHasher } from '../../lib/testing/doubles.ts'
import { PASSWORD } from '../support/app.ts'
import { fakeConnection, fakeUpstream, SECRET } from '../support/fake-upstream.ts'
import {
  ACCOUNTS,
  DOMAINS,
  faultsOf,
  FIRST,
  type Hands,
  LINKING,
  SAYS,
  type Seen,
  walk
} from '../http/connect/walk-model.ts'
import { withChromium } from './support/chromium.ts'
import { fill, USERNAME } from './support/journeys.ts'
import { startProvider } from './support/provider.ts'

const { newPage } = await withChromium(t)

const CHOICES = [Object.keys(DOMAINS), LINKING, Object.keys(ACCOUNTS), Object.keys(SAYS), FIRST] as const
type Journey = [
  domain: string,
  linking: (typeof LINKING)[number],
  kind: string,
  says: string,
  first: (typeof FIRST)[number]
]

/** Journeys that cover each pair of choices, found by repeatedly taking the one with the most new pairs. */
function pairwise(): Journey[] {
  const all = CHOICES.reduce<string[][]>(
    (rows, values) => rows.flatMap((row) => values.map((one) => [...row, one])),
    [[]]
  )
  const pairsOf = (row: string[]): string[] =>
    row.flatMap((one, at) => row.slice(at + 1).map((other, after) => `${at} ${one} ${at + 1 + after} ${other}`))
  const left = new Set(all.flatMap(pairsOf))
  const taken: string[][] = []
  while (left.size > 0) {
    const news = all.map((row) => pairsOf(row).filter((pair) => left.has(pair)).length)
    const row = all[news.indexOf(Math.max(...news))] ?? []
    for (const pair of pairsOf(row)) left.delete(pair)
    taken.push(row)
  }
  return taken as Journey[]
}

/** A provider on another site, which signs each visitor in and redirects at once. */
const provider = createServer((request, response) => {
  const { searchParams } = new URL(request.url ?? '/', 'http://provider')
  const back = new URL(searchParams.get('redirect_uri') ?? '')
  back.search = new URLSearchParams({ code: 'good', state: searchParams.get('state') ?? '' }).toString()
  response.writeHead(303, { location: back.href }).end()
}).listen(0, '127.0.0.1')
t.teardown(() => provider.close())
await once(provider, 'listening')
const providerOrigin = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`

function handsOf(page: Page, origin: string): Hands {
  let last: Response | null = null
  const isNavigation = (response: Response): boolean =>
    response.request().isNavigationRequest() && response.frame() === page.mainFrame()
  const leads = (response: Response): boolean =>
    (response.status() >= 300 && response.status() < 400) || response.headers()['refresh'] !== undefined
  page.on('response', (response) => {
    if (isNavigation(response)) last = response
  })
  /** Runs an action and waits for the page on which the browser stays. */
  async function go(act: () => Promise<unknown>): Promise<{ first: Response; seen: Seen | null }> {
    const [first] = await Promise.all([page.waitForResponse(isNavigation), act()])
    for (;;) {
      const now: Response = last ?? first
      if (leads(now)) await page.waitForResponse(isNavigation)
      else {
        await page.waitForURL(now.url(), { waitUntil: 'load' })
        if (now === last) break
      }
    }
    const { pathname } = new URL(page.url())
    return {
      first,
      seen:
        page.url().startsWith(origin) && pathname.startsWith('/auth/')
          ? { statusCode: last?.status() ?? 0, body: await page.content() }
          : null
    }
  }
  const seenBy = async (act: () => Promise<unknown>): Promise<Seen | null> => (await go(act)).seen
  return {
    open: async () => await seenBy(async () => await page.goto(`${origin}/auth/login`)),
    async type(email, password) {
      await fill(page, { [USERNAME]: email, Password: password })
      const { first, seen } = await go(async () => {
        await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      })
      const { location = '', refresh = '' } = first.headers()
      return { isLedOn: `${location}${refresh}`.includes('connect'), seen }
    },
    press: async () => await seenBy(async () => await page.locator('a[href*="/auth/connect/acme"]').first().click()),
    confirm: async () =>
      await seenBy(async () => await page.locator('form[action^="/auth/connect/confirm"] button').first().click()),
    follow: async (link) => await seenBy(async () => await page.locator(`a[href="${link}"]`).click())
  }
}

const journeys = pairwise()
t.ok(journeys.length <= 26, `${journeys.length} journeys`)

for (const [domain, options] of Object.entries(DOMAINS)) {
  for (const linking of LINKING) {
    t.test(
      `${domain}, linking ${linking}: ends each sign-in journey without a circle in a browser`,
      async (t: Test) => {
        const users = memoryUserStore()
        const fake = fakeUpstream()
        fake.upstream.authorizationUrl = async ({ state, redirectUri }) =>
          `${providerOrigin}/?${new URLSearchParams({ state, redirect_uri: redirectUri }).toString()}`
        const service = await startProvider(
          t,
          { users, secret: SECRET, connections: [fakeConnection(fake, { ...options, linking })] },
          (app) => {
            app.get('/who', async (request, reply) => {
              await app.authority.readSession(request, reply)
              return { userId: request.authSession?.sub ?? null }
            })
          }
        )
        const hash = await fastHasher().hash(PASSWORD, { memoryCost: 64, timeCost: 1, parallelism: 1 })
        for (const [at, [ofDomain, by, kind, says, first]] of journeys.entries()) {
          if (ofDomain !== domain || by !== linking) continue
          const email = `ann${at}@acme.example`
          const account = ACCOUNTS[kind] ?? null
          if (account !== null) await users.create({ username: email, email, passwordHash: hash, ...account })
          fake.person = { subject: `ann-${at}`, ...SAYS[says]?.(email) }
          const knowsPassword = account !== null && account.passwordHash !== null
          const page = await newPage(t, { javaScriptEnabled: at % 2 === 0, locale: 'en' })
          const pages = await walk(handsOf(page, service.origin), { email, knowsPassword, first })
          const { userId } = (await (await page.context().request.get(`${service.origin}/who`)).json()) as {
            userId: string | null
          }
          t.strictSame(faultsOf(pages, userId !== null), [], `${kind}, the provider ${says}, ${first} first`)
        }
      }
    )
  }
}
