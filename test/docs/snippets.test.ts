/** Every TypeScript block of the README and the docs is formatted and compiles under the project's own options. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from '../support/tap.ts'
import { compilerMessages } from '../support/compile.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const pages = [
  'README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => join('docs', file))
]

/** Names that a fragment without imports can use. */
const PRELUDE = `import type { FastifyInstance } from 'fastify'
import authPlugin, { memoryUserStore, memoryState, sqliteUserStore, sqliteState, nodeRsHasher, UsernameTakenError, type User, type NewUser, type UserStore } from 'fastify-authority'
declare const app: FastifyInstance
declare const users: UserStore
declare const issuer: string
`

interface Snippet {
  name: string
  code: string
}

function snippetsOf(page: string): Snippet[] {
  const text = readFileSync(join(root, page), 'utf8')
  return [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code = ''], index) => ({
    name: `${page} #${index + 1}`,
    code: /^import /m.test(code) ? code : `${PRELUDE}\n${code}\nexport {}\n`
  }))
}

const snippets = pages.flatMap(snippetsOf)

/** Code that imports the browser client is compiled with the types of a page, and without those of Node.js. */
const isOfBrowser = (code: string): boolean => code.includes("from 'fastify-authority/client")

/** The messages of the compiler for each snippet. */
function compile(t: Test, snippets: readonly string[]): string[][] {
  const directory = t.testdir({
    node: { node_modules: t.fixture('symlink', join(root, 'node_modules')) },
    browser: { node_modules: t.fixture('symlink', join(root, 'node_modules')) }
  })
  const files = snippets.map((code, index) =>
    join(directory, isOfBrowser(code) ? 'browser' : 'node', `snippet-${index}.ts`)
  )
  for (const [index, file] of files.entries()) writeFileSync(file, snippets[index] ?? '')
  const inDirectory = (name: string): string[] => files.filter((file) => dirname(file) === join(directory, name))
  const messages = new Map([
    ...compilerMessages(join(directory, 'node'), inDirectory('node')),
    ...compilerMessages(join(directory, 'browser'), inDirectory('browser'), {
      lib: ['es2023', 'dom', 'dom.iterable'],
      types: []
    })
  ])
  return files.map((file) => messages.get(file) ?? [`${file} was not compiled`])
}

t.test('compiles the TypeScript blocks of the README and the docs', async (t) => {
  t.ok(snippets.length >= 8, `${snippets.length} snippets`)
  const [broken, ...messages] = compile(t, [
    `${PRELUDE}\nawait app.register(authPlugin, { isuer: issuer, users })\n`,
    ...snippets.map(({ code }) => code)
  ])
  t.equal(broken?.length, 1, 'a wrong option is noticed')
  for (const [index, { name }] of snippets.entries()) t.strictSame(messages[index], [], name)
})

t.test('requires formatted code blocks', async (t) => {
  const check = (...pages: string[]): string =>
    spawnSync(process.execPath, [join(root, 'scripts/format-docs.mjs'), '--check', ...pages], { encoding: 'utf8' })
      .stderr
  t.equal(check(), '', '`npm run format` formats them')
  const directory = t.testdir({ 'planted.md': '# A\n\n```ts a.ts\nf ( 1 );\n```\n' })
  t.match(check(join(directory, 'planted.md')), /planted\.md has a block that is not formatted/)
})

t.test('shows the minimal example as the first block of the quick start', async (t) => {
  const section = readFileSync(join(root, 'README.md'), 'utf8').split(/^## Quick start$/m)[1] ?? ''
  const [, language, code] = /^```(\w+)\n([\s\S]*?)^```$/m.exec(section) ?? []
  t.equal(language, 'ts')
  t.equal(code, readFileSync(join(root, 'examples/minimal/main.ts'), 'utf8'))
})
