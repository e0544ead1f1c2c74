// Runs tests, and ends with what failed and a line that a person and a CI system can read: `N passed, N failed`.
//   npm test                          all but the lanes sweeps, nightly and faults (test-lanes.mjs)
//   npm test -- --lane=faults         one lane
//   npm test -- token http/limits/    the files of that name, or else all that have it in their path
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureServers } from './ensure-servers.mjs'
import { runFiles } from './run-files.mjs'
import { allTests, laneOf } from './test-lanes.mjs'

const MOST_LINES = 100
const root = fileURLToPath(new URL('..', import.meta.url))

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const files = filesOf(process.argv.slice(2))
  if (files.length === 0) console.error(`no test file is called so: ${process.argv.slice(2).join(' ')}`)
  process.exitCode = files.length > 0 && (await runTests(files)) ? 0 : 1
}

export function filesOf(words) {
  const all = allTests(root)
  const lanes = words.filter((word) => word.startsWith('--lane=')).map((word) => word.slice('--lane='.length))
  const named = words.filter((word) => !word.startsWith('--lane='))
  if (named.length === 0) return all.filter((file) => (lanes.length > 0 ? lanes : ['main']).includes(laneOf(file)))
  const files = named.flatMap((word) => {
    if (existsSync(word) && statSync(word).isFile()) return [relative(root, resolve(word))]
    const called = all.filter((file) => `/${file}`.endsWith(`/${word}.test.ts`))
    return called.length > 0 ? called : all.filter((file) => file.includes(word))
  })
  return [...new Set(files)]
}

/** True if all passed. */
export async function runTests(files, options) {
  if (!ensureServers(files)) return false
  // Programs that several files start are built once in it.
  const programs = mkdtempSync(join(tmpdir(), 'fastify-authority-programs-'))
  process.env.TEST_PROGRAMS = programs
  const results = await runFiles(root, files, options)
  rmSync(programs, { recursive: true, force: true })

  // Generated pages differ in many places after one change, so their tests come last.
  const failed = results
    .filter(({ failures }) => failures.length > 0)
    .sort((a, b) => Number(a.file.startsWith('test/docs/')) - Number(b.file.startsWith('test/docs/')))
  const failures = failed.flatMap((result) => result.failures)
  const told = failures.flatMap(({ name, lines = [] }) => [name, ...lines.map((line) => `    ${line.slice(0, 400)}`)])
  const left = told.splice(MOST_LINES).length
  if (left > 0) told.push(`and ${left} more`)
  if (told.length > 0) console.log(`\nwhat failed:\n${told.join('\n')}\n`)
  if (failed.length > 0) console.log(`failed files:\n${failed.map(({ file }) => `  ${file}`).join('\n')}\n`)
  const passed = results.reduce((sum, result) => sum + result.passed, 0)
  const processor = results.reduce((sum, result) => sum + result.processor, 0)
  if (files.length > 1) console.log(`${results.length} files, ${processor.toFixed(0)} s of a processor`)
  console.log(`${passed} passed, ${failures.length} failed`)
  return failures.length === 0 && passed > 0
}
