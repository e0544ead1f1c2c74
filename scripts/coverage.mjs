// Runs all tests but faults, fails where they execute less of the library than is
// wanted, and writes which tests reach which file (scripts/reach.mjs). With words as for `npm test` it only reports.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { writeMap } from './reach.mjs'
import { filesOf, runTests } from './run-tests.mjs'
import { translated } from './typescript-loader.mjs'

/** In percent. Code in browsers and child processes is not counted. */
const WANTED = { statements: 99.4, lines: 99.4, functions: 97, branches: 96 }
const root = fileURLToPath(new URL('..', import.meta.url))

const directory = process.env.TEST_COVERAGE ?? mkdtempSync(join(tmpdir(), 'fastify-authority-coverage-'))
process.env.TEST_COVERAGE = directory
const words = process.argv.slice(2)
const isGood = await runTests(filesOf(words.length > 0 ? words : ['--lane=main', '--lane=sweeps', '--lane=nightly']))
if (words.length === 0) writeMap(directory, translated)
process.exitCode = report() === 0 && isGood ? 0 : 1
rmSync(directory, { recursive: true, force: true })

/** By c8, which reads the form of NODE_V8_COVERAGE. The source maps are those of the loader's translations. */
function report() {
  const answers = readdirSync(directory).map((name) => join(directory, name))
  const urls = new Set()
  for (const answer of answers)
    for (const { url } of JSON.parse(readFileSync(answer, 'utf8')).result)
      if (!url.includes('/lib/client/')) urls.add(url)
  const maps = Object.fromEntries([...urls].map((url) => [url, sourceMapOf(fileURLToPath(url))]))
  const place = join(directory, 'c8')
  mkdirSync(place)
  for (const [index, answer] of answers.entries())
    writeFileSync(
      join(place, `${index}.json`),
      JSON.stringify({
        ...JSON.parse(readFileSync(answer, 'utf8')),
        ...(index === 0 ? { 'source-map-cache': maps } : {})
      })
    )
  const limits = Object.entries(WANTED).flatMap(([name, percent]) => [`--${name}`, String(percent)])
  return spawnSync(
    join(root, 'node_modules/.bin/c8'),
    [
      'report',
      '--temp-directory',
      place,
      '--include',
      'lib/**',
      '--exclude',
      'lib/client/**',
      '--merge-async',
      '--check-coverage',
      ...limits
    ],
    { cwd: root, stdio: 'inherit' }
  ).status
}

function sourceMapOf(file) {
  const [code, encoded] = translated(file).split('//# sourceMappingURL=data:application/json;base64,')
  const data = JSON.parse(Buffer.from(encoded, 'base64').toString('utf8'))
  data.sources = [pathToFileURL(file).href]
  return { lineLengths: code.split('\n').map((line) => line.length), data, url: null }
}
