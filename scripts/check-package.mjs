// Looks at the packed tarball as a stranger would: are its files, exports and types what they claim to be?
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { pack, root } from './pack.mjs'

const REQUIRED = ['LICENSE', 'README.md', 'package.json', 'dist/lib/index.js', 'dist/lib/index.d.ts', 'dist/lib/testing/index.js', 'dist/lib/testing/index.d.ts']
const ALLOWED = /^(LICENSE|README\.md|CHANGELOG\.md|package\.json|dist\/lib\/.+\.(js|js\.map|d\.ts))$/

const { tarball, remove } = pack()
try {
  const files = execFileSync('tar', ['-tzf', tarball], { encoding: 'utf8' }).trim().split('\n').map((file) => file.replace(/^package\//, ''))
  const missing = REQUIRED.filter((file) => !files.includes(file))
  const stray = files.filter((file) => !ALLOWED.test(file))
  if (missing.length > 0) throw new Error(`missing from the package: ${missing.join(', ')}`)
  if (stray.length > 0) throw new Error(`does not belong in the package: ${stray.join(', ')}`)
  console.log(`${files.length} files`)
  run('publint', ['run', tarball, '--strict'])
  run('attw', [tarball, '--profile', 'esm-only'])
} finally {
  remove()
}

function run (tool, args) {
  execFileSync(join(root, 'node_modules', '.bin', tool), args, { cwd: root, stdio: 'inherit' })
}
