import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import t from './support/tap.ts'
import { patternCounts, patternsIn } from './english.ts'

const ROOT = new URL('../', import.meta.url)
const COUNTS = new URL('english.json', import.meta.url)
const FOLDERS = ['lib', 'test', 'scripts', 'bench', 'conformance', 'examples', 'docs', '.']

function sources(): Record<string, string> {
  const paths = FOLDERS.flatMap((folder) =>
    readdirSync(new URL(`${folder}/`, ROOT), { recursive: folder !== '.', encoding: 'utf8' }).map((name) =>
      folder === '.' ? name : `${folder}/${name.replaceAll('\\', '/')}`
    )
  )
  return Object.fromEntries(
    paths
      .filter((path) => /\.(?:m?ts|tsx|mjs|md)$/.test(path) && !path.includes('node_modules'))
      .map((path) => [path, readFileSync(new URL(path, ROOT), 'utf8')])
  )
}

/** `UPDATE=1` writes lower counts, also where files moved from folder to folder. No kind gets more. */
t.test('no folder gets more patterns that make a sentence hard to read', async (t) => {
  const files = sources()
  const found = patternCounts(files)
  const stored = JSON.parse(readFileSync(COUNTS, 'utf8')) as Record<string, number>
  for (const kind of ['comments', 'texts', 'titles', 'prose']) {
    const sum = (counts: Record<string, number>): number =>
      Object.entries(counts).reduce((total, [place, count]) => total + (place.startsWith(kind) ? count : 0), 0)
    t.ok(sum(found) <= sum(stored), `${sum(found)} in ${kind}, and ${sum(stored)} at most`)
  }
  if (process.env['UPDATE'] === '1' && t.passing()) writeFileSync(COUNTS, `${JSON.stringify(found, null, 2)}\n`)
  else
    for (const [place, count] of Object.entries(found))
      if (count > (stored[place] ?? 0)) {
        const texts = patternsIn(files).filter((pattern) => pattern.place === place)
        t.fail(`${place}: ${count}, and ${stored[place] ?? 0} at most`, {
          found: texts.slice(0, 20).map(({ path, pattern, text }) => `${path}: ${pattern}: ${text}`)
        })
      }
})

t.test('reports each pattern with its folder, and accepts correct text', async (t) => {
  const texts = (path: string, text: string): string[] =>
    patternsIn({ [path]: text }).map(({ place, text }) => `${place}: ${text}`)
  for (const [path, text, expected] of [
    ['lib/keys/a.ts', '// What it gives.\n', ['comments of lib/keys: What it gives.']],
    [
      'lib/keys/a.ts',
      '/** Gives it.\n * Where there is one. */',
      ['comments of lib/keys: Gives it. Where there is one. */']
    ],
    ['lib/http/edge/a.ts', 'x() // made anew', ['comments of lib/http/edge: made anew']],
    ['lib/keys/a.ts', '// What does it give?\n// Nothing that a reader asks what for.\n', []],
    ['lib/keys/a.ts', '/** Of the key. */', ['comments of lib/keys: Of the key. */']],
    ['lib/keys/a.ts', '/** Of two parallel calls one wins. */', []],
    ['lib/keys/a.ts', '// keys, of which one is used\n', ['comments of lib/keys: keys, of which one is used']],
    ['lib/keys/a.ts', '// keys, each of which is used\n', []],
    ['test/http/a.test.ts', "t.test('of two calls one wins', x)", ['titles of test/http: of two calls one wins']],
    ['lib/keys/a.ts', "const text = '// What'", []],
    ['lib/keys/a.ts', "throw new Error('The key was made anew')", ['texts of lib/keys: The key was made anew']],
    ['test/http/a.test.ts', "t.test('who has none is refused', x)", ['titles of test/http: who has none is refused']],
    ['test/http/a.test.ts', "t.test('refuses a user without one', x)", []],
    ['docs/a.md', '# Where it goes\n\nIt goes to `whoever`.', ['prose of docs: . Where it goes. It goes to `.']],
    ['docs/a.md', '```\n// What it gives\n```\n[a](whoever.md)\n', []]
  ] satisfies Array<[string, string, string[]]>)
    t.strictSame(texts(path, text), expected, text)
})

t.test('names the pattern that it found in a sentence', async (t) => {
  const names = patternsIn({ 'lib/keys/a.ts': '// What it gives, made anew.\n' }).map(({ pattern }) => pattern)
  t.strictSame(names, ['a sentence that begins with "What"', 'the word "anew"'])
})
