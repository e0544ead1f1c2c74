// One Chromium for all browser tests of a run: each opens contexts of its own in it, where each would start a browser of its own.
import { existsSync, readFileSync } from 'node:fs'

/** Null where none is needed for these arguments of the test runner, or none is there: then a test that needs one says so. */
export async function serveChromium (args) {
  const paths = args.filter((arg) => !arg.startsWith('-'))
  if (paths.length > 0 && !paths.some((path) => path.includes('browser'))) return null
  const executablePath = chromiumPath()
  if (executablePath === undefined) return null
  const { chromium } = await import('playwright-core')
  return await chromium.launchServer({ executablePath, headless: true, host: '127.0.0.1', args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] })
}

/** The one that the environment names, or the first of those that machines have. */
export function chromiumPath () {
  const named = process.env.CHROMIUM_PATH
  if (named !== undefined && named !== '') return named
  return JSON.parse(readFileSync(new URL('chromium-paths.json', import.meta.url), 'utf8')).find((path) => existsSync(path))
}
