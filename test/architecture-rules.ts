/**
 * The house rules of docs/architecture.md as one function over a map of files: who may import whom, and what no file
 * may do. It reads the syntax tree, so comments and strings don't count.
 */
import ts from 'typescript-tap'

/** Path below `lib/` with forward slashes, to source text. */
export type FileMap = Readonly<Record<string, string>>

interface Room {
  /** Rooms it may import, besides itself. */
  rooms: readonly string[]
  /** Rooms from which it may import only types. */
  types?: readonly string[]
  /** Modules from outside: a name, or a name with the only bindings allowed. */
  modules?: Readonly<Record<string, readonly string[] | true>>
}

const BASE = ['errors', 'protocol', 'ports'] as const
const FASTIFY = {
  fastify: true,
  '@fastify/*': true,
  'fastify-plugin': true,
  '@sinclair/typebox': true,
  '@sinclair/typebox/*': true
} as const
const PURE_HASHES = ['hash', 'createHash', 'createHmac', 'timingSafeEqual'] as const

/** In the order of the floors: a room may only import rooms above its line. */
export const ROOMS: Readonly<Record<string, Room>> = {
  errors: { rooms: [] },
  events: { rooms: [], types: ['errors'], modules: { 'node:events': true, 'node:diagnostics_channel': true } },
  protocol: {
    rooms: ['errors'],
    modules: {
      'node:crypto': ['hash', 'createHmac', 'timingSafeEqual', 'createPublicKey', 'verify', 'constants', 'JsonWebKey'],
      'node:zlib': ['crc32']
    }
  },
  ports: { rooms: ['protocol'], modules: { 'node:diagnostics_channel': true } },
  boundary: { rooms: BASE },
  records: { rooms: BASE, modules: { 'node:crypto': PURE_HASHES } },
  delivery: { rooms: BASE },
  keys: { rooms: BASE },
  limits: { rooms: BASE, modules: { 'node:net': true, 'node:crypto': PURE_HASHES } },
  clients: { rooms: BASE },
  sessions: { rooms: [...BASE, 'events'] },
  tokens: { rooms: [...BASE, 'keys', 'clients', 'sessions'] },
  accounts: {
    rooms: [...BASE, 'delivery', 'events', 'limits', 'sessions'],
    modules: { 'node:crypto': PURE_HASHES, 'node:url': ['domainToASCII', 'domainToUnicode'] }
  },
  oauth: { rooms: [...BASE, 'events', 'clients', 'sessions', 'tokens', 'accounts'] },
  authorize: { rooms: [...BASE, 'delivery', 'events', 'clients', 'sessions', 'tokens', 'accounts', 'oauth'] },
  texts: { rooms: [], modules: { 'node:fs': ['readFileSync'] } },
  pages: { rooms: ['errors', 'texts'], modules: { uqr: ['encode'] } },
  mail: { rooms: [...BASE, 'pages', 'texts'] },
  'http/edge': {
    rooms: [...BASE, 'events', 'keys', 'clients', 'limits', 'sessions', 'tokens', 'oauth', 'pages'],
    modules: { ...FASTIFY }
  },
  'http/api': {
    rooms: [...BASE, 'sessions', 'tokens', 'accounts', 'oauth', 'authorize', 'pages', 'http/edge'],
    modules: { ...FASTIFY }
  },
  'http/pages': {
    rooms: [...BASE, 'clients', 'sessions', 'accounts', 'authorize', 'texts', 'pages', 'http/edge'],
    modules: { ...FASTIFY }
  },
  http: { rooms: ['http/edge', 'http/api', 'http/pages'], modules: { ...FASTIFY } },
  // The host's options and the resolved settings. They cover every room, so this room may import the types of all.
  settings: {
    rooms: [...BASE, 'limits', 'clients', 'pages'],
    types: ['accounts', 'oauth', 'adapters/redis'],
    modules: {
      ...FASTIFY,
      'node:os': ['availableParallelism'],
      'node:url': ['domainToASCII']
    }
  },
  // Types of the slots of features, in the rooms that use them.
  feature: {
    rooms: [],
    types: ['ports', 'accounts', 'oauth', 'authorize', 'http/edge', 'http/pages', 'settings']
  },
  features: { rooms: ['features/*'] },
  // Runs in browsers, with its own clock and randomness, and imports nothing of the server.
  client: { rooms: [], modules: { react: true, vue: true } },
  // The rules of each provider, without any I/O.
  connections: { rooms: BASE, modules: { 'node:crypto': PURE_HASHES } },
  metrics: {
    rooms: ['protocol', 'events', 'limits', 'ports'],
    types: ['errors'],
    modules: { 'node:diagnostics_channel': ['tracingChannel'] }
  },
  testing: { rooms: [...BASE, 'boundary'], modules: { fastify: true, 'node:*': true } },
  // A separate entry: the guards of an API in another process.
  resource: {
    rooms: [...BASE, 'tokens', 'settings', 'http/edge', 'adapters/jwt', 'adapters/node', 'adapters/upstream'],
    modules: { ...FASTIFY, 'node:crypto': PURE_HASHES }
  },
  composition: { rooms: ['*'], modules: { ...FASTIFY, 'node:*': true } },
  // The command line: a process of its own, over the plugin as hosts register it. It imports the host's file.
  cli: { rooms: ['*'], modules: { ...FASTIFY, 'node:*': true, '<computed>': true } }
}

