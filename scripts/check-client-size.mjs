// Measures the browser client as users install it: bundles the entries of the packed package as an app's bundler would.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { pack } from './pack.mjs'

const CORE_LIMIT = 4096
/** The limit of the script of the pages that ask for a passkey, as it is served. */
const PASSKEY_SCRIPT_LIMIT = 1024
/** The limit of the bytes that an entry adds to the core. */
const ENTRY_LIMIT = 700
/** The limit of the entry that makes proofs. It replaces `createAuthClient`, so the core's own export is left out. */
const DPOP_LIMIT = 1024
const CORE = 'fastify-authority/client'
/** The peers that each entry besides the core may import. */
const ENTRIES = { popup: [], silent: [], 'step-up': [], react: ['react'], vue: ['vue'], svelte: [] }

const { directory, tarball, remove } = pack()
try {
  const home = join(directory, 'node_modules', 'fastify-authority')
  mkdirSync(home, { recursive: true })
  execFileSync('tar', ['-xzf', tarball, '-C', home, '--strip-components=1'])
  const core = await weigh([CORE], [])
  const rows = [{ entry: CORE, ...core, limit: CORE_LIMIT, over: core.gzip > CORE_LIMIT }]
  for (const [name, peers] of Object.entries(ENTRIES)) {
    const entry = `${CORE}/${name}`
    const both = await weigh([CORE, entry], peers)
    const added = {
      minified: both.minified - core.minified,
      gzip: both.gzip - core.gzip,
      brotli: both.brotli - core.brotli
    }
    rows.push({ entry, ...added, limit: ENTRY_LIMIT, over: added.gzip > ENTRY_LIMIT })
  }
  const dpop = await weigh([`${CORE}/dpop`], [])
  const dpopAdds = {
    minified: dpop.minified - core.minified,
    gzip: dpop.gzip - core.gzip,
    brotli: dpop.brotli - core.brotli
  }
  rows.push({ entry: `${CORE}/dpop`, ...dpopAdds, limit: DPOP_LIMIT, over: dpopAdds.gzip > DPOP_LIMIT })
  const passkeys = await passkeyScript()
  rows.push({
    entry: 'passkeys.js of the hosted pages',
    ...passkeys,
    limit: PASSKEY_SCRIPT_LIMIT,
    over: passkeys.gzip > PASSKEY_SCRIPT_LIMIT
  })
  console.table(
    Object.fromEntries(
      rows.map(({ entry, minified, gzip, brotli, limit }) => [entry, { minified, gzip, brotli, 'limit (gzip)': limit }])
    )
  )
  const over = rows.filter((row) => row.over)
  if (over.length > 0)
    throw new Error(
      `too big: ${over.map(({ entry, gzip, limit }) => `${entry} has ${gzip} bytes, ${limit} are allowed`).join('; ')}`
    )

  /** The size of all exports of these entries together. Throws if it contains more than our own files and the peers. */
  async function weigh(entries, peers) {
    const {
      metafile,
      outputFiles: [file]
    } = await build({
      stdin: { contents: entries.map((entry) => `export * from '${entry}'`).join('\n'), resolveDir: directory },
      bundle: true,
      minify: true,
      format: 'esm',
      target: 'es2022',
      platform: 'browser',
      external: peers,
      metafile: true,
      write: false
    })
    const ours = join(home, 'dist', 'lib', 'client')
    const stray = Object.keys(metafile.inputs).filter(
      (path) => path !== '<stdin>' && relative(ours, join(process.cwd(), path)).startsWith('..')
    )
    const imported = Object.values(metafile.outputs)
      .flatMap(({ imports }) => imports)
      .map(({ path }) => path)
      .filter((path) => !peers.includes(path))
    if (stray.length > 0 || imported.length > 0)
      throw new Error(`${entries.join(', ')}: not of the client: ${[...stray, ...imported].join(', ')}`)
    return {
      minified: file.contents.length,
      gzip: gzipSync(file.contents, { level: 9 }).length,
      brotli: brotliCompressSync(file.contents, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }).length
    }
  }

  async function passkeyScript() {
    const {
      outputFiles: [{ text }]
    } = await build({ entryPoints: ['lib/pages/script.ts'], bundle: true, format: 'esm', write: false })
    const { PASSKEY_SCRIPT: script } = await import(`data:text/javascript,${encodeURIComponent(text)}`)
    return {
      minified: script.length,
      gzip: gzipSync(script, { level: 9 }).length,
      brotli: brotliCompressSync(script).length
    }
  }

  const { peerDependenciesMeta = {} } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'))
  const required = Object.values(ENTRIES)
    .flat()
    .filter((peer) => peerDependenciesMeta[peer]?.optional !== true)
  if (required.length > 0) throw new Error(`no optional peer dependency: ${required.join(', ')}`)
} finally {
  remove()
}
