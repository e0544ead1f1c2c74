// `npm run test:firefox`: the browser tests of the connections and of the sign-in pages in Firefox instead of Chromium.
// It is no part of `npm test`. Further words are files to run instead of those.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const named = process.env.FIREFOX_PATH
const path = [named, '/usr/bin/firefox-esr', '/usr/bin/firefox'].find((each) => each !== undefined && existsSync(each))
if (path === undefined) {
  console.error('no Firefox on this machine: install one (apt-get install firefox-esr), or name it in FIREFOX_PATH')
  process.exit(1)
}
const words = process.argv.slice(2)
const files = words.length > 0 ? words : ['test/browser/connections.test.ts', 'test/browser/pages-sign-in.test.ts']
const failed = files.filter(
  (file) =>
    spawnSync(process.execPath, ['--import', './scripts/typescript-loader.mjs', file], {
      cwd: root,
      stdio: 'inherit',
      env: { TAP_TIMEOUT: '600', ...process.env, TEST_BROWSER: 'firefox', FIREFOX_PATH: path }
    }).status !== 0
)
console.log(failed.length === 0 ? `${files.length} files passed in Firefox` : `failed in Firefox: ${failed.join(' ')}`)
process.exitCode = failed.length === 0 ? 0 : 1
