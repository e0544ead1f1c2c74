import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build, type BuildOptions } from 'esbuild'
import type { ClientKind } from './clients.ts'

/** The root of the repository, because this runs in dist/tools/bench/client. */
const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))
const COMMON = { bundle: true, minify: true, target: 'es2022', write: false, logLevel: 'error' } as const

async function bundle(contents: string, options: BuildOptions): Promise<string> {
  const { outputFiles } = await build({ ...COMMON, ...options, stdin: { contents, resolveDir: ROOT, loader: 'js' } })
  return outputFiles?.[0]?.text ?? ''
}

/** The script of the client's pages. */
export async function pageScript({ page, variant }: ClientKind): Promise<string> {
  return await bundle(
    `
    import { start } from './bench/client/pages/main.mjs'
    import { make } from './bench/client/pages/${page}.mjs'
    start(make, ${JSON.stringify(variant ?? {})})
  `,
    { format: 'iife' }
  )
}

export interface Size {
  version: string
  minified: number
  gzip: number
}

export async function sizeOf({ entry, package: name }: ClientKind): Promise<Size> {
  const code = await bundle(entry, { format: 'esm' })
  return { version: versionOf(name), minified: Buffer.byteLength(code), gzip: gzipSync(code, { level: 9 }).length }
}

export function versionOf(name?: string): string {
  const path = name === undefined ? 'package.json' : `node_modules/${name}/package.json`
  return (JSON.parse(readFileSync(`${ROOT}${path}`, 'utf8')) as { version: string }).version
}

/** The places of browsers. The one without a window has no page cache, so it is not for the report. */
export const chromiumPaths = (isForReport: boolean): string[] =>
  (JSON.parse(readFileSync(`${ROOT}scripts/chromium-paths.json`, 'utf8')) as string[]).filter(
    (path) => !isForReport || !path.endsWith('headless-shell')
  )

export const reportPath = `${ROOT}docs/client-bench.md`
