import { readdirSync, readFileSync } from 'node:fs'
import t from './support/tap.ts'
import { deadExports } from './dead-exports.ts'

const ROOT = new URL('../', import.meta.url)
const DOORS = Object.values(
  (
    JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')) as {
      exports: Record<string, string | { types: string }>
    }
  ).exports
).flatMap((door) => (typeof door === 'string' ? [] : [door.types.replace(/^\.\/dist\/(.*)\.d\.ts$/, '$1.ts')]))

function sources(): Record<string, string> {
  return Object.fromEntries(
    ['lib', 'scripts', 'examples', 'bench', 'test'].flatMap((folder) =>
      readdirSync(new URL(`${folder}/`, ROOT), { recursive: true, encoding: 'utf8' })
        .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
        .filter((path) => /\.(?:m?ts|tsx)$/.test(path) && !path.includes('node_modules'))
        .map((path) => [path, readFileSync(new URL(path, ROOT), 'utf8')])
    )
  )
}

t.test('finds no export of the library that is neither imported nor public', async (t) => {
  t.ok(DOORS.includes('lib/index.ts') && DOORS.includes('lib/client/react.ts'))
  t.strictSame(deadExports(sources(), DOORS), [], 'take away the word, or all of it')
})

t.test('reports each kind of unused export, and counts each kind of import as a use', async (t) => {
  const dead = (lib: string, user = ''): string[] => deadExports({ 'lib/a/b.ts': lib, 'lib/a/user.ts': user }, [])
  for (const [text, name] of Object.entries({
    'export const x = 1': 'x',
    'export function x () {}': 'x',
    'export class X {}': 'X',
    'export type X = 1': 'X',
    'export interface X {}': 'X',
    'const x = 1; export { x as y }': 'y',
    'export default function () {}': 'default',
    "export { x } from './c.ts'": 'x'
  }))
    t.strictSame(dead(text), [`lib/a/b.ts: ${name}`], text)
  for (const user of [
    "import { x } from './b.ts'",
    "import { x as y } from '../a/b.ts'",
    "import type { x } from './b.ts'",
    "import * as b from './b.ts'",
    "export { x as z } from './b.ts'",
    "export * from './b.ts'",
    "await import('./b.ts')",
    "let a: import('./b.ts').x",
    "let a: typeof import('./b.ts')"
  ]) {
    t.strictSame(
      dead('export const x = 1', user).filter((one) => one.startsWith('lib/a/b.ts')),
      [],
      user
    )
  }
  t.strictSame(
    dead('export const x = 1', "// import { x } from './b.ts'\nimport { y } from './b.ts'\nimport x from 'b'"),
    ['lib/a/b.ts: x']
  )
  const test = "import { x } from '../lib/a.ts'"
  t.strictSame(
    deadExports({ 'lib/a.ts': 'export const x = 1', 'test/a.test.ts': test }, []),
    ['lib/a.ts: x'],
    'nobody needs what is there for tests alone'
  )
  t.strictSame(
    deadExports({ 'lib/a.ts': 'export const x = 1\nexport const y = x', 'test/a.test.ts': test }, []),
    ['lib/a.ts: y'],
    'but tests may look into a module'
  )
  t.strictSame(
    deadExports({ 'lib/index.ts': "export { x } from './a.ts'", 'lib/a.ts': 'export const x = 1' }, ['lib/index.ts']),
    []
  )
})
