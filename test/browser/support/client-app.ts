import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync, transformSync } from 'esbuild'
import type { Page, Route } from 'playwright-core'
import type { Test } from 'tap'
import { steppedClock } from '../../../lib/testing/index.ts'
import type { AuthorityOptions } from '../../../lib/index.ts'
import { signInOn } from './journeys.ts'
import { type Provider, startProvider } from './provider.ts'
import { type StaticFile, staticServer } from './static-server.ts'

/** The result of a call of the client. */
export type Outcome =
  | { value: unknown }
  | { error: string; retryable: boolean; description: string; typed: boolean; appState?: unknown }

export interface AppOptions {
  /** The options of the client, as JavaScript: `{ storage: 'memory' }`. `clientId` and `domain` are variables. */
  client?: string
  /** Runs in the app's module once `auth` is there. */
  script?: string
  /** More HTML for the head of its pages, for this provider. */
  head?: (domain: string) => string
  host?: 'localhost' | '127.0.0.1'
  /** The provider. Default: the provider of the library. */
  domain?: string
  /** The compiled modules of the client, without a bundler. */
  modules?: boolean
  /** The entry with `createAuthClient`. */
  entry?: 'index' | 'dpop'
}

/** A page of another origin that loads the client. */
export interface ClientApp {
  origin: string
  /** Calls the client in the page: an expression with `auth`. */
  call(page: Page, expression: string): Promise<Outcome>
  /** The value of a call that does not fail. */
  value(page: Page, expression: string): Promise<unknown>
  /** Runs an expression that navigates the page away. */
  leave(page: Page, expression: string): Promise<void>
  /** The result of `/callback`, which completes the sign-in by itself. */
  arrived(page: Page): Promise<Outcome>
  /** All events of `auth` in this page so far, as `[name, payload]`. */
  events(page: Page): Promise<Array<[string, unknown]>>
}

export interface Subject {
  provider: Provider
  app: ClientApp
}

const LIB = new URL('../../../lib/client/', import.meta.url)
const PAGES = ['/', '/callback', '/signed-out', '/popup']

/** `domain` is set after the app is created, because the provider registers the app's origin. */
export async function startClientApp(t: Test, domain: () => string, options: AppOptions = {}): Promise<ClientApp> {
  const { client = '{}', script = '', host = '127.0.0.1', modules = false, entry = 'index' } = options
  const source = (): string => `
    import { AuthClientError, createAuthClient } from '/client/${entry}.ts'
    const settle = async (run) => {
      try {
        return { value: await run() }
      } catch (error) {
        return { error: error.error ?? String(error), retryable: error.retryable, description: error.message, typed: error instanceof AuthClientError, appState: error.appState }
      }
    }
    const events = []
    const watch = (client, into = events) => {
      for (const name of ['authenticated', 'unauthenticated', 'token_refreshed', 'error']) client.on(name, (payload) => { into.push([name, payload instanceof Error ? payload.error : payload]) })
    }
    const clientId = 'app', domain = ${JSON.stringify(domain())}
    const createClient = (options = {}) => createAuthClient({ clientId, domain, redirectUri: location.origin + '/callback', ...(${client}), ...options })
    const auth = createClient()
    watch(auth)
    Object.assign(globalThis, { AuthClientError, createAuthClient, createClient, settle, events, watch, auth })
    ${script}
    globalThis.started ??= settle(async () => location.pathname === '/callback' ? await auth.handleRedirectCallback() : undefined)
  `
  const { origin } = await staticServer(t, host, (path): StaticFile | undefined => {
    if (PAGES.includes(path))
      return {
        type: 'text/html',
        body:
          '<!doctype html><html lang="en"><meta ' +
          `charset="utf-8">${options.head?.(domain()) ?? ''}<link rel="icon" ` +
          'href="data:,"><title>App</title><h1>App</h1><script type="module" src="/app.js"></script>'
      }
    if (path === '/app.js') return { type: 'text/javascript', body: source() }
    return path.startsWith('/client/')
      ? { type: 'text/javascript', body: (modules ? compiled : bundled)(path.slice('/client/'.length)) }
      : undefined
  })
  const call: ClientApp['call'] = async (page, expression) =>
    await page.evaluate(`settle(async () => await (${expression}))`)
  return {
    origin,
    call,
    async value(page, expression) {
      const outcome = await call(page, expression)
      if ('error' in outcome) throw new Error(`${expression}: ${outcome.error} ${outcome.description}`)
      return outcome.value
    },
    leave: async (page, expression) => {
      await page.evaluate(`void (${expression})`)
    },
    async arrived(page) {
      await page.waitForURL((url) => url.origin === origin && url.pathname === '/callback')
      return await page.evaluate('started')
    },
    events: async (page) => await page.evaluate('events')
  }
}

