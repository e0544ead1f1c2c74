import { existsSync, readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type ConsoleMessage,
  type Page
} from 'playwright-core'
import { rootOf, type Test } from '../../support/tap.ts'
import { isFirefox, launchFirefox } from './firefox.ts'

/** The paths at which Chromium may be installed. scripts/ensure-servers.mjs uses them too. */
const EXECUTABLES = JSON.parse(
  readFileSync(new URL('../../../scripts/chromium-paths.json', import.meta.url), 'utf8')
) as string[]

/**
 * The time limit of a page: long enough for a slow browser on a busy machine, and short enough to find one that hangs.
 */
const WITHIN_MS = 30_000

/** The delays that the environment sets to find tests that look too early: CONTRIBUTING.md, "Tests by chance". */
const DELAY_MS = Number(process.env.BROWSER_DELAY_MS ?? 0)
const SLOWDOWN = Number(process.env.BROWSER_SLOWDOWN ?? 1)
const DELAYED = 0.3

export interface PageOptions extends Pick<
  BrowserContextOptions,
  'javaScriptEnabled' | 'colorScheme' | 'locale' | 'viewport' | 'baseURL' | 'reducedMotion' | 'isMobile' | 'hasTouch'
> {
  /** Console messages that this test causes on purpose. */
  allow?: RegExp[]
}

export interface TestChromium {
  browser: Browser
  /** A page of a browser without cookies. `page.context().newPage()` is a second tab; all tabs are watched. */
  newPage(t: Test, options?: PageOptions): Promise<Page>
}

/**
 * The browser of a test file. An error or warning of its pages in the console (including a CSP violation) fails the
 * test that opened them. `args`: for a separate Chromium, if the shared one can't have them.
 */
export async function withChromium(t: Test, args: string[] = []): Promise<TestChromium> {
  const browser = await launchBrowser(t, args)
  return {
    browser,
    async newPage(test, { allow = [], ...options } = {}) {
      const context = await browser.newContext(isFirefox ? { ...options, colorScheme: null } : options)
      context.setDefaultTimeout(WITHIN_MS)
      await slowDown(context)
      const problems = watch(context)
      test.teardown(async () => {
        await context.close()
        const left = problems().filter((problem) => !allow.some((pattern) => pattern.test(problem)))
        if (left.length > 0) throw new Error(`the console of the browser says:\n${left.join('\n')}`)
      })
      return await context.newPage()
    }
  }
}

/** The shared browser of each process, by the root test of the process. */
const shared = new WeakMap<object, Promise<Browser>>()

/**
 * The browser that the files of a process share, closed after the last of them. Each file opens its own contexts in it.
 * In the same process as the tests, commands to the browser need no socket. Firefox is started for each file.
 */
async function launchBrowser(t: Test, args: string[]): Promise<Browser> {
  if (isFirefox || args.length > 0) return await closedAfter(t, isFirefox ? launchFirefox() : launch(args))
  const all = rootOf(t)
  const browser = shared.get(all) ?? closedAfter(all, launch())
  shared.set(all, browser)
  return await browser
}

async function closedAfter(t: Pick<Test, 'teardown'>, launched: Promise<Browser>): Promise<Browser> {
  const browser = await launched
  t.teardown(async () => {
    await browser.close()
  })
  return browser
}

async function launch(args: string[] = []): Promise<Browser> {
  const executablePath = chromiumPath()
  if (executablePath === undefined)
    throw new Error('no Chromium on this machine: install one, or name it in CHROMIUM_PATH')
  return await chromium.launch({
    executablePath,
    headless: true,
    // Without it, the CPU emulates a graphics card.
    args: ['--disable-gpu', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []), ...args]
  })
}

function chromiumPath(): string | undefined {
  const named = process.env.CHROMIUM_PATH
  return named === undefined || named === '' ? EXECUTABLES.find((path) => existsSync(path)) : named
}

/** Errors of the console and of scripts, and warnings about a policy. A page with status 4xx is not an error here. */
function watch(context: BrowserContext): () => string[] {
  const messages: ConsoleMessage[] = []
  const thrown: string[] = []
  const documents = new Set<string>()
  context.on('console', (message) => {
    if (message.type() === 'error' || /content security policy/i.test(message.text())) messages.push(message)
  })
  context.on('weberror', (error) => {
    thrown.push(`uncaught: ${error.error().message}`)
  })
  context.on('response', (response) => {
    if (response.request().isNavigationRequest()) documents.add(response.url())
  })
  return () => [
    ...messages
      .filter(
        (message) => !(message.text().startsWith('Failed to load resource') && documents.has(message.location().url))
      )
      .map((message) => `${message.text()} (${message.location().url})`),
    ...thrown
  ]
}

/**
 * Delays random requests and slows scripts down. Requests that a test's own route answers or continues are not delayed.
 */
async function slowDown(context: BrowserContext): Promise<void> {
  if (DELAY_MS > 0) {
    await context.route('**', async (route) => {
      if (Math.random() < DELAYED) await setTimeout(Math.random() * DELAY_MS)
      // The page may be gone meanwhile.
      await route.fallback().catch(() => {})
    })
  }
  if (SLOWDOWN > 1) {
    context.on('page', (page) => {
      const session = context.newCDPSession(page)
      // The slowdown belongs to the renderer, and a page may get a new renderer on navigation. A closed page needs
      // none.
      const apply = (): void => {
        session
          .then(async (its) => await its.send('Emulation.setCPUThrottlingRate', { rate: SLOWDOWN }))
          .catch(() => {})
      }
      apply()
      page.on('framenavigated', (frame) => {
        if (frame === page.mainFrame()) apply()
      })
    })
  }
}
