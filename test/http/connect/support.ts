import type { AuthorityOptions } from '../../../lib/index.ts'
import { type LightMyRequestResponse, testApp, type TestApp } from '../../support/app.ts'
import { testBrowser, type TestBrowser } from '../../support/browser.ts'
import { fakeConnection, type FakeUpstream, fakeUpstream, PROVIDER, SECRET } from '../../support/fake-upstream.ts'

export interface ConnectApp extends TestApp {
  fake: FakeUpstream
  browser: TestBrowser
  /** Every line of the log. */
  lines: string[]
  /** Clicks a button on the sign-in page. */
  start(query?: string, browser?: TestBrowser, id?: string): Promise<{ reply: LightMyRequestResponse; state: string }>
  /** The provider sends the browser back. */
  back(
    state: string,
    answer?: Record<string, string>,
    browser?: TestBrowser,
    id?: string
  ): Promise<LightMyRequestResponse>
  /** Starts the sign-in and sends the browser back. */
  through(query?: string, browser?: TestBrowser): Promise<LightMyRequestResponse>
  /** The user ids of live browser sessions by their cookie, `null` where nobody is signed in. */
  who(browser?: TestBrowser): Promise<string | null>
  payloads(name: string): Array<Record<string, unknown>>
}

/** The target of a response: of a redirect, or of a page that navigates on. */
export function onward({ headers }: LightMyRequestResponse): string {
  return headers.location ?? (headers.refresh ?? '').replace('0;url=', '')
}

export const SAME = { 'sec-fetch-site': 'same-origin' }
export const CROSS = { 'sec-fetch-site': 'cross-site' }

export async function connectApp(
  t: { teardown(task: () => Promise<void>): void },
  {
    connection = {},
    more = {},
    fake = fakeUpstream(),
    ...options
  }: Partial<AuthorityOptions> & {
    connection?: Parameters<typeof fakeConnection>[1]
    more?: Parameters<typeof fakeConnection>[2]
    fake?: FakeUpstream
  } = {}
): Promise<ConnectApp> {
  const lines: string[] = []
  const test = await testApp(
    { secret: SECRET, connections: [fakeConnection(fake, connection, more)], ...options },
    {
      logger: {
        level: 'trace',
        stream: {
          write(line: string) {
            lines.push(line)
          }
        }
      }
    },
    (app) => {
      app.get(
        '/who',
        {
          async onRequest(request, reply) {
            await app.authority.readSession(request, reply)
          }
        },
        async (request) => ({ userId: request.authSession?.sub ?? null })
      )
    }
  )
  t.teardown(test.close)
  const own = testBrowser(test.app)
  const connect: ConnectApp = {
    ...test,
    fake,
    lines,
    browser: own,
    async start(query = '', browser = own, id = 'acme') {
      const reply = await browser.get(`/auth/connect/${id}${query}`, SAME)
      const location = reply.headers.location ?? ''
      return { reply, state: location.startsWith(PROVIDER) ? (new URL(location).searchParams.get('state') ?? '') : '' }
    },
    back: async (state, answer = { code: 'good' }, browser = own, id = 'acme') =>
      await browser.get(`/auth/connect/${id}/callback?${new URLSearchParams({ ...answer, state }).toString()}`, CROSS),
    async through(query = '', browser = own) {
      const { state } = await connect.start(query, browser)
      return await connect.back(state, { code: 'good' }, browser)
    },
    async who(browser = own) {
      const reply = await browser.get('/who')
      return reply.json<{ userId: string | null }>().userId
    },
    payloads: (name) => test.events.filter((event) => event.name === name).map(({ payload }) => payload)
  }
  return connect
}
