// Records the lines of the library that each test file of a process executes. scripts/run-together.mjs imports it if
// `TEST_COVERAGE` names a directory for the answers.
import { mkdirSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { join } from 'node:path'

const LIB = new URL('../lib/', import.meta.url).href
const session = new Session()
session.connect()
session.post('Profiler.enable')
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })

/** Writes the functions that were executed since the call before, in the form of NODE_V8_COVERAGE. */
export function takeCoverage(file, seconds) {
  session.post('Profiler.takePreciseCoverage', (error, { result } = { result: [] }) => {
    const scripts = result
      .filter(({ url }) => url.startsWith(LIB))
      .map((script) => ({ ...script, url: script.url.replace(/[?#].*$/, '') }))
    mkdirSync(process.env.TEST_COVERAGE, { recursive: true })
    const place = join(process.env.TEST_COVERAGE, `${file.replaceAll('/', '+')}.json`)
    writeFileSync(place, JSON.stringify({ seconds, result: scripts }))
    if (error) throw error
  })
}