/** The vendor modules of each adapter, and of features. A new adapter names its vendor here. */
const VENDORS: Readonly<Record<string, Room['modules']>> = {
  'adapters/argon2': { argon2: true, '@node-rs/argon2': true },
  'adapters/imported-hashes': { '@node-rs/bcrypt': true },
  'adapters/jwt': { fastify: true, '@fastify/jwt': true },
  'adapters/rate-limit': { fastify: true, '@fastify/rate-limit': true },
  'features/connections': { oauth4webapi: true, '@sinclair/typebox': true, '@sinclair/typebox/*': true }
}

/** The features that a feature imports: those that it names in `needs`. */
const NEEDS: Readonly<Record<string, readonly string[]>> = {
  'features/passkeys': ['features/second-factors'],
  'features/totp': ['features/second-factors']
}
/** The files of a feature that may import Fastify, and those that may import the settings. The others are use cases. */
const FEATURE_HTTP = /^features\/[^/]+\/(?:pages|endpoints)/
/** An adapter that a feature brings: it alone knows the vendor. */
const FEATURE_ADAPTER = /^features\/[^/]+\/upstream\//
/** A file of options checks keys and domains. */
const OPTION_MODULES = {
  '@sinclair/typebox': true,
  'node:crypto': ['createPrivateKey', 'KeyObject'],
  'node:url': ['domainToASCII']
} as const
const FEATURE_OPTIONS = /^features\/[^/]+\/(?:feature|options)\.ts$/
const FEATURE: Room = {
  rooms: [
    ...BASE,
    'boundary',
    'delivery',
    'events',
    'limits',
    'clients',
    'sessions',
    'tokens',
    'accounts',
    'oauth',
    'authorize'
  ],
  types: ['feature', 'pages', 'settings'],
  modules: { 'node:crypto': PURE_HASHES }
}

/** Rooms that several adapters share: reading of rows, and worker threads. No other adapter imports another one. */
const SHARED: Readonly<Record<string, readonly string[]>> = {
  'adapters/sql': ['adapters/sqlite', 'adapters/postgres'],
  'adapters/threads': ['adapters/argon2', 'adapters/imported-hashes']
}

/** The transactor's own time and randomness, which decide nothing, so that a host's record store needs neither port. */
const CHANCE = 'records/chance.ts'

/** The only file that calls other servers, and the modules that it uses for that. A browser has its own `fetch`. */
const OUTBOUND = 'adapters/node/outbound.ts'
const LEAVING = ['node:http', 'node:https', 'node:http2', 'node:tls', 'node:dgram', 'node:dns', 'undici']
const CONNECTING = ['connect', 'createConnection', 'Socket', 'default', '*']

/** Creates the objects of `Intl`, each once per language. */
const INTL = 'pages/intl.ts'

