import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import t from './support/tap.ts'
import { foldable, ratchets } from './figures.ts'
import { circles, MAX_BYTES, ROOMS, violations, wideLines } from './architecture-rules.ts'

const root = join(import.meta.dirname, '..')

function readLib(): Record<string, string> {
  const lib = join(root, 'lib')
  const files = readdirSync(lib, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && entry.name.endsWith('.ts')
  )
  return Object.fromEntries(
    files.map((entry) => {
      const path = join(entry.parentPath, entry.name)
      return [relative(lib, path).split(sep).join('/'), readFileSync(path, 'utf8')]
    })
  )
}

t.test('lib breaks no architecture rule', async (t) => {
  const files = readLib()
  t.ok(Object.keys(files).length > 10, 'the files were found')
  t.same(violations(files), [])
})

/** May only fall: lines of more than 120 columns, and files of more than 12,288 bytes. */
const RATCHET = {
  test: { wideLines: 138, largeFiles: 91 },
  scripts: { wideLines: 19, largeFiles: 2 }
}

t.test('tests and scripts get no more wide lines and no more large files', async (t) => {
  for (const [folder, limit] of Object.entries(RATCHET)) {
    const sources = readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.m?[jt]s$/.test(entry.name))
      .filter(({ parentPath }) => !/fixtures|node_modules/.test(parentPath))
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
    const found = {
      wideLines: sources.reduce((sum, source) => sum + wideLines(source).length, 0),
      largeFiles: sources.filter((source) => Buffer.byteLength(source) > MAX_BYTES).length
    }
    t.ok(found.wideLines <= limit.wideLines, `${folder} has ${found.wideLines} wide lines, not ${limit.wideLines}`)
    t.ok(found.largeFiles <= limit.largeFiles, `${folder} has ${found.largeFiles} large files, not ${limit.largeFiles}`)
  }
})

/** May only fall. Write a lower figure here after lowering it. */
const FIGURES: Readonly<Record<string, number>> = {
  'files of lib over 12,288 bytes': 1,
  'files of lib outside of features that name TOTP': 22,
  'files of lib outside of features that name passkeys': 66,
  'lines of lib outside of features with await import()': 1,
  'tables of endpoints': 2,
  'files of lib and scripts that name the grant client_credentials': 3,
  'files of code that name Traditional Chinese': 3,
  'guides over 2,500 words': 0
}

t.test('keeps each measured figure of the code at or below its limit', async (t) => {
  const below = (folder: string): string[] =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map(
      (name) => `${folder}/${name.split(sep).join('/')}`
    )
  const measured = ['lib', 'scripts', 'test', 'docs']
    .flatMap(below)
    .filter((path) => /\.(?:ts|json|md)$/.test(path) && !/\/fixtures\/|node_modules/.test(path))
  const files = Object.fromEntries(measured.map((path) => [path, readFileSync(join(root, path), 'utf8')]))
  const found = ratchets(files)
  t.strictSame(Object.keys(FIGURES), Object.keys(found))
  for (const [name, most] of Object.entries(FIGURES))
    t.ok((found[name] ?? Infinity) <= most, `${name}: ${found[name]}, and ${most} at most`)
})

t.test('reports a small file that only one file of its folder imports', async (t) => {
  const into = 'lib/oauth/a.ts'
  const user = "import { b } from './b.ts'"
  const found = (files: Record<string, string>): string[] => foldable(files).map(({ path }) => path)
  t.strictSame(found({ [into]: user, 'lib/oauth/b.ts': '' }), ['lib/oauth/b.ts'])
  t.strictSame(found({ [into]: user, 'lib/oauth/b.ts': '', 'lib/oauth/c.ts': user }), [], 'two importers')
  t.strictSame(found({ [into]: user, 'lib/oauth/b.ts': ' '.repeat(MAX_BYTES) }), [], 'too large together')
  t.strictSame(found({ 'lib/keys/a.ts': "import { b } from '../oauth/b.ts'", 'lib/oauth/b.ts': '' }), [], 'elsewhere')
  t.strictSame(found({ [into]: "const b = () => import('./b.ts')", 'lib/oauth/b.ts': '' }), [], 'loaded on first use')
})

t.test('the imports that the architecture rules allow form no cycle', async (t) => {
  const arrows = new Map(
    Object.entries(ROOMS)
      .filter(([room]) => room !== 'composition')
      .map(([room, { rooms }]) => [room, rooms])
  )
  t.same(circles(arrows), [])
})

