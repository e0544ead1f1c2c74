// Adds to package-lock.json the optional packages of platforms other than this one. npm leaves out those that it does not see,
// be it that node_modules has none or that a mirror carries none, and then `npm ci` refuses the lockfile, here and elsewhere.
// Versions are those that their owner pins; there is no hash for what was never downloaded. Run it after `npm install`.
import { readFileSync, writeFileSync } from 'node:fs'

const OPERATING_SYSTEMS = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32']
const PROCESSORS = ['arm64', 'arm', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64']

const file = new URL('../package-lock.json', import.meta.url)
const lock = JSON.parse(readFileSync(file, 'utf8'))
const added = {}

for (const [path, entry] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    if (isLocked(path, name)) continue
    const platform = platformOf(name)
    if (platform === null || !/^\d+\.\d+\.\d+/.test(version)) throw new Error(`${path}: can't tell the platform or the version of ${name}@${version}`)
    added[`node_modules/${name}`] = { version, ...(entry.dev === true ? { dev: true } : {}), optional: true, ...platform }
  }
}

lock.packages = Object.fromEntries(Object.entries({ ...lock.packages, ...added }).toSorted(([a], [b]) => a.localeCompare(b, 'en')))
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
console.log(`${Object.keys(added).length} optional packages of other platforms added`)

/** Node's own search: beside the package, then upwards. */
function isLocked (path, name) {
  for (let at = path; ; at = at.slice(0, at.lastIndexOf('node_modules/')).replace(/\/$/, '')) {
    if (`${at === '' ? '' : `${at}/`}node_modules/${name}` in lock.packages) return true
    if (at === '') return false
  }
}

/** By the naming that native packages keep: `<os>-<cpu>[-<abi>]`. */
function platformOf (name) {
  const parts = name.split(/[/-]/)
  const cpu = PROCESSORS.find((processor) => parts.some((part) => part === processor || (processor === 'ppc64' && part === 'ppc64le')))
  const os = OPERATING_SYSTEMS.find((system) => parts.includes(system))
  if (name === 'fsevents') return { os: ['darwin'] }
  if (cpu === undefined || (os === undefined && cpu !== 'wasm32')) return null
  const abi = parts.at(-1) ?? ''
  const libc = os === 'linux' && abi.startsWith('musl') ? ['musl'] : os === 'linux' && abi.startsWith('gnu') ? ['glibc'] : undefined
  return { ...(os === undefined ? {} : { os: [os] }), cpu: [cpu], ...(libc === undefined ? {} : { libc }) }
}
