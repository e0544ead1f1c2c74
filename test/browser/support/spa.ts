import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { type StaticFile, staticServer } from './static-server.ts'

/** The result of a call of the library: its value, or the error of the provider or its message. */
export type Outcome = { value: unknown } | { error: string }

/** A single-page app with the bundle of oidc-client-ts and only the calls that its README shows. */
export interface Spa {
  origin: string
  /** Calls the library in the page: an expression with `manager`. */
  call(page: Page, expression: string): Promise<Outcome>
  /** Runs an expression that navigates away, and waits until `path` of the app has completed its start. */
  leave(page: Page, expression: string): Promise<void>
  /** Waits for a page of the app, and resolves to the result of its start. */
  arrived(page: Page, path: string): Promise<Outcome>
}

const BUNDLE = readFileSync(
  fileURLToPath(new URL('../../../node_modules/oidc-client-ts/dist/browser/oidc-client-ts.min.js', import.meta.url)),
  'utf8'
)

const HTML =
  '<!doctype html><html lang="en"><meta ' +
  'charset="utf-8"><title>App</title><h1>App</h1><script ' +
  'src="/oidc-client-ts.js"></script><script src="/app.js"></script>'

/** `authority` is set after the app is created, because the provider registers the app's origin. */
export async function startSpa(
  t: Test,
  {
    host = 'localhost',
    clientId,
    scope,
    authority
  }: { host?: 'localhost' | '127.0.0.1'; clientId: string; scope: string; authority: () => string }
): Promise<Spa> {
  const script = (): string => `
    const at = (path) => location.origin + path
    const manager = new oidc.UserManager({
      authority: ${JSON.stringify(authority())},
      client_id: ${JSON.stringify(clientId)},
      scope: ${JSON.stringify(scope)},
      redirect_uri: at('/callback'),
      silent_redirect_uri: at('/silent'),
      post_logout_redirect_uri: at('/signed-out'),
      popup_redirect_uri: at('/callback'),
      includeIdTokenInSilentSignout: true,
      silentRequestTimeoutInSeconds: 30,
      loadUserInfo: true,
      automaticSilentRenew: false,
      userStore: new oidc.WebStorageStateStore({ store: localStorage })
    })
    const settle = (promise) => promise.then((value) => ({ value }), (error) => ({ error: error.error ?? String(error) }))
    const started = settle({
      '/callback': () => manager.signinCallback(),
      '/silent': () => manager.signinSilentCallback(),
      '/signed-out': () => manager.signoutCallback()
    }[location.pathname]?.() ?? Promise.resolve())
  `
  const files: Record<string, () => StaticFile> = {
    '/oidc-client-ts.js': () => ({ type: 'text/javascript', body: BUNDLE }),
    '/app.js': () => ({ type: 'text/javascript', body: script() })
  }
  for (const path of ['/', '/callback', '/silent', '/signed-out'])
    files[path] = () => ({ type: 'text/html', body: HTML })
  const { origin } = await staticServer(t, host, (path) => files[path]?.())
  return {
    origin,
    call: async (page, expression) => await page.evaluate(`settle(${expression})`),
    leave: async (page, expression) => {
      await page.evaluate(`void ${expression}`)
    },
    async arrived(page, path) {
      await page.waitForURL((url) => url.origin === origin && url.pathname === path)
      return await page.evaluate('started')
    }
  }
}