const COMPOSITION = /^(?:index\.ts|plugin\.ts|composition\/.*)$/
/** Their types are part of the interface with the host, like ports. */
const OPTIONS = ['settings/options.ts', 'settings/paths.ts', 'features/options.ts', 'composition/authority.ts']
/** Exports with a closed list of importers, because a second place that calls one can forget a step. */
const KNOWN_TO: Readonly<Record<string, readonly string[]>> = {
  'settings/settings.ts resolveSettings': ['settings/check.ts'],
  'settings/settings.ts withoutUndefined': ['settings/check.ts']
}
/** Rules and use cases: all time and chance come through ports. */
const PURE = [
  'protocol',
  'ports',
  'errors',
  'boundary',
  'records',
  'delivery',
  'keys',
  'limits',
  'clients',
  'sessions',
  'tokens',
  'accounts',
  'oauth',
  'authorize',
  'texts',
  'pages',
  'mail',
  'connections'
]
const TIME_AND_CHANCE = [
  'Date.now',
  'Math.random',
  'performance.now',
  'process.hrtime',
  'crypto.randomUUID',
  'crypto.getRandomValues',
  'new Date()'
]
const RANDOM_BINDINGS = [
  'randomBytes',
  'randomUUID',
  'randomInt',
  'randomFillSync',
  'randomFill',
  'getRandomValues',
  'webcrypto'
]
/** Not `setImmediate`, which waits for a turn of the event loop and not for time, so there is nothing to step. */
const TIMERS = ['setTimeout', 'setInterval']
/** A file of one subject fits into it, and two lines fit next to each other in a review. */
export const MAX_BYTES = 12_288
export const MAX_COLUMNS = 120
/** Files that may be larger and wider, with the reason. */
const EXEMPT: Readonly<Record<string, string>> = {
  'accounts/common-passwords.ts': 'a table of digests',
  'pages/stylesheet.ts': 'the style sheet',
  'texts/en.ts': 'texts'
}

export function roomOf(path: string): string {
  const [first = '', second = '', third] = path.split('/')
  if (COMPOSITION.test(path)) return 'composition'
  if (first === 'features' && third !== undefined) return `features/${second}`
  if (first === 'adapters') return third === undefined ? 'adapters' : `adapters/${second}`
  if (first === 'http' && third !== undefined) return `http/${second}`
  return second === '' ? first.replace(/\.ts$/, '') : first
}

interface Import {
  from: string
  typeOnly: boolean
  names: string[]
}

interface Facts {
  imports: Import[]
  uses: string[]
  topLevelAwait: boolean
}

/** Every way in which the `lib/` in `files` breaks the house rules; empty is good. */
export function violations(files: FileMap): string[] {
  const found: string[] = []
  const edges = new Map<string, string[]>()
  for (const [path, source] of Object.entries(files)) {
    const report = (problem: string): void => {
      found.push(`${path}: ${problem}`)
    }
    const facts = read(path, source)
    const room = roomOf(path)
    const rule = path === CHANCE ? { rooms: BASE, modules: { 'node:*': true } as const } : ruleOf(room, path)
    if (rule === undefined) {
      report(`is in no known room (${room})`)
      continue
    }
    if (!(path in EXEMPT)) sizeProblems(source).forEach(report)
    if (facts.topLevelAwait) report('awaits at the top level, which require() can not load')
    for (const use of new Set(facts.uses)) {
      // In a browser, developers read the console. A server has its log.
      if (use.startsWith('console.') && !(room === 'client' && use === 'console.warn')) report(`uses ${use}`)
      else if (use === 'new Intl' && room !== 'client' && path !== INTL)
        report(`makes an object of Intl, which is slow; ${INTL} makes each once for a language`)
      else if (use === 'fetch' && room !== 'client') report(`uses fetch; calls to others go through ${OUTBOUND}`)
      else if (path !== CHANCE && mayNotUse(room, path, use))
        report(`uses ${use}; time and chance come through the ports Clock and Random`)
    }
    edges.set(path, checkImports(path, room, rule, facts.imports, files, report))
  }
  return [...found, ...circles(edges)]
}

/** The violations of the limits on files and lines. */
function sizeProblems(source: string): string[] {
  const bytes = Buffer.byteLength(source)
  return [
    ...(bytes > MAX_BYTES ? [`has ${bytes} bytes, more than ${MAX_BYTES}`] : []),
    ...wideLines(source).map((line) => `has more than ${MAX_COLUMNS} columns in line ${line}`)
  ]
}

