// Proves that a feature is one folder: copies the tree without lib/features/totp, its lines in lib/features and its
// tests, and runs the compiler and the tests there. Code elsewhere that needs the folder turns them red.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const FEATURE = 'totp'
const TESTS = ['architecture', 'unit/', 'features/', 'http/']
const copy = mkdtempSync(join(tmpdir(), `without-${FEATURE}-`))
const run = (command, ...args) => execFileSync(command, args, { cwd: copy, stdio: 'inherit' })
try {
  const files = execFileSync('git', ['ls-files', '-z'], { encoding: 'utf8' }).split('\0')
  for (const file of files) if (file !== '' && !file.includes(`/features/${FEATURE}/`)) cpSync(file, join(copy, file))
  for (const list of ['lib/features/index.ts', 'lib/features/options.ts']) {
    const lines = readFileSync(join(copy, list), 'utf8').split('\n')
    writeFileSync(join(copy, list), lines.filter((line) => !line.includes(`/${FEATURE}/`)).join('\n'))
  }
  symlinkSync(join(process.cwd(), 'node_modules'), join(copy, 'node_modules'))
  // The tests ask Git for the files of the project.
  run('git', 'init', '--quiet')
  run('git', 'add', '--all')
  run('node_modules/.bin/tsc', '-p', 'tsconfig.json', '--noEmit')
  // Tests compare the endpoints with the generated pages.
  run('npm', 'run', 'docs:reference')
  run('npm', 'test', '--', ...(process.argv.length > 2 ? process.argv.slice(2) : TESTS))
} finally {
  rmSync(copy, { recursive: true, force: true })
}
