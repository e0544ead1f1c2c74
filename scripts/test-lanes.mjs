// The test files in the lanes in which they run, and those that share a process. What a file needs of the machine and
// of its process decides, not what it is about.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Their files share processes, but for those that count or change what a process has once. */
const SHARED = /^test\/(?:browser|concurrency|conformance|contract|docs|faults|flow|http|properties|security|unit)\//
const OWN_PROCESS = [
  // What the library says once in a process.
  'test/http/warnings',
  // The threads of all hashers of a process.
  'test/unit/passwords/hashing-threads',
  // The compiler.
  'test/security/expressions'
].map((name) => `${name}.test.ts`)
/**
 * They read the code, or run what was built of it, and execute nothing of `lib` that others don't: what they execute
 * need not be counted, and they can run beside anything.
 */
const BUILT = [
  'test/architecture',
  'test/dead-exports',
  'test/concurrency/shared-keys-processes',
  'test/flow/example-server',
  'test/flow/example-smtp',
  'test/security/expressions',
  ...[
    'links',
    'log-codes',
    'mutation',
    'performance',
    'public-types',
    'security-policy',
    'snippets',
    'troubleshooting',
    'user-store-guides',
    'workflows'
  ].map((name) => `test/docs/${name}`)
].map((name) => `${name}.test.ts`)

/**
 * What they execute counts as covered. They execute what the others do, which need not count it and take a sixth less
 * for that.
 */
const COUNTED = /^test\/(?:contract|http|security|unit)\//

/** So many that starting is little beside testing, and so few that what holds one up holds up few. */
const MOST_TOGETHER = 16
/** Scenarios take long, and the last must not wait for a process with many; what waits for nothing is over soon. */
const MOST_OF_THESE_TOGETHER = { 'test/faults/': 4, 'test/http/': 32, 'test/security/': 20, 'test/unit/': 60 }

export function allTests(root) {
  return readdirSync(join(root, 'test'), { recursive: true })
    .map((file) => `test/${file.replaceAll('\\', '/')}`)
    .filter((file) => file.endsWith('.test.ts'))
    .sort()
}

export function laneOf(file) {
  if (BUILT.includes(file)) return 'built'
  return file.startsWith('test/faults/') ? 'faults' : 'main'
}

export const isCounted = (file) => laneOf(file) === 'main' && COUNTED.test(file)

/**
 * The files process by process, in the same way each time: which ones share a process never depends on how long others
 * take.
 */
export function processesOf(files) {
  const kinds = [...new Set(files.map(kindOf))]
  return kinds.flatMap((kind) => inParts(files.filter((file) => kindOf(file) === kind)))
}

/** Files of a kind share processes, and are in one lane. */
function kindOf(file) {
  const directory = SHARED.exec(file)?.[0]
  return OWN_PROCESS.includes(file) || directory === undefined ? file : `${directory} ${laneOf(file)}`
}

function inParts(files) {
  const parts = Math.ceil(files.length / (MOST_OF_THESE_TOGETHER[SHARED.exec(files[0])?.[0]] ?? MOST_TOGETHER))
  return Array.from({ length: parts }, (_, part) =>
    files.slice(Math.floor((part * files.length) / parts), Math.floor(((part + 1) * files.length) / parts))
  )
}
