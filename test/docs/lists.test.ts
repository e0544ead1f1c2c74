/** Hand-kept lists of the docs agree with the code. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import t from '../support/tap.ts'
import * as providers from '../../lib/connections/providers.ts'

const ROOT = new URL('../../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8')
const filesBelow = (folder: string): string[] =>
  readdirSync(new URL(`${folder}/`, ROOT), { recursive: true, encoding: 'utf8' }).map(
    (name) => `${folder}/${name.replaceAll('\\', '/')}`
  )
const known = ['lib', 'test', 'scripts', 'examples', 'docs', 'site'].flatMap(filesBelow)
const tests = known.filter((path) => path.endsWith('.test.ts'))

/** The code spans of a page that name no file or folder of the repository, and words that select no test file. */
function missingPaths(page: string): string[] {
  const spans = [...page.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span)
  const words = spans.flatMap((span) => /npm test -- (.+)/.exec(span)?.[1]?.split(' ') ?? [])
  return [
    ...spans.filter((span) => {
      if (/^[\w.-]+\.(?:ts|json)$/.test(span)) return !known.some((path) => path.endsWith(`/${span}`))
      if (!/^[a-z.][\w.-]*(?:\/[\w.-]+)+$/.test(span) || span === 'dist/site') return false
      return ![span, `lib/${span}`, `${span}.ts`, `lib/${span}.ts`].some((path) => existsSync(new URL(path, ROOT)))
    }),
    ...words.filter((word) => !tests.some((path) => path.includes(word)))
  ]
}

t.test('names only files, folders and tests that exist in CONTRIBUTING.md', async (t) => {
  const page = read('CONTRIBUTING.md')
  t.strictSame(missingPaths(page.replace(/^```[\s\S]*?^```$/gm, '')), [])
})

t.test('reports a path and a word of a test command that match no file', async (t) => {
  for (const span of ['lib/pages/no-such.ts', 'http/no-such', 'no-such.ts', 'npm test -- docs/links no-such'])
    t.strictSame(missingPaths(`See \`${span}\`.`), [span.split(' ').at(-1)], span)
  t.strictSame(missingPaths('`lib/records/view.ts`, `registry.ts`, `lib/keys`, `npm test -- http/token`, `a or b`'), [])
})

t.test('lists each kind of record in the guide for the state', async (t) => {
  const guide = read('docs/guides/state.md')
  const kinds = filesBelow('lib/records').flatMap((path) =>
    path.endsWith('.ts')
      ? [...read(path).matchAll(/\bput\([^{}]*\{[^{}]*?\bkind: ([^,]+),/g)].map(([, given = '']) => given)
      : []
  )
  const names = kinds.flatMap((given) => [...given.matchAll(/'(\w+)'/g)].map(([, name = '']) => name))
  t.ok(
    ['session', 'family', 'code', 'owner', 'api_keys', 'factors'].every((kind) => names.includes(kind)),
    names.join()
  )
  t.strictSame(
    names.filter((name) => !guide.includes(`\`${name}\``)),
    []
  )
})

t.test('lists each provider in the guide for connections by its name, and has the mark of each', async (t) => {
  const guide = read('docs/guides/connections/README.md')
  for (const [exported, make] of Object.entries(providers)) {
    const { id, name, provider } = make({} as never)
    t.equal(id, exported)
    t.ok(guide.includes(`| [${name}](${id}.md) | \`${id}\` |`), id)
    t.equal(provider.brand, id)
    t.ok(provider.mark, id)
  }
  for (const name of ['oidc', 'oauth2']) t.ok(guide.includes(`| \`${name}\` |`), name)
})
