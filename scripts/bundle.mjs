// The JavaScript of the package's doors on a server: one file each, and one for what they share. Read one by one, three
// hundred modules were a third of what the plugin adds to the start of an app. The browser client stays in modules, for
// bundlers to pick from.
//   node scripts/bundle.mjs            into dist/lib
//   node scripts/bundle.mjs DIRECTORY
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync } from 'node:zlib'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
const index = resolve(root, 'lib/index.ts')
/** The doors that only an app with the plugin uses. */
const AFTER_INDEX = ['cli', 'connections', 'metrics', 'testing'].map((door) => `./lib/${door}/index.ts`)
/** `index` itself, what it shares with those, and what both share with `resource`. */
const MOST_PARTS = 3

/**
 * The modules of TypeBox that check our own schemas come with the bundle. TypeBox stays outside for `import()`: that is
 * for the schemas of a host, which has registered its formats and types in the package.
 * @type {import('esbuild').Plugin}
 */
const ownTypeBox = {
  name: 'own-typebox',
  setup({ onResolve }) {
    onResolve({ filter: /^@sinclair\/typebox(?:\/|$)/ }, ({ path, kind }) =>
      kind === 'dynamic-import' ? { path, external: true } : { path: fileURLToPath(import.meta.resolve(path)) }
    )
  }
}

const builders = fileURLToPath(new URL('type/type/type.mjs', import.meta.resolve('@sinclair/typebox')))

/**
 * Imports the builders as a namespace, because TypeBox exports them as one object, and the bundler can leave nothing
 * of an object out.
 */
const withBuilders = (text) =>
  text.replace(/^import \{([^}]*)\} from '@sinclair\/typebox'$/m, (whole, names) => {
    const others = names.split(',').filter((name) => name.trim() !== 'Type')
    return others.length === names.split(',').length
      ? whole
      : `import {${others.join(',')}} from '@sinclair/typebox'; import * as Type from ${JSON.stringify(builders)}`
  })

/**
 * The drawing of QR codes is a small part of a package that hosts need not install: it is a dependency of the build
 * alone. Its notice is in lib/pages/qr.ts, and stays.
 * @type {import('esbuild').Plugin}
 */
const ownQrEncoder = {
  name: 'own-qr-encoder',
  setup({ onResolve }) {
    onResolve({ filter: /^uqr$/ }, ({ path }) => ({
      path: fileURLToPath(import.meta.resolve(path)),
      sideEffects: false
    }))
  }
}

/**
 * Modules that are loaded on first use, and some doors, need some modules of the door `index`, each others. The
 * bundler would make a part of every mixture, some forty files that are all read at the start. So each of them imports
 * something from the door itself, which is loaded by then or soon, and the door is one part.
 * @type {import('esbuild').Plugin}
 */
const afterIndex = {
  name: 'after-index',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^\.{1,2}\// }, ({ path, kind, resolveDir }) =>
      kind === 'dynamic-import' || (kind === 'entry-point' && AFTER_INDEX.includes(path))
        ? { path: resolve(resolveDir, path), pluginData: afterIndex }
        : undefined
    )
    onLoad({ filter: /\.ts$/ }, ({ path, pluginData }) => ({
      contents:
        withBuilders(readFileSync(path, 'utf8')) +
        (pluginData === afterIndex ? `\nexport { default as door } from ${JSON.stringify(index)}` : ''),
      loader: 'ts'
    }))
  }
}

/**
 * Puts the languages other than English into the bundle, because a bundle that a host makes would leave files next to
 * the module out. Their heads are in `languages.ts` already. They are compressed, because they would be a quarter of
 * what a process reads at the start, and most of them are never used.
 * @type {import('esbuild').Plugin}
 */