let bundles: Map<string, string> | undefined

/**
 * The modules that apps import, bundled with a shared part, so that a page loads two files instead of eight each time.
 */
function bundled(name: string): string {
  bundles ??= new Map(
    buildSync({
      entryPoints: ['index', 'popup', 'silent', 'step-up', 'dpop'].map((door) =>
        fileURLToPath(new URL(`${door}.ts`, LIB))
      ),
      bundle: true,
      splitting: true,
      format: 'esm',
      target: 'es2022',
      outdir: fileURLToPath(LIB),
      outExtension: { '.js': '.ts' },
      write: false
    }).outputFiles.map(({ path, text }) => [basename(path), text])
  )
  const text = bundles.get(name)
  if (text === undefined) throw new Error(`the client has no file ${name}`)
  return text
}

/** Compiles file by file, as `tsc` does. */
function compiled(name: string): string {
  return transformSync(readFileSync(new URL(name, LIB), 'utf8'), { loader: 'ts', target: 'es2022' }).code
}

/** An app and our provider, with the app registered as the client `app`. */
export async function clientSubject(
  t: Test,
  options: AppOptions = {},
  authority: Partial<AuthorityOptions> = {}
): Promise<Subject> {
  let domain = ''
  const app = await startClientApp(t, () => domain, options)
  const provider = await startProvider(t, {
    clock: steppedClock(Date.now()),
    clients: [
      {
        clientId: 'app',
        redirectUris: [`${app.origin}/callback`, `${app.origin}/popup`, `${app.origin}/`],
        postLogoutRedirectUris: [`${app.origin}/signed-out`]
      }
    ],
    ...authority
  })
  domain = provider.origin
  return { provider, app }
}

/** From the app to the sign-in page. */
export async function toSignIn(page: Page, { provider, app }: Subject, options = '{}'): Promise<void> {
  await page.goto(`${app.origin}/`)
  await app.leave(page, `auth.loginWithRedirect(${options})`)
  await page.waitForURL((url) => url.origin === provider.origin && url.pathname === '/auth/login')
}

/** From the app to the sign-in page and back. */
export async function signIn(page: Page, subject: Subject, options?: string): Promise<unknown> {
  await toSignIn(page, subject, options)
  await signInOn(page)
  const outcome = await subject.app.arrived(page)
  if ('error' in outcome) throw new Error(`${outcome.error}: ${outcome.description}`)
  return outcome.value
}

export interface Calls {
  /** The forms that were posted, oldest first. */
  forms: Array<Record<string, string>>
  /** The handler that answers instead of the server. If it is `null`, the server answers. */
  answer: ((route: Route) => Promise<unknown>) | null
}

/** Intercepts requests of pages to an endpoint of the provider. */
export async function intercept(page: Page, url: string): Promise<Calls> {
  const calls: Calls = { forms: [], answer: null }
  await page.context().route(`${url}*`, async (route) => {
    if (route.request().method() === 'POST')
      calls.forms.push(Object.fromEntries(new URLSearchParams(route.request().postData() ?? '')))
    await (calls.answer === null ? route.fallback() : calls.answer(route))
  })
  return calls
}

export const CORS = { 'access-control-allow-origin': '*' }

/** Answers with this JSON. */
export const respond =
  (status: number, json: unknown) =>
  async (route: Route): Promise<void> => {
    await route.fulfill({ status, headers: CORS, json })
  }

/** Lets the server answer, and changes its response. */
export function changed(change: (body: Record<string, unknown>) => Record<string, unknown>) {
  return async (route: Route): Promise<void> => {
    const response = await route.fetch()
    await route.fulfill({ response, json: change(await response.json()) })
  }
}

/** An ID token with changed claims. */
export function withClaims(token: unknown, claims: Record<string, unknown>): string {
  const [head, body = '', signature] = String(token).split('.')
  const all = { ...JSON.parse(Buffer.from(body, 'base64url').toString()), ...claims }
  return [head, Buffer.from(JSON.stringify(all)).toString('base64url'), signature].join('.')
}
