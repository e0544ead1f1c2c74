import { fileURLToPath } from 'node:url'
import { type Browser, firefox } from 'playwright-core'

/** By WebDriver BiDi (scripts/firefox-bidi.mjs). */
const EXECUTABLE = fileURLToPath(new URL('../../../scripts/firefox-bidi.mjs', import.meta.url))

/** True if `npm run test:firefox` runs the file. */
export const isFirefox = process.env.TEST_BROWSER === 'firefox'

/**
 * The Firefox of a test file. Firefox can't be driven without scripts, because Playwright waits for elements by
 * `requestAnimationFrame`, which never calls back then. So `WITH_AND_WITHOUT` has only half of its journeys.
 */
export async function launchFirefox(): Promise<Browser> {
  return await firefox.launch({ channel: 'moz-firefox', executablePath: EXECUTABLE, headless: true, timeout: 120_000 })
}
