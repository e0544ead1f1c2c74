/** Every TypeScript block of the README and the docs compiles under the project's own strict options. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import ts from 'typescript-tap'

const root = fileURLToPath(new URL('../../', import.meta.url))
const pages = ['README.md', ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.md')).map((file) => join('docs', file))]

/** What a fragment without imports of its own may take for granted. */
const PRELUDE = `import type { FastifyInstance } from 'fastify'
import authPlugin, { memoryUserStore, memoryState, sqliteUserStore, sqliteState, nodeRsHasher, UsernameTakenError, type User, type NewUser, type UserStore } from 'fastify-authority'
declare const app: FastifyInstance
declare const users: UserStore
declare const issuer: string
`

interface Snippet { name: string, code: string }

function snippetsOf (page: string): Snippet[] {
  const text = readFileSync(join(root, page), 'utf8')
  return [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code = ''], index) => ({
    name: `${page} #${index + 1}`,
    code: /^import /m.test(code) ? code : `${PRELUDE}\n${code}\nexport {}\n`
  }))
}

const snippets = pages.flatMap(snippetsOf)

/** What imports the browser client is compiled with the types of a page, and without those of Node.js. */
const isOfBrowser = (code: string): boolean => code.includes("from 'fastify-authority/client")

/** The messages of the compiler for each file, by its name. */
function compile (files: ReadonlyMap<string, string>): Map<string, string[]> {
  const entries = [...files]
  return new Map([
    ...compileFor(new Map(entries.filter(([, code]) => !isOfBrowser(code))), {}),
    ...compileFor(new Map(entries.filter(([, code]) => isOfBrowser(code))), { lib: ['es2023', 'dom', 'dom.iterable'], types: [] })
  ])
}

function compileFor (files: ReadonlyMap<string, string>, environment: object): Map<string, string[]> {
  const config = ts.parseConfigFileTextToJson('tsconfig.json', readFileSync(join(root, 'tsconfig.json'), 'utf8')).config as { compilerOptions: object }
  const { options } = ts.convertCompilerOptionsFromJson({ ...config.compilerOptions, ...environment }, root)
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile, getSourceFile } = host
  host.fileExists = (file) => files.has(file) || fileExists.call(host, file)
  host.readFile = (file) => files.get(file) ?? readFile.call(host, file)
  host.getSourceFile = (file, version, ...rest) => {
    const text = files.get(file)
    return text === undefined ? getSourceFile.call(host, file, version, ...rest) : ts.createSourceFile(file, text, version)
  }
  const program = ts.createProgram([...files.keys()], options, host)
  return new Map([...files.keys()].map((file) => {
    const source = program.getSourceFile(file)
    const diagnostics = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)]
    return [file, diagnostics.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))]
  }))
}

t.test('the snippets compile', async (t) => {
  t.ok(snippets.length >= 8, `${snippets.length} snippets`)
  const files = new Map(snippets.map(({ code }, index) => [join(root, 'docs', `snippet-${index}.ts`), code]))
  const broken = join(root, 'docs', 'snippet-broken.ts')
  const messages = compile(new Map([...files, [broken, `${PRELUDE}\nawait app.register(authPlugin, { isuer: issuer, users })\n`]]))
  t.equal(messages.get(broken)?.length, 1, 'a wrong option is noticed')
  for (const [index, file] of [...files.keys()].entries()) t.strictSame(messages.get(file), [], snippets[index]?.name ?? file)
})

t.test('the quick start is the minimal example, and the first block under its heading', async (t) => {
  const section = readFileSync(join(root, 'README.md'), 'utf8').split(/^## Quick start$/m)[1] ?? ''
  const [, language, code] = /^```(\w+)\n([\s\S]*?)^```$/m.exec(section) ?? []
  t.equal(language, 'ts')
  t.equal(code, readFileSync(join(root, 'examples/minimal/main.ts'), 'utf8'))
})
