import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import type { TestChromium } from './chromium.ts'
import { startProvider } from './provider.ts'
import { ALL_PAGES, PAGE_STATES } from './states.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const PHONE = { width: 390, height: 844 }
const DESKTOP = { width: 1280, height: 800 }
/** 1280 pixels at 400 %. @see WCAG 2.2 §1.4.10 */
const NARROW = { width: 320, height: 568 }
/** What can differ between colour schemes and sizes. The rest is the same document. */
const BY_SIGHT = ['color-contrast', 'link-in-text-block', 'target-size']
const SIGHTS = [['dark', DESKTOP], ['dark', PHONE], ['light', DESKTOP]] as const

/**
 * Every page in one language: no violation, in light and dark on phone and desktop where `sights` says so, and nothing to scroll
 * sideways, zoomed or not.
 */
export async function checkPages (t: Test, { newPage }: TestChromium, { locale, sights = SIGHTS.length }: { locale: string, sights?: number }): Promise<void> {
  const provider = await startProvider(t, ALL_PAGES)
  const page = await newPage(t, { locale, viewport: PHONE, colorScheme: 'light' })
  for (const { name, open } of PAGE_STATES) {
    await page.context().clearCookies()
    await page.setViewportSize(PHONE)
    await page.emulateMedia({ colorScheme: 'light' })
    await open(page, provider)
    t.equal(await page.locator('html').getAttribute('lang'), locale, name)
    await page.evaluate(AXE)
    t.strictSame(await violations(page), [], name)
    for (const [viewport, textSize] of [[PHONE, 100], [PHONE, 200], [NARROW, 100], [DESKTOP, 200]] as const) {
      await page.setViewportSize(viewport)
      const over = await overflow(page, textSize)
      t.ok(over <= 0, `${name}, ${viewport.width} pixels, text at ${textSize} %: ${over} to scroll`)
    }
    for (const [colorScheme, viewport] of SIGHTS.slice(0, sights)) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize(viewport)
      t.strictSame(await violations(page, BY_SIGHT), [], `${name}, ${colorScheme}, ${viewport.width} pixels`)
    }
  }
}

/** The findings of axe: the rule, and the elements that break it. */
async function violations (page: Page, only?: string[]): Promise<string[]> {
  const { violations } = await page.evaluate(async (only) => {
    const { axe } = globalThis as unknown as { axe: { run(options: unknown): Promise<AxeResults> } }
    return await axe.run({ preload: false, resultTypes: ['violations'], ...(only === undefined ? { rules: { 'target-size': { enabled: true } } } : { runOnly: only }) })
  }, only)
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary ?? ''}`))
}

/** How many pixels there are to scroll sideways, in the page or in an element whose content sticks out. */
async function overflow (page: Page, textSize: number): Promise<number> {
  return await page.evaluate<number>(`(() => {
    const root = document.documentElement
    root.style.fontSize = '${textSize}%'
    const furthest = Math.max(...[...document.querySelectorAll('body *')].map((element) => element.getBoundingClientRect().right))
    const over = Math.max(root.scrollWidth, Math.ceil(furthest)) - root.clientWidth
    root.style.fontSize = ''
    return over
  })()`)
}
