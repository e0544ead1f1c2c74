import type { Test } from 'tap'
import { LOGGED_OUT } from '../../support/openid.ts'
import type { HttpBrowser, Landing, Visit } from './http-browser.ts'
import { LONG_STATE } from './modules-session.ts'
import type { Op } from './op.ts'
import { type Params, type SignedIn, startSuite, type Suite } from './suite.ts'

export interface LogoutSuite {
  suite: Suite
  browser: HttpBrowser
  signedIn: SignedIn
  /** Goes to the end session endpoint with the suite's parameters and `params`, and confirms if a page asks. */
  logOut(params?: Params, options?: { confirm?: boolean }): Promise<Visit>
  /** True if a request with `prompt=none` gets a code. */
  isSignedIn(): Promise<boolean>
}

/** A signed-in user, as every logout module begins. */
export async function startLogout(t: Test, op?: Op): Promise<LogoutSuite> {
  const suite = await startSuite(t, 'query', op)
  const browser = suite.op.newBrowser()
  const signedIn = await suite.signIn({}, { browser })
  return {
    suite,
    browser,
    signedIn,
    async logOut(params = {}, { confirm = true } = {}) {
      const all = {
        id_token_hint: signedIn.tokens.id_token,
        post_logout_redirect_uri: LOGGED_OUT,
        state: LONG_STATE,
        ...params
      }
      const query = new URLSearchParams(
        Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined)
      )
      const url = `${suite.op.endpoint('end_session_endpoint')}${query.size === 0 ? '' : `?${query.toString()}`}`
      return await browser.go(url, confirm ? {} : { answers: () => undefined })
    },
    async isSignedIn() {
      const url = `${suite.op.endpoint('authorization_endpoint')}?${new URLSearchParams(suite.paramsOf({ prompt: 'none' })).toString()}`
      const { landing } = await browser.go(url)
      if (landing.at === 'page') throw new Error(landing.html)
      const answer = new URL(landing.url).searchParams
      if (answer.has('code')) return true
      if (answer.get('error') !== 'login_required') throw new Error(landing.url)
      return false
    }
  }
}

/** The browser is back at the client, with its state and nothing else. */
export function checkBack(t: Test, landing: Landing): void {
  const { origin, pathname, searchParams, hash } = new URL(landing.url)
  t.equal(landing.at, 'client')
  t.strictSame([origin + pathname, [...searchParams], hash], [LOGGED_OUT, [['state', LONG_STATE]], ''])
}
