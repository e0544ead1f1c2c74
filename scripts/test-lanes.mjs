// Which tests run when, and which share a process.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Their files share processes. The other files of the command line each use one database for the whole process. */
const SHARED = new RegExp(
  '^test/(?:browser|concurrency|conformance|contract|docs|faults|features|flow|http|properties|security|unit)/' +
    '|^test/cli/(?=import|messages)'
)
/** They count or change what a process has once. */
const OWN_PROCESS = [
  // Warnings that the library gives once in a process.
  'test/http/warnings.test.ts',
  // The threads of all hashers of a process.
  'test/unit/passwords/hashing-threads.test.ts',
  // The compiler.
  'test/security/expressions.test.ts'
]

/**
 * So many that starting, which takes three seconds of a processor, is little next to testing, and so few that a file
 * that is held up holds up few.
 */
const MOST_TOGETHER = 18
/** Scenarios take long, and the last must not wait for a process with many. Unit tests wait for nothing. */
const MOST_OF_THESE_TOGETHER = {
  'test/concurrency/': 5,
  'test/faults/': 2,
  'test/features/': 36,
  'test/http/': 36,
  'test/security/': 22,
  'test/unit/': 80
}

export function allTests(root) {
  return readdirSync(join(root, 'test'), { recursive: true })
    .map((file) => `test/${file.replaceAll('\\', '/')}`)
    .filter((file) => file.endsWith('.test.ts'))
    .sort()
}

/** Ends of their names. They take long and notice little that others don't. `npm run nightly` runs them. */
const NIGHTLY = [
  // The guides for user stores in other libraries, each compiled and run on its own database.
  'test/docs/user-store-guides.test.ts',
  // The guide for a state store, on a MariaDB server.
  'test/docs/own-state-store.test.ts',
  // The state and second factors on every store with delays, instances and lost answers.
  'test/contract/record-matrix.test.ts',
  // The compiler over every public type.
  'test/docs/public-types.test.ts',
  // The guides for front ends, each bundled with its framework, and those for other frameworks on the server.
  'test/browser/front-end-guides.test.ts',
  'test/docs/frameworks.test.ts',
  // The clients of others in a browser. `browser/client-*` has our own at the same endpoints.
  'test/browser/auth0-spa-js.test.ts',
  'test/browser/oidc-client-ts.test.ts',
  // The runner itself, with processes that hang until their time is over.
  'test/scripts/run-tests.test.ts',
  // The suites of fastify-authority/testing over stores with planted faults: they try the suites, and no rule or store.
  'suite-finds-faults.test.ts',
  'suites-find-faults.test.ts',
  // The example behind nginx, on real servers.
  'test/flow/compose.test.ts',
  // The example over `kill -9` and with its variables. `browser/example-server` has its pages and clients.
  'test/flow/example-server.test.ts',
  // Any two of the choices of a sign-in with others in a browser. `http/connect/walk` has all of them by `inject`.
  'test/browser/connect-walk.test.ts',
  // The modules of the Basic plan again, with answers in a form. `conformance/basic-op` has them in the address.
  'test/conformance/form-post-op.test.ts',
  // The keys of ten processes. `concurrency/shared-keys` has those of instances in one.
  'test/concurrency/shared-keys-processes.test.ts',
  // The guide for profile fields, whose program is run. `docs/snippets` compiles it.
  'test/docs/profile-fields.test.ts',
  // The example signs in at another of its kind. `browser/connections` and `http/connect` have sign-in with others.
  'test/flow/example-other-instance.test.ts',
  // The example with mails. `docs/messages-guide` sends by the same package to the same server.
  'test/flow/example-smtp.test.ts'
]

/**
 * Files that walk through all pages, commands or cases of a kind, and take long. `.ci/run` runs them after `npm test`.
 * The comments name the tests that notice an ordinary fault at the same place.
 */
const SWEEPS = [
  // Every page at every width, in every language and by keyboard: `browser/pages-*`, `unit/pages`; axe: `pages-admin`.
  'test/browser/pages-classes.test.ts',
  'test/browser/pages-languages.test.ts',
  'test/browser/pages-keyboard.test.ts',
  // The journeys of people in four ways, each press counted: `browser/pages-*`, `second-steps`.
  'test/browser/flows.test.ts',
  // Pages of other sites that misuse ours: `browser/pages-security`.
  'test/browser/foreign-pages.test.ts',
  // The example in a browser. The smoke test of `.ci/run` starts it.
  'test/browser/example-server.test.ts',
  // Tabs that refresh and sign out at once: `browser/client-sign-in`, `client-cookie`, `client-events`.
  'test/browser/client-tokens.test.ts',
  'test/browser/client-sign-out.test.ts',
  // Mails as mail programs show them: `unit/mail`.
  'test/browser/mails.test.ts',
  // Every case of a command, many as processes: `cli/one-of-each`, `cli/doctor-choices`, `cli/import`.
  'test/cli/audit.test.ts',
  'test/cli/doctor.test.ts',
  'test/cli/keys.test.ts',
  'test/cli/user.test.ts',
  'test/cli/import-sources.test.ts',
  // Every format of a hash: `http/imported-hashes`.
  'test/unit/passwords/imported-formats.test.ts',
  // The keys of half a year: `unit/keys`, `concurrency/shared-keys`.
  'test/concurrency/key-rotation.test.ts'
]

/** `npm test` runs the lane `main`. */
export function laneOf(file) {
  if (file.startsWith('test/faults/')) return 'faults'
  if (SWEEPS.includes(file)) return 'sweeps'
  return NIGHTLY.some((end) => file.endsWith(end)) ? 'nightly' : 'main'
}

/** The files process by process, in the same way each time: it never depends on how long others take. */
export function processesOf(files) {
  const kindOf = (file) => (OWN_PROCESS.includes(file) ? file : (SHARED.exec(file)?.[0] ?? file))
  return [...new Set(files.map(kindOf))].flatMap((kind) => {
    const ofKind = files.filter((file) => kindOf(file) === kind)
    const parts = Math.ceil(ofKind.length / (MOST_OF_THESE_TOGETHER[kind] ?? MOST_TOGETHER))
    const start = (part) => Math.floor((part * ofKind.length) / parts)
    return Array.from({ length: parts }, (_, part) => ofKind.slice(start(part), start(part + 1)))
  })
}
