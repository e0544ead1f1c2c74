// Looks at the packed tarballs as a stranger would: are their files, exports and types what they claim to be?
import { execFile, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { promisify } from 'node:util'
import { pack, root } from './pack.mjs'
import { packClient } from './pack-client.mjs'

const REQUIRED = [
  'LICENSE',
  'README.md',
  'SECURITY.md',
  'SUPPORT.md',
  'docs/deployment.md',
  'package.json',
  'dist/lib/index.js',
  'dist/lib/index.d.ts',
  'dist/lib/cli.js',
  'dist/lib/connections/index.js',
  'dist/lib/connections/index.d.ts',
  'dist/lib/metrics/index.js',
  'dist/lib/metrics/index.d.ts',
  'dist/lib/resource/index.js',
  'dist/lib/resource/index.d.ts',
  'dist/lib/testing/index.js',
  'dist/lib/testing/index.d.ts'
]
const ALLOWED =
  /^(LICENSE|(README|CHANGELOG|SECURITY|SUPPORT)\.md|package\.json|dist\/lib\/.+\.(js|js\.map|d\.ts)|docs\/(?!screenshots\/|adr\/).+\.(md|svg)|docs\/llms\.txt|docs\/screenshots\/pages\.png|examples\/.+\.(ts|tsx|js|mjs|css|svg|json|ya?ml|conf|sh|md)|examples\/compose\/Dockerfile(\.dockerignore)?)$/
const CLIENT_REQUIRED = [
  'LICENSE',
  'README.md',
  'package.json',
  ...['index', 'dev', 'dpop', 'popup', 'silent', 'step-up', 'react', 'vue', 'svelte'].flatMap((entry) => [
    `dist/${entry}.js`,
    `dist/${entry}.d.ts`
  ])
]
const CLIENT_ALLOWED = /^(LICENSE|README\.md|package\.json|dist\/[\w-]+\.(js|js\.map|d\.ts))$/

const { directory, tarball, remove } = pack()
try {
  checkLinks(tarball, check(tarball, REQUIRED, ALLOWED))
  const client = packClient(directory)
  check(client, CLIENT_REQUIRED, CLIENT_ALLOWED)
  const results = await Promise.allSettled(
    [tarball, client].flatMap((file) => [
      run('publint', ['run', file, '--strict']),
      run('attw', [file, '--profile', 'esm-only'])
    ])
  )
  for (const { value, reason } of results) console.log(value ?? `${reason.stdout}\n${reason.stderr}`)
  if (results.some(({ status }) => status === 'rejected'))
    throw new Error('a package is not what it claims to be: see above')
  checkReproducible(tarball)
  const manifest = JSON.parse(execFileSync('tar', ['-xzOf', client, 'package/package.json'], { encoding: 'utf8' }))
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  if (manifest.version !== version || manifest.dependencies !== undefined)
    throw new Error(
      `${manifest.name}: the same version and no dependency, not ${manifest.version} and ` +
        JSON.stringify(manifest.dependencies)
    )
} finally {
  remove()
}

/** A build of the same commit gives the same bytes, so that anybody can check the source of a published package. */
function checkReproducible(tarball) {
  const again = pack({ anew: true })
  const [first, second] = [tarball, again.tarball].map((file) =>
    createHash('sha256').update(readFileSync(file)).digest('hex')
  )
  again.remove()
  if (first !== second) throw new Error(`packing twice gives different bytes: SHA-256 ${first} and ${second}`)
  console.log(`SHA-256 ${first}`)
}

function check(tarball, required, allowed) {
  const files = execFileSync('tar', ['-tzf', tarball], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((file) => file.replace(/^package\//, ''))
  const missing = required.filter((file) => !files.includes(file))
  const stray = files.filter((file) => !allowed.test(file))
  if (missing.length > 0) throw new Error(`missing from the package: ${missing.join(', ')}`)
  if (stray.length > 0) throw new Error(`does not belong in the package: ${stray.join(', ')}`)
  console.log(`${files.length} files`)
  return files
}

/** A reader of the pages in node_modules has the package alone, so all that they lead to is in it. */
function checkLinks(tarball, files) {
  const unpacked = join(directory, 'unpacked')
  mkdirSync(unpacked)
  execFileSync('tar', ['-xzf', tarball, '-C', unpacked, '--strip-components=1'])
  const there = new Set(
    files.flatMap((file) => file.split('/').map((_, index, steps) => steps.slice(0, index + 1).join('/')))
  )
  const dead = files
    .filter((file) => file.endsWith('.md'))
    .flatMap((page) => {
      const text = readFileSync(join(unpacked, page), 'utf8').replaceAll(/^```[^]*?^```$/gm, '')
      const targets = [...text.matchAll(/\]\(([^)#\s]+)|\b(?:src|srcset|href)="([^"#\s]+)/g)]
        .map(([, link, attribute]) => link ?? attribute)
        .filter((target) => !/^[a-z][a-z+.-]*:/i.test(target))
      return targets
        .map((target) => posix.join(posix.dirname(page), target).replace(/\/$/, ''))
        .filter((file) => !there.has(file))
        .map((file) => `${page} leads to ${file}`)
    })
  if (dead.length > 0) throw new Error(`links that lead to nothing in the package:\n${dead.join('\n')}`)
}

/** The output of the tool. Rejects if it finds fault. */
async function run(tool, args) {
  const { stdout } = await promisify(execFile)(join(root, 'node_modules', '.bin', tool), args, { cwd: root })
  return stdout
}