t.test('every module that lib imports is a declared dependency', async (t) => {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<
    string,
    Record<string, string>
  >
  // A package that scripts/bundle.mjs puts into the bundle is a dependency of the build alone.
  const declared = new Set([...Object.keys({ ...dependencies, ...peerDependencies }), 'uqr'])
  for (const [path, source] of Object.entries(readLib())) {
    for (const [, name = ''] of source.matchAll(/^(?:import|export)\b[^'"]*?from '([^'.][^']*)'/gm)) {
      const owner = name
        .split('/')
        .slice(0, name.startsWith('@') ? 2 : 1)
        .join('/')
      if (!name.startsWith('node:') && !declared.has(owner)) t.fail(`${path} imports ${name}`)
    }
  }
  t.ok(declared.has('fastify'))
})

const FINE = {
  'errors.ts': 'export const a = 1',
  'ports/clock.ts': 'export interface Clock { now(): number }',
  'settings/settings.ts': 'export const resolveSettings = () => {}',
  'settings/options.ts': 'export interface Options { a: string }',
  'limits/rules.ts': 'export const rules = 1',
  'accounts/user.ts': 'export interface User { a: string }',
  'adapters/rate-limit/limiter.ts': 'export interface Limiter { a: string }',
  'adapters/memory/state.ts': 'export const state = Date.now()',
  'adapters/sql/rows.ts': 'export const rows = 1',
  'adapters/threads/threads.ts': 'export const threads = 1',
  'feature.ts': 'export interface Feature { a: string }',
  'features/a/use.ts': 'export const use = 1',
  'features/b/use.ts': 'export const use = 1',
  'http/api/token.ts': 'export const token = 1',
  'http/pages/login.ts': 'export const login = 1'
}

const PLANTED: Array<{ name: string; path: string; source: string; expect: RegExp | null }> = [
  {
    name: 'an arrow downwards',
    path: 'accounts/x.ts',
    source: "import { rules } from '../limits/rules.ts'",
    expect: null
  },
  {
    name: 'the word in a comment or a string',
    path: 'oauth/x.ts',
    source: "// Date.now()\nexport const s = 'console.log(Math.random())'",
    expect: null
  },
  {
    name: 'a type of a port',
    path: 'errors.ts',
    source: "import type { Clock } from './ports/clock.ts'",
    expect: null
  },
  {
    name: 'what SQL adapters share',
    path: 'adapters/postgres/x.ts',
    source: "import { rows } from '../sql/rows.ts'",
    expect: null
  },
  {
    name: 'what SQL adapters share, for another',
    path: 'adapters/memory/x.ts',
    source: "import { rows } from '../sql/rows.ts'",
    expect: /no arrow from adapters\/memory to adapters\/sql/
  },
  {
    name: 'worker threads',
    path: 'adapters/imported-hashes/x.ts',
    source: "import { threads } from '../threads/threads.ts'",
    expect: null
  },
  {
    name: 'worker threads, for another',
    path: 'adapters/sqlite/x.ts',
    source: "import { threads } from '../threads/threads.ts'",
    expect: /no arrow from adapters\/sqlite to adapters\/threads/
  },
  {
    name: 'a type of the options',
    path: 'http/edge/x.ts',
    source: "import type { Options } from '../../settings/options.ts'",
    expect: null
  },
  {
    name: 'the resolving of options in their check',
    path: 'settings/check.ts',
    source: "import { resolveSettings } from './settings.ts'",
    expect: null
  },
  {
    name: 'the resolving of options in another file of the room',
    path: 'settings/warnings.ts',
    source: "import { resolveSettings } from './settings.ts'",
    expect: /only settings\/check\.ts may know/
  },
  {
    name: 'the resolving of options in the composition root',
    path: 'composition/services.ts',
    source: "import { resolveSettings } from '../settings/settings.ts'",
    expect: /only settings\/check\.ts may know/
  },
  {
    name: 'a value of the options',
    path: 'http/edge/x.ts',
    source: "import { Options } from '../../settings/options.ts'",
    expect: /no arrow from http\/edge to settings/
  },
  {
    name: 'a type that the settings describe',
    path: 'settings/x.ts',
    source: "import type { User } from '../accounts/user.ts'",
    expect: null
  },
  {
    name: 'a use case in the settings',
    path: 'settings/x.ts',
    source: "import { User } from '../accounts/user.ts'",
    expect: /no arrow from settings to accounts/
  },
  {
    name: 'a feature to a use case and the interface',
    path: 'features/a/x.ts',
    source: "import { User } from '../../accounts/user.ts'\nimport type { Feature } from '../../feature.ts'",
    expect: null
  },
  {
    name: 'the list of features',
    path: 'features/index.ts',
    source: "export { use } from './a/use.ts'",
    expect: null
  },
  {
    name: 'Fastify in the pages of a feature',
    path: 'features/a/pages/x.ts',
    source: "import type { FastifyInstance } from 'fastify'\nimport { login } from '../../../http/pages/login.ts'",
    expect: null
  },
  {
    name: 'Fastify in a use case of a feature',
    path: 'features/a/x.ts',
    source: "import type { FastifyInstance } from 'fastify'",
    expect: /imports fastify/
  },
  {
    name: 'a page in a use case of a feature',
    path: 'features/a/x.ts',
    source: "import { login } from '../../http/pages/login.ts'",
    expect: /no arrow from features\/a to http\/pages/
  },
  {
    name: 'time in a feature',
    path: 'features/a/x.ts',
    source: 'export const now = () => Date.now()',
    expect: /uses Date\.now/
  },
  {
    name: 'a feature to another that it does not need',
    path: 'features/a/x.ts',
    source: "import { use } from '../b/use.ts'",
    expect: /no arrow from features\/a to features\/b/
  },
  {
    name: 'a feature in the kernel',
    path: 'accounts/x.ts',
    source: "import type { use } from '../features/a/use.ts'",
    expect: /no arrow from accounts to features\/a/
  },
  {
    name: 'a type of the injected limiter',
    path: 'http/edge/x.ts',
    source: "import type { Limiter } from '../../adapters/rate-limit/limiter.ts'",
    expect: null
  },
  { name: 'a date from a number', path: 'oauth/x.ts', source: 'export const d = new Date(0)', expect: null },
  {
    name: 'an await in a function',
    path: 'oauth/x.ts',
    source: 'export const f = async (): Promise<number> => await Promise.resolve(1)',
    expect: null
  },
  {
    name: 'an arrow upwards',
    path: 'limits/x.ts',
    source: "import { x } from '../accounts/y.ts'",
    expect: /no file of lib/
  },
  {
    name: 'an upward arrow to a file that is there',
    path: 'protocol/x.ts',
    source: "import { rules } from '../limits/rules.ts'",
    expect: /no arrow from protocol to limits/
  },
  {
    name: 'an upward arrow for a type',
    path: 'protocol/x.ts',
    source: "import type { rules } from '../limits/rules.ts'",
    expect: /no arrow from protocol to limits/
  },
  {
    name: 'an upward arrow by re-export',
    path: 'protocol/x.ts',
    source: "export { rules } from '../limits/rules.ts'",
    expect: /no arrow from protocol to limits/
  },
  {
    name: 'an upward arrow by import()',
    path: 'protocol/x.ts',
    source: "export const f = async () => await import('../limits/rules.ts')",
    expect: /no arrow from protocol to limits/
  },
  {
    name: 'an upward arrow by import type',
    path: 'protocol/x.ts',
    source: "export type R = import('../limits/rules.ts').rules",
    expect: /no arrow from protocol to limits/
  },
  {
    name: 'the value of a port in errors',
    path: 'errors.ts',
    source: "import { Clock } from './ports/clock.ts'",
    expect: /no arrow from errors to ports/
  },
  {
    name: 'http to an adapter',
    path: 'http/api/x.ts',
    source: "import { state } from '../../adapters/memory/state.ts'",
    expect: /no arrow from http\/api to adapters\/memory/
  },
  {
    name: 'http to the value of the limiter',
    path: 'http/edge/x.ts',
    source: "import { Limiter } from '../../adapters/rate-limit/limiter.ts'",
    expect: /no arrow from http\/edge to adapters\/rate-limit/
  },
  {
    name: 'a page to an endpoint',
    path: 'http/pages/x.ts',
    source: "import { token } from '../api/token.ts'",
    expect: /no arrow from http\/pages to http\/api/
  },
  {
    name: 'the edge to a page',
    path: 'http/edge/x.ts',
    source: "import { login } from '../pages/login.ts'",
    expect: /no arrow from http\/edge to http\/pages/
  },
  {
    name: 'an adapter to another',
    path: 'adapters/rate-limit/x.ts',
    source: "import { state } from '../memory/state.ts'",
    expect: /no arrow from adapters\/rate-limit to adapters\/memory/
  },
  {
    name: 'an adapter to a use case',
    path: 'adapters/memory/x.ts',
    source: "import { rules } from '../../limits/rules.ts'",
    expect: /no arrow from adapters\/memory to limits/
  },
  {
    name: 'an adapter with a foreign vendor',
    path: 'adapters/memory/x.ts',
    source: "import argon2 from 'argon2'",
    expect: /imports argon2/
  },
  {
    name: 'Fastify in a use case',
    path: 'oauth/x.ts',
    source: "import type { FastifyRequest } from 'fastify'",
    expect: /imports fastify/
  },
  {
    name: 'TypeBox in a use case',
    path: 'accounts/x.ts',
    source: "import { Type } from '@sinclair/typebox'",
    expect: /imports @sinclair\/typebox/
  },
  { name: 'argon2 at the edge', path: 'http/x.ts', source: "import { hash } from 'argon2'", expect: /imports argon2/ },
  {
    name: 'chance in protocol',
    path: 'protocol/x.ts',
    source: "import { hash, randomBytes } from 'node:crypto'",
    expect: /imports randomBytes of node:crypto/
  },
  {
    name: 'all of crypto in protocol',
    path: 'protocol/x.ts',
    source: "import * as crypto from 'node:crypto'",
    expect: /imports \* of node:crypto/
  },
  {
    name: 'chance at the edge',
    path: 'plugin.ts',
    source: "import { randomUUID } from 'node:crypto'",
    expect: /through the port Random/
  },
  {
    name: 'the clock in a use case',
    path: 'oauth/x.ts',
    source: 'export const n = Date.now()',
    expect: /uses Date\.now/
  },
  {
    name: 'the clock handed on uncalled',
    path: 'oauth/x.ts',
    source: 'export const now = Date.now',
    expect: /uses Date\.now/
  },
  {
    name: 'the clock by a bare date',
    path: 'oauth/x.ts',
    source: 'export const d = new Date()',
    expect: /uses new Date\(\)/
  },
  {
    name: 'the clock at the edge',
    path: 'http/x.ts',
    source: 'export const n = globalThis.Date.now()',
    expect: /uses Date\.now/
  },
  { name: 'a timer in a use case', path: 'keys/x.ts', source: 'setTimeout(() => {}, 1)', expect: /uses setTimeout/ },
  {
    name: 'an object of Intl that a page makes anew',
    path: 'pages/x.ts',
    source: "export const x = () => new Intl.NumberFormat('en')",
    expect: /makes an object of Intl/
  },
  { name: 'a call to another server', path: 'adapters/memory/x.ts', source: "fetch('x')", expect: /uses fetch/ },
  {
    name: 'a call to another server by the global object',
    path: 'http/edge/x.ts',
    source: "globalThis.fetch('x')",
    expect: /uses fetch/
  },
  {
    name: 'a client of HTTP beside the one module',
    path: 'adapters/memory/x.ts',
    source: "import { request } from 'node:https'",
    expect: /calls to others go through/
  },
  {
    name: 'a client of HTTP that is loaded late',
    path: 'adapters/node/x.ts',
    source: "const late = async () => await import('node:http')",
    expect: /calls to others go through/
  },
  {
    name: 'a socket beside the one module',
    path: 'adapters/memory/x.ts',
    source: "import { connect } from 'node:net'",
    expect: /calls to others go through/
  },
  { name: 'the console', path: 'adapters/memory/x.ts', source: "console.log('x')", expect: /uses console\.log/ },
  { name: 'a warning in the console of a browser', path: 'client/x.ts', source: "console.warn('x')", expect: null },
  {
    name: 'chatter in the console of a browser',
    path: 'client/x.ts',
    source: "console.log('x')",
    expect: /uses console\.log/
  },
  {
    name: 'an await at the top level',
    path: 'oauth/x.ts',
    source: 'export const x = await Promise.resolve(1)',
    expect: /top level/
  },
  { name: 'a file in no room', path: 'utils/x.ts', source: 'export {}', expect: /no known room \(utils\)/ },
  { name: 'a stray file at the root', path: 'helpers.ts', source: 'export {}', expect: /no known room \(helpers\)/ },
  {
    name: 'an adapter without a folder',
    path: 'adapters/x.ts',
    source: 'export {}',
    expect: /no known room \(adapters\)/
  },
  { name: 'a file that is two', path: 'oauth/x.ts', source: '//\n'.repeat(4097), expect: /has 12291 bytes/ },
  { name: 'a file as large as it may be', path: 'oauth/x.ts', source: '//\n'.repeat(4096), expect: null },
  { name: 'a wide line', path: 'oauth/x.ts', source: `\n//${'x'.repeat(119)}`, expect: /120 columns in line 2/ },
  { name: 'a line as wide as it may be', path: 'oauth/x.ts', source: `//${'語'.repeat(118)}`, expect: null },
  { name: 'a table', path: 'accounts/common-passwords.ts', source: `//${'x'.repeat(20_000)}`, expect: null }
]

t.test('reports each planted violation of an architecture rule, and accepts each allowed file', async (t) => {
  t.same(violations(FINE), [])
  for (const { name, path, source, expect } of PLANTED) {
    const found = violations({ ...FINE, [path]: source })
    if (expect === null) t.same(found, [], name)
    else t.match(found, [expect], name)
    t.ok(found.length <= 2, `${name}: ${found.join('; ')}`)
  }
})

t.test('reports a circle of imports once', async (t) => {
  const found = violations({
    'oauth/a.ts': "import { b } from './b.ts'",
    'oauth/b.ts': "import { c } from './c.ts'",
    'oauth/c.ts': "import type { a } from './a.ts'"
  })
  t.same(found, ['circle: oauth/a.ts -> oauth/b.ts -> oauth/c.ts -> oauth/a.ts'])
})
