import { PASSWORD } from '../../support/app.ts'
import { formAction } from '../../support/browser.ts'

/** The end of a navigation: the client's own address, with the answer, or a page that has nothing left to fill in. */
export type Landing =
  | { at: 'client'; method: 'GET' | 'POST'; url: string }
  | { at: 'page'; status: number; url: string; html: string }

export interface Visit {
  landing: Landing
  /** The pages that a person saw on the way, by the last segment of their path. */
  seen: string[]
  /** The fields of the form that the last page posted to the client. */
  form: Array<[string, string]>
}

/** The person's entries on the page; `undefined`: leaves it as it is. */
type Answers = (page: string) => Record<string, string> | undefined

export interface HttpBrowser {
  /** Goes to `url`, or posts `form` to it, as from the client's site, and completes every page. */
  go(url: string, options?: { form?: URLSearchParams; answers?: Answers }): Promise<Visit>
}

const MAX_STEPS = 12

/** Signs in, allows the requested access, and confirms a sign-out. */
export const WILLING: Answers = (page) =>
  ({
    login: { username: 'ann', password: PASSWORD },
    consent: { decision: 'allow' },
    logout: { decision: 'sign_out' }
  })[page]

/**
 * A browser over real sockets: a cookie jar, redirects by hand, forms filled in as the suite's scripted browser does.
 */
export function httpBrowser(issuer: string): HttpBrowser {
  const { origin } = new URL(issuer)
  const cookies = new Map<string, string>()

  async function load(url: string, form: URLSearchParams | undefined, from: 'client' | 'page'): Promise<Response> {
    // A post from another site lacks SameSite=Lax cookies. A link has them.
    const bare = from === 'client' && form !== undefined
    const response = await fetch(url, {
      ...(form === undefined ? {} : { method: 'POST', body: form }),
      redirect: 'manual',
      headers: {
        ...(bare || cookies.size === 0
          ? {}
          : { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') }),
        'sec-fetch-site': from === 'client' ? 'cross-site' : 'same-origin',
        ...(form === undefined ? {} : { origin: from === 'client' ? 'https://app.example' : origin })
      }
    })
    for (const header of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(header) ?? []
      if (/; Max-Age=0(?:;|$)/i.test(header)) cookies.delete(name)
      else cookies.set(name, value)
    }
    return response
  }

  return {
    async go(start, { form: posted, answers = WILLING } = {}) {
      const seen: string[] = []
      let url = start
      let response = await load(url, posted, 'client')
      for (let step = 0; step < MAX_STEPS; step++) {
        const location = response.headers.get('location')
        if (location !== null) {
          if (response.status !== 303) throw new Error(`a redirect by ${response.status} at ${url}`)
          url = new URL(location, url).href
          // The URL as it was sent, because `URL` might normalise it.
          if (new URL(url).origin !== origin)
            return { landing: { at: 'client', method: 'GET', url: location }, seen, form: [] }
          response = await load(url, undefined, 'page')
          continue
        }
        const html = await response.text()
        if (html.includes('data-submit'))
          return { landing: { at: 'client', method: 'POST', url: formAction(html) }, seen, form: fieldsOf(html) }
        const page = new URL(url).pathname.split('/').at(-1) ?? ''
        const answer = response.status === 200 && html.includes('<form') ? answers(page) : undefined
        if (answer === undefined) return { landing: { at: 'page', status: response.status, url, html }, seen, form: [] }
        seen.push(page)
        url = new URL(formAction(html), url).href
        response = await load(url, new URLSearchParams(answer), 'page')
      }
      throw new Error(`no end after ${MAX_STEPS} steps, the last at ${url}`)
    }
  }
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

/** The hidden fields of a page's form, in their order. */
function fieldsOf(html: string): Array<[string, string]> {
  const decoded = (text: string): string => text.replace(/&(#?\w+);/g, (whole, name: string) => ENTITIES[name] ?? whole)
  return [...html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map(
    ([, name = '', value = '']) => [decoded(name), decoded(value)]
  )
}
