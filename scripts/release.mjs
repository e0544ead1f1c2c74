// Makes what a release consists of, into a directory: `node scripts/release.mjs v1.2.3 DIRECTORY`. Both tarballs, the
// list of components (CycloneDX), checksums, and the notes out of CHANGELOG.md. Publishes nothing.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { pack, root } from './pack.mjs'
import { packClient } from './pack-client.mjs'

const [tag, target] = process.argv.slice(2)
if (tag === undefined || target === undefined) throw new Error('usage: node scripts/release.mjs v1.2.3 DIRECTORY')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
if (tag !== `v${manifest.version}`) throw new Error(`The tag is ${tag} and package.json says ${manifest.version}.`)
if (manifest.repository === undefined)
  throw new Error('package.json has no repository, and npm takes no provenance without it: RELEASING.md, "Once".')

const directory = resolve(target)
mkdirSync(directory, { recursive: true })
if (readdirSync(directory).length > 0) throw new Error(`${directory} is not empty.`)

writeFileSync(join(directory, 'notes.md'), notesOf(manifest.version))
const packed = pack()
try {
  const tarball = join(directory, basename(packed.tarball))
  copyFileSync(packed.tarball, tarball)
  writeFileSync(join(directory, 'fastify-authority.cdx.json'), `${JSON.stringify(componentsOf(tarball), null, 2)}\n`)
} finally {
  packed.remove()
}
packClient(directory)

const files = readdirSync(directory)
  .filter((file) => /\.(tgz|json)$/.test(file))
  .sort()
const sums = files
  .map(
    (file) =>
      `${createHash('sha256')
        .update(readFileSync(join(directory, file)))
        .digest('hex')}  ${file}\n`
  )
  .join('')
writeFileSync(join(directory, 'SHA256SUMS'), sums)
process.stdout.write(sums)

/** The section of this version, without its heading. */
function notesOf(version) {
  const sections = readFileSync(join(root, 'CHANGELOG.md'), 'utf8').split(/^## /m)
  const section = sections.find((one) => one.startsWith(`[${version}]`))
  if (section === undefined) throw new Error(`CHANGELOG.md has no section [${version}].`)
  return `${section.slice(section.indexOf('\n')).trim()}\n`
}

/**
 * The components that a user installs with the tarball and Fastify. In the repository itself, npm leaves out packages
 * that the development dependencies need as well: 17 of 41.
 */
function componentsOf(tarball) {
  const home = mkdtempSync(join(tmpdir(), 'fastify-authority-sbom-'))
  try {
    writeFileSync(
      join(home, 'package.json'),
      JSON.stringify({ name: 'fastify-authority-and-fastify', version: manifest.version, private: true })
    )
    const npm = (...args) =>
      execFileSync('npm', args, { cwd: home, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
    npm(
      'install',
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      tarball,
      `fastify@${manifest.peerDependencies.fastify}`
    )
    const list = JSON.parse(npm('sbom', '--sbom-format', 'cyclonedx'))
    const names = new Set(
      list.components.map(({ group, name }) => (group === undefined || group === '' ? name : `${group}/${name}`))
    )
    const missing = [manifest.name, 'fastify', ...Object.keys(manifest.dependencies)].filter((name) => !names.has(name))
    if (missing.length > 0) throw new Error(`not in the list of components: ${missing.join(', ')}`)
    // It is installed from a file of this machine, in a folder of a random name.
    list.metadata.component.name = 'fastify-authority-and-fastify'
    for (const { name, externalReferences } of list.components) {
      for (const reference of name === manifest.name ? externalReferences : [])
        if (reference.url.startsWith('file:')) reference.url = basename(reference.url)
    }
    return list
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}
