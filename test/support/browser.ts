import type { FastifyInstance } from 'fastify'
import type { LightMyRequestResponse } from './app.ts'
import { ISSUER } from './app.ts'

/** A browser for `inject`: it keeps cookies and sends the origin of a form. It follows no redirect by itself. */
export interface TestBrowser {
  cookies: Map<string, string>
  get(url: string, headers?: Record<string, string>): Promise<LightMyRequestResponse>
  /** Posts a form as one of our own pages would. */
  submit(url: string, form?: Record<string, string>, headers?: Record<string, string>): Promise<LightMyRequestResponse>
  /** Follows redirects below the issuer. Resolves to the first other response and the address before it. */
  follow(reply: LightMyRequestResponse): Promise<{ reply: LightMyRequestResponse; url: string }>
}

const MAX_REDIRECTS = 10

export function testBrowser(app: FastifyInstance, issuer = ISSUER): TestBrowser {
  const cookies = new Map<string, string>()
  const { origin } = new URL(issuer)

  async function send(
    method: 'GET' | 'POST',
    url: string,
    payload: string | undefined,
    headers: Record<string, string>
  ): Promise<LightMyRequestResponse> {
    const reply = await app.inject({
      method,
      url: url.startsWith(origin) ? url.slice(origin.length) : url,
      headers: {
        host: new URL(issuer).host,
        ...(cookies.size === 0 ? {} : { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') }),
        ...headers
      },
      ...(payload === undefined ? {} : { payload })
    })
    for (const cookie of reply.cookies) {
      if (cookie.maxAge === 0) cookies.delete(cookie.name)
      else cookies.set(cookie.name, cookie.value)
    }
    return reply
  }

  const browser: TestBrowser = {
    cookies,
    get: async (url, headers = {}) => await send('GET', url, undefined, { 'sec-fetch-site': 'none', ...headers }),
    submit: async (url, form = {}, headers = {}) =>
      await send('POST', url, new URLSearchParams(form).toString(), {
        'content-type': 'application/x-www-form-urlencoded',
        'sec-fetch-site': 'same-origin',
        origin,
        ...headers
      }),
    async follow(reply) {
      let current = reply
      let url = ''
      for (let hops = 0; hops < MAX_REDIRECTS; hops++) {
        const location = current.headers.location
        if (current.statusCode !== 303 || location === undefined) return { reply: current, url }
        const target = new URL(location, origin)
        url = target.href
        if (target.origin !== origin) return { reply: current, url }
        current = await browser.get(url)
      }
      throw new Error(`more than ${MAX_REDIRECTS} redirects, the last to ${url}`)
    }
  }
  return browser
}

/** The target of a page's form, with its entities decoded. */
export function formAction(html: string): string {
  const [, action = ''] = /<form[^>]* action="([^"]*)"/.exec(html) ?? []
  return action.replaceAll('&amp;', '&')
}
