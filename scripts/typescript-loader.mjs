// Lets node run the TypeScript of this repository without a build:
// `node --import ./scripts/typescript-loader.mjs FILE`. The package's own name leads to lib. A file's translation is
// kept under node_modules/.cache by a digest of its place
// and its text, so the many processes of a test run share it.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import module from 'node:module'
import { fileURLToPath } from 'node:url'

const DOMAINS = new URL('error-domains.mjs', import.meta.url).href
const CACHE = new URL('../node_modules/.cache/typescript/', import.meta.url)
// Part of each digest: what was translated in another way is not found again.
const SETTINGS = { format: 'esm', loader: 'ts', target: 'node20', sourcemap: 'inline', sourcesContent: false }
const require = module.createRequire(import.meta.url)

// Before Node.js 22.15 hooks run in a thread of their own, which loads this file too.
if (module.registerHooks !== undefined) module.registerHooks({ load, resolve })
else if (!import.meta.url.includes('?hooks')) module.register('./typescript-loader.mjs?hooks', import.meta.url)

if (process.env.HOLD_UP_MS !== undefined) await import('./hold-up.mjs')

export function resolve(specifier, context, next) {
  // The module by which tap follows errors.
  if (specifier === 'async-hook-domain') return { url: DOMAINS, format: 'module', shortCircuit: true }
  if (!/^fastify-authority(?:\/|$)/.test(specifier)) return next(specifier, context)
  const entry = require('../package.json').exports[specifier.replace('fastify-authority', '.')]?.default
  if (entry === undefined) return next(specifier, context)
  const url = new URL(entry.replace('./dist/', '../').replace(/\.js$/, '.ts'), import.meta.url).href
  return { url, format: 'module', shortCircuit: true }
}

export function load(url, context, next) {
  if (!url.startsWith('file:') || !/\.tsx?$/.test(new URL(url).pathname)) return next(url, context)
  return { format: 'module', shortCircuit: true, source: translated(fileURLToPath(url)) }
}

export function translated(file) {
  const text = readFileSync(file, 'utf8')
  const entry = new URL(
    `${createHash('sha256')
      .update(JSON.stringify([SETTINGS, file, text]))
      .digest('hex')}.mjs`,
    CACHE
  )
  try {
    return readFileSync(entry, 'utf8')
  } catch {
    const { code } = require('esbuild').transformSync(text, {
      ...SETTINGS,
      sourcefile: file,
      loader: file.endsWith('x') ? 'tsx' : 'ts'
    })
    mkdirSync(CACHE, { recursive: true })
    // Renamed into place, so that no process reads half of what another one writes.
    const draft = fileURLToPath(entry) + `.${process.pid}`
    writeFileSync(draft, code)
    renameSync(draft, entry)
    return code
  }
}
