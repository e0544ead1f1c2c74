import { readFileSync } from 'node:fs'
import t from '../support/tap.ts'

interface Entry {
  version?: string
  integrity?: string
  resolved?: string
  link?: boolean
  inBundle?: boolean
  optionalDependencies?: Record<string, string>
}
type Packages = Record<string, Entry>

/** The lock files of the repository, of `npm run docs` and of `npm run test:mutation`. */
const LOCKFILES = { 'package-lock.json': 500, 'site/package-lock.json': 100, 'mutation/package-lock.json': 100 }

/** Describes entries without a SHA-512 hash, with a URL, or with an optional dependency that is not locked. */
function problems(packages: Packages): string[] {
  return Object.entries(packages).flatMap(([path, entry]) => [
    ...(path === '' || entry.integrity?.startsWith('sha512-') === true ? [] : [`${path}@${entry.version}: no SHA-512`]),
    ...(entry.resolved === undefined ? [] : [`${path}: from ${entry.resolved}`]),
    ...(entry.link === true || entry.inBundle === true ? [`${path}: not from a registry`] : []),
    ...Object.keys(entry.optionalDependencies ?? {})
      .filter((name) => !isLocked(packages, path, name))
      .map((name) => `${path}: ${name} is not locked`)
  ])
}

/** Searches like Node: below the package, then upwards. */
function isLocked(packages: Packages, path: string, name: string): boolean {
  if (`${path === '' ? '' : `${path}/`}node_modules/${name}` in packages) return true
  return path !== '' && isLocked(packages, path.slice(0, Math.max(0, path.lastIndexOf('node_modules/') - 1)), name)
}

t.test('lists a SHA-512 hash and no URL for every package in each lockfile', async (t) => {
  for (const [file, least] of Object.entries(LOCKFILES)) {
    const { packages } = JSON.parse(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')) as {
      packages: Packages
    }
    t.ok(Object.keys(packages).length > least, file)
    t.strictSame(
      problems(packages),
      [],
      'npm leaves out a platform that the registry at hand does not carry: take a version that it has whole'
    )
  }
})

t.test('reports lockfile entries without a SHA-512 hash, with a URL or with an unlocked dependency', async (t) => {
  const integrity = 'sha512-AAAA'
  t.strictSame(problems({ '': {}, 'node_modules/a': { version: '1.0.0' } }), ['node_modules/a@1.0.0: no SHA-512'])
  t.strictSame(problems({ 'node_modules/a': { version: '1.0.0', integrity: 'sha1-AAAA' } }), [
    'node_modules/a@1.0.0: no SHA-512'
  ])
  t.strictSame(problems({ 'node_modules/a': { integrity, resolved: 'https://registry.example/a.tgz' } }), [
    'node_modules/a: from https://registry.example/a.tgz'
  ])
  t.strictSame(problems({ 'node_modules/a': { integrity, link: true } }), ['node_modules/a: not from a registry'])
  const native = { integrity, optionalDependencies: { '@a/darwin-arm64': '1.0.0' } }
  t.strictSame(problems({ 'node_modules/a': native }), ['node_modules/a: @a/darwin-arm64 is not locked'])
  t.strictSame(problems({ 'node_modules/b/node_modules/a': native, 'node_modules/@a/darwin-arm64': { integrity } }), [])
})
