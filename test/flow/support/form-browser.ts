/** The present page of a browser without JavaScript. */
export interface Stop {
  /** The last address, with its query. */
  url: URL
  status: number
  text: string
}

/**
 * A browser without JavaScript over real sockets: it keeps cookies, follows redirects on one origin, and posts the
 * forms it sees.
 */
export interface FormBrowser {
  get(url: string, headers?: Record<string, string>): Promise<Stop>
  /** Posts the form of the page that it is on. */
  submit(page: Stop, fields?: Record<string, string>): Promise<Stop>
}

const MAX_REDIRECTS = 10

export function formBrowser(origin: string, send: typeof fetch = fetch): FormBrowser {
  const cookies = new Map<string, string>()

  async function go(
    address: string,
    init: { method: string; headers?: Record<string, string>; body?: URLSearchParams } = { method: 'GET' }
  ): Promise<Stop> {
    let [url, next] = [new URL(address, origin), init]
    for (let hops = 0; hops < MAX_REDIRECTS; hops++) {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const response = await send(url, {
        ...next,
        redirect: 'manual',
        headers: { ...next.headers, ...(cookie === '' ? {} : { cookie }) }
      })
      for (const line of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
        if (value === '') cookies.delete(name)
        else cookies.set(name, value)
      }
      const text = await response.text()
      const location = response.headers.get('location')
      if (response.status !== 303 || location === null) return { url, status: response.status, text }
      url = new URL(location, url)
      if (url.origin !== origin) return { url, status: response.status, text }
      next = { method: 'GET' }
    }
    throw new Error(`more than ${MAX_REDIRECTS} redirects, the last to ${url.href}`)
  }

  return {
    get: async (url, headers = {}) => await go(url, { method: 'GET', headers }),
    async submit({ url, text }, fields = {}) {
      const [, action] = /<form[^>]* action="([^"]*)"/.exec(text) ?? []
      if (action === undefined) throw new Error(`there is no form at ${url.href}: ${text}`)
      const hidden = [...text.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(
        ([, name = '', value = '']): [string, string] => [name, value]
      )
      return await go(new URL(action.replaceAll('&amp;', '&'), url).href, {
        method: 'POST',
        headers: { origin },
        body: new URLSearchParams({ ...Object.fromEntries(hidden), ...fields })
      })
    }
  }
}