/** The numbers of the lines that are too wide. A column is a character, so that a letter of Japanese is one. */
export function wideLines(source: string): number[] {
  return source.split('\n').flatMap((line, index) => ([...line].length > MAX_COLUMNS ? [index + 1] : []))
}

function ruleOf(room: string, path: string): Room | undefined {
  if (room.startsWith('features/')) {
    const needed = NEEDS[room] ?? []
    if (FEATURE_HTTP.test(path))
      return { ...FEATURE, rooms: [...FEATURE.rooms, 'pages', 'http/edge', 'http/pages', ...needed], modules: FASTIFY }
    if (FEATURE_OPTIONS.test(path))
      return { ...FEATURE, rooms: [...BASE, 'settings', ...needed], modules: OPTION_MODULES }
    if (FEATURE_ADAPTER.test(path))
      return { rooms: [...BASE, 'adapters/upstream'], modules: { 'node:*': true, ...VENDORS[room] } }
    return {
      ...FEATURE,
      rooms: [...FEATURE.rooms, ...needed],
      modules: { ...FEATURE.modules, '@sinclair/typebox/value': true }
    }
  }
  if (room.startsWith('adapters/'))
    return {
      rooms: [...BASE, 'records', ...Object.keys(SHARED).filter((shared) => SHARED[shared]?.includes(room))],
      modules: { 'node:*': true, ...VENDORS[room] }
    }
  return Object.hasOwn(ROOMS, room) ? ROOMS[room] : undefined
}

const isAdapter = (path: string): boolean => path.startsWith('adapters/') || FEATURE_ADAPTER.test(path)

function mayNotUse(room: string, path: string, use: string): boolean {
  if (isAdapter(path) || room === 'testing' || room === 'client' || (room === 'metrics' && use === 'performance.now'))
    return false
  return (
    TIME_AND_CHANCE.includes(use) || ((PURE.includes(room) || room.startsWith('features/')) && TIMERS.includes(use))
  )
}

/** Reports forbidden imports and returns the files that this one depends on. */
function checkImports(
  path: string,
  room: string,
  rule: Room,
  imports: Import[],
  files: FileMap,
  report: (problem: string) => void
): string[] {
  const targets: string[] = []
  for (const { from, typeOnly, names } of imports) {
    if (!from.startsWith('.')) {
      const allowed = moduleRule(rule.modules ?? {}, from)
      if (allowed === undefined) report(`imports ${from}, which ${room} may not know`)
      const extra = Array.isArray(allowed) ? names.filter((name) => !allowed.includes(name)) : []
      if (extra.length > 0) report(`imports ${extra.join(', ')} of ${from}`)
      const leaves = LEAVING.includes(from) || (from === 'node:net' && names.some((name) => CONNECTING.includes(name)))
      if (leaves && !typeOnly && path !== OUTBOUND) report(`imports ${from}; calls to others go through ${OUTBOUND}`)
      const random = names.filter((name) => RANDOM_BINDINGS.includes(name))
      if (random.length > 0 && path !== CHANCE && !isAdapter(path) && room !== 'testing')
        report(`imports ${random.join(', ')}; chance comes through the port Random`)
      continue
    }
    const target = resolve(path, from)
    if (target === undefined || !Object.hasOwn(files, target)) {
      report(`imports ${from}, which is no file of lib`)
      continue
    }
    for (const name of names) {
      const known = KNOWN_TO[`${target} ${name}`]
      if (known?.includes(path) === false) report(`imports ${name}, which only ${known.join(' and ')} may know`)
    }
    const to = roomOf(target)
    const contract = typeOnly && (to === 'ports' || OPTIONS.includes(target))
    const injected = room === 'http/edge' && to === 'adapters/rate-limit' && typeOnly
    if (
      !(
        to === room ||
        rule.rooms.includes('*') ||
        rule.rooms.includes(to) ||
        (rule.rooms.includes('features/*') && to.startsWith('features/')) ||
        contract ||
        injected ||
        (typeOnly && rule.types?.includes(to) === true)
      )
    )
      report(`imports ${target}: no arrow from ${room} to ${to}`)
    // Importing only a type of the options can't make two files depend on each other at run time.
    if (!(typeOnly && OPTIONS.includes(target))) targets.push(target)
  }
  return targets
}

