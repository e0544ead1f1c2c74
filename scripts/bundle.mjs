// The JavaScript of the package's doors on a server: one file each, and one for what they share. Read one by one, three hundred modules
// were a third of what the plugin adds to the start of an app. The browser client stays in modules, for bundlers to pick from.
//   node scripts/bundle.mjs            into dist/lib
//   node scripts/bundle.mjs DIRECTORY
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * The 250 modules of TypeBox that check our own schemas come with the bundle. Where `import()` asks for TypeBox it stays outside: that
 * is for the schemas of a host, which has registered its formats and types in the package.
 * @type {import('esbuild').Plugin}
 */
const ownTypeBox = {
  name: 'own-typebox',
  setup ({ onResolve }) {
    onResolve({ filter: /^@sinclair\/typebox(?:\/|$)/ }, ({ path, kind }) => kind === 'dynamic-import' ? { path, external: true } : { path: fileURLToPath(import.meta.resolve(path)) })
  }
}

/**
 * What draws QR codes is a small part of a package that hosts need not install: it is a dependency of the build alone. Its notice is in
 * lib/pages/qr.ts, and stays.
 * @type {import('esbuild').Plugin}
 */
const ownQrEncoder = {
  name: 'own-qr-encoder',
  setup ({ onResolve }) {
    onResolve({ filter: /^uqr$/ }, ({ path }) => ({ path: fileURLToPath(import.meta.resolve(path)), sideEffects: false }))
  }
}

const outdir = resolve(root, process.argv[2] ?? 'dist/lib')
const { outputFiles } = await build({
  absWorkingDir: root,
  // The threads are doors too: a worker is started by its file, which stands beside the one that starts it.
  entryPoints: { index: 'lib/index.ts', 'connections/index': 'lib/connections/index.ts', 'metrics/index': 'lib/metrics/index.ts', 'testing/index': 'lib/testing/index.ts', 'hashing-thread': 'lib/adapters/argon2/hashing-thread.ts', 'phpass-thread': 'lib/adapters/imported-hashes/phpass-thread.ts' },
  outdir,
  write: false,
  bundle: true,
  splitting: true,
  chunkNames: 'shared-[hash]',
  packages: 'external',
  plugins: [ownTypeBox, ownQrEncoder],
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  // A stack trace leads to the sources, which the maps hold.
  sourcemap: true,
  logLevel: 'warning'
})

// The bundler's own digest of a part is not always the same where parts need each other, and the same commit is to give the same bytes.
// So each is called by what it says where the names of parts are left out. A name keeps its length, and the maps stay right.
const PART = /\bshared-([A-Z2-7]{8})\b/g
const names = new Map(outputFiles.flatMap(({ path, text }) => {
  const [, name] = /shared-(\w{8})\.js$/.exec(path) ?? []
  return name === undefined ? [] : [[name, createHash('sha256').update(text.replaceAll(PART, 'shared')).digest('hex').slice(0, 8)]]
}))
if (new Set(names.values()).size < names.size) throw new Error('two parts of the bundle say the same')
const named = (text) => text.replaceAll(PART, (whole, name) => names.has(name) ? `shared-${names.get(name)}` : whole)
for (const { path, text } of outputFiles) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(named(path), named(text))
}
