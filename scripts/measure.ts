// Figures of the code. `npm run measure` reads the working tree, `npm run measure -- --at REF` a commit; `--json`
// prints an object.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { wideLines } from '../test/architecture-rules.ts'
import { type FileMap, patternCounts } from '../test/english.ts'
import { libOf, ratchets, sizes, statementsOf, tokensOf } from '../test/figures.ts'

/** The adapters of state and factors with their rules. */
const STATE = /^lib\/(?:records|adapters\/(?:memory|sqlite|redis|postgres|sql))\//
/**
 * Files of the adapters besides state and factors: connections, outages, rights, migrations, user stores and attempt
 * stores.
 */
const BESIDES = new RegExp(
  '/(?:(?:shared-)?connection|database|named-statements|server|patience|outage|refusal|migrations|migration-steps|' +
    'user-store|user-rows|identities|identity-rows|attempt-store)\\.ts$'
)
/** Lines that may be wide: data, and addresses. */
const MAY_BE_WIDE = /^lib\/(?:pages\/|mail\/)?texts\/|common-passwords/
const MEASURED = /\.(?:m?ts|tsx|mjs|json|md)$/

const root = fileURLToPath(new URL('..', import.meta.url))
const { at, json } = parseArgs({ options: { at: { type: 'string' }, json: { type: 'boolean' } } }).values

const git = (args: string[], input?: string): Buffer =>
  execFileSync('git', args, { cwd: root, maxBuffer: 1e9, ...(input === undefined ? {} : { input }) })

function filesAt(commit: string | undefined): FileMap {
  const listed = commit === undefined ? ['ls-files'] : ['ls-tree', '-r', '--name-only', commit]
  const names = git(listed).toString().trim().split('\n')
  const measured = names.filter((name) => MEASURED.test(name) && !/^(?:etc|\.|package)|\/fixtures\//.test(name))
  if (commit === undefined)
    return Object.fromEntries(measured.map((name) => [name, readFileSync(new URL(name, `file://${root}`), 'utf8')]))
  // One process for all files: a header with the size in bytes, the text, and the end of a line.
  const all = git(['cat-file', '--batch'], measured.map((name) => `${commit}:${name}\n`).join(''))
  let next = 0
  return Object.fromEntries(
    measured.map((name) => {
      const start = all.indexOf('\n', next) + 1
      const end = start + Number(all.subarray(next, start).toString().trim().split(' ').at(-1))
      next = end + 1
      return [name, all.subarray(start, end).toString()]
    })
  )
}

const files = filesAt(at)
const lib = Object.entries(libOf(files))
const state = lib.filter(([name]) => STATE.test(name) && !BESIDES.test(name))
const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0)
const english = patternCounts(files)
const figures = {
  ...sizes(files),
  ...ratchets(files),
  'wide lines of lib': sum(lib.map(([name, text]) => (MAY_BE_WIDE.test(name) ? 0 : wideLines(text).length))),
  'tokens of the state and factor adapters with their rules': sum(state.map(([, text]) => tokensOf(text))),
  'words and signs of SQL and Lua in these': sum(state.map(([, text]) => statementsOf(text))),
  'files of these': state.length,
  ...Object.fromEntries(
    ['comments of lib', 'comments of test', 'titles of test', 'texts of lib', 'prose of docs'].map((kind) => [
      `patterns of English to mend, ${kind}`,
      sum(Object.entries(english).map(([place, count]) => (place.startsWith(kind) ? count : 0)))
    ])
  )
}
if (json === true) process.stdout.write(`${JSON.stringify({ figures, english }, null, 2)}\n`)
else
  for (const [name, figure] of Object.entries(figures)) process.stdout.write(`${String(figure).padStart(9)}  ${name}\n`)