function moduleRule(modules: NonNullable<Room['modules']>, name: string): readonly string[] | true | undefined {
  const exact = modules[name]
  if (exact !== undefined) return exact
  const pattern = Object.keys(modules).find((key) => key.endsWith('*') && name.startsWith(key.slice(0, -1)))
  return pattern === undefined ? undefined : modules[pattern]
}

function resolve(path: string, specifier: string): string | undefined {
  const parts = path.split('/').slice(0, -1)
  for (const part of specifier.split('/')) {
    if (part === '.') continue
    if (part !== '..') parts.push(part)
    else if (parts.pop() === undefined) return undefined
  }
  return parts.join('/')
}

/** Reports each circle once, from the file where it was found. */
export function circles(edges: ReadonlyMap<string, readonly string[]>): string[] {
  const found: string[] = []
  const done = new Set<string>()
  const visit = (node: string, trail: string[]): void => {
    if (trail.includes(node)) {
      found.push(`circle: ${[...trail.slice(trail.indexOf(node)), node].join(' -> ')}`)
      return
    }
    if (done.has(node)) return
    for (const next of edges.get(node) ?? []) visit(next, [...trail, node])
    done.add(node)
  }
  for (const node of edges.keys()) visit(node, [])
  return found
}

function read(path: string, source: string): Facts {
  const facts: Facts = { imports: [], uses: [], topLevelAwait: false }
  const visit = (node: ts.Node, inFunction: boolean): void => {
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier))
      facts.imports.push(importOf(node, node.moduleSpecifier.text))
    if (
      ts.isExportDeclaration(node) &&
      node.moduleSpecifier !== undefined &&
      ts.isStringLiteral(node.moduleSpecifier)
    ) {
      facts.imports.push({ from: node.moduleSpecifier.text, typeOnly: node.isTypeOnly, names: exportedNames(node) })
    }
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [specifier] = node.arguments
      facts.imports.push({
        from: specifier !== undefined && ts.isStringLiteralLike(specifier) ? specifier.text : '<computed>',
        typeOnly: false,
        names: []
      })
    }
    if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument) && ts.isStringLiteral(node.argument.literal)) {
      facts.imports.push({ from: node.argument.literal.text, typeOnly: true, names: [] })
    }
    if (ts.isPropertyAccessExpression(node))
      facts.uses.push(`${node.expression.getText()}.${node.name.text}`.replace(/^globalThis\./, ''))
    if (ts.isCallExpression(node) && ts.isIdentifier(node.expression)) facts.uses.push(node.expression.text)
    if (ts.isNewExpression(node) && node.expression.getText() === 'Date' && (node.arguments ?? []).length === 0)
      facts.uses.push('new Date()')
    if (
      ts.isNewExpression(node) &&
      node.expression
        .getText()
        .replace(/^globalThis\./, '')
        .startsWith('Intl.')
    )
      facts.uses.push('new Intl')
    if (!inFunction && (ts.isAwaitExpression(node) || (ts.isForOfStatement(node) && node.awaitModifier !== undefined)))
      facts.topLevelAwait = true
    ts.forEachChild(node, (child) => {
      visit(child, inFunction || ts.isFunctionLike(node))
    })
  }
  visit(ts.createSourceFile(path, source, ts.ScriptTarget.ES2023, true), false)
  return facts
}

function importOf(node: ts.ImportDeclaration, from: string): Import {
  const clause = node.importClause
  const bindings = clause?.namedBindings
  const elements = bindings !== undefined && ts.isNamedImports(bindings) ? [...bindings.elements] : []
  const whole = [
    clause?.name === undefined ? [] : ['default'],
    bindings !== undefined && ts.isNamespaceImport(bindings) ? ['*'] : []
  ].flat()
  const typeOnly =
    clause !== undefined &&
    (clause.phaseModifier === ts.SyntaxKind.TypeKeyword ||
      (whole.length === 0 && elements.length > 0 && elements.every((element) => element.isTypeOnly)))
  return {
    from,
    typeOnly,
    names: [...whole, ...elements.map((element) => (element.propertyName ?? element.name).text)]
  }
}

function exportedNames(node: ts.ExportDeclaration): string[] {
  if (node.exportClause === undefined || !ts.isNamedExports(node.exportClause)) return ['*']
  return node.exportClause.elements.map((element) => (element.propertyName ?? element.name).text)
}