const languages = {
  name: 'languages',
  setup({ onLoad, onEnd }) {
    let isThere = false
    // A file that was moved would leave the bundle with English alone, and nothing else would tell.
    onEnd(() => (isThere ? undefined : { errors: [{ text: 'lib/texts/language-file.ts is not in the bundle' }] }))
    onLoad({ filter: /[\\/]lib[\\/]texts[\\/]language-file\.ts$/ }, () => {
      isThere = true
      const folder = resolve(root, 'lib/texts')
      const texts = readdirSync(folder)
        .filter((name) => name.endsWith('.json'))
        .sort()
        .map((name) => {
          const { pages, byEmail, mails } = JSON.parse(readFileSync(resolve(folder, name), 'utf8'))
          const text = brotliCompressSync(JSON.stringify({ pages, byEmail, mails }))
          return [name.slice(0, -'.json'.length), text.toString('base64')]
        })
      return {
        contents:
          "import { brotliDecompressSync } from 'node:zlib'\n" +
          `const TEXTS = ${JSON.stringify(Object.fromEntries(texts))}\n` +
          "const bytesOf = (locale) => brotliDecompressSync(Buffer.from(TEXTS[locale], 'base64'))\n" +
          'export const languageFile = (locale) => bytesOf(locale).toString()',
        loader: 'js'
      }
    })
  }
}

const outdir = resolve(root, process.argv[2] ?? 'dist/lib')
const options = {
  absWorkingDir: root,
  outdir,
  write: false,
  metafile: true,
  bundle: true,
  chunkNames: 'shared-[hash]',
  packages: 'external',
  plugins: [languages, ownTypeBox, ownQrEncoder, afterIndex],
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  // Less to read at the start. Lines and names stay, for stack traces.
  minifySyntax: true,
  // V8 keeps two bytes for each character of a file that has one outside of Latin 1: here 1.5 MB more.
  charset: 'ascii',
  // A stack trace leads to the sources, which the maps hold.
  sourcemap: true,
  logLevel: 'warning'
}
const { metafile, outputFiles } = await build({
  ...options,
  entryPoints: {
    index: 'lib/index.ts',
    cli: 'lib/cli/index.ts',
    'connections/index': 'lib/connections/index.ts',
    'metrics/index': 'lib/metrics/index.ts',
    'resource/index': 'lib/resource/index.ts',
    'testing/index': 'lib/testing/index.ts'
  },
  splitting: true
})
// The threads are doors too: a worker is started by its file, which is next to the one that starts it. They share
// nothing, because a part that they share would be one more that is read at the start.
const threads = await build({
  ...options,
  plugins: [],
  entryPoints: {
    'hashing-thread': 'lib/adapters/argon2/hashing-thread.ts',
    'phpass-thread': 'lib/adapters/imported-hashes/phpass-thread.ts'
  }
})
outputFiles.push(...threads.outputFiles)

/** The parts that `index` reads at the start. */
const read = new Set([`${relative(root, outdir)}/index.js`])
for (const part of read)
  for (const { path, kind } of metafile.outputs[part].imports)
    if (kind === 'import-statement' && path in metafile.outputs) read.add(path)
if (read.size > MOST_PARTS)
  throw new Error(
    `lib/index.ts was bundled into ${read.size} parts that are all read at the start, and ${MOST_PARTS} are enough`
  )

// The bundler's own digest of a part is not always the same where parts need each other, and the same commit is to give
// the same bytes. So each is called by what it says where the names of parts are left out. A name keeps its length, and
// the maps stay right.
const PART = /\bshared-([A-Z2-7]{8})\b/g
const names = new Map(
  outputFiles.flatMap(({ path, text }) => {
    const [, name] = /shared-(\w{8})\.js$/.exec(path) ?? []
    return name === undefined
      ? []
      : [[name, createHash('sha256').update(text.replaceAll(PART, 'shared')).digest('hex').slice(0, 8)]]
  })
)
if (new Set(names.values()).size < names.size) throw new Error('two parts of the bundle say the same')
const named = (text) => text.replaceAll(PART, (whole, name) => (names.has(name) ? `shared-${names.get(name)}` : whole))
for (const { path, text } of outputFiles) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(named(path), named(text).replace(/\n {2}\w+ as door,?$/m, ''))
}
