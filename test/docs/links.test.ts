/** Links between the pages, their anchors, and names of pages in the code's messages and comments have a target. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from '../support/tap.ts'
import { anchorsOf, headingText, linksOf, slugOf } from '../../scripts/markdown.ts'
import { groups, urlOf } from '../../site/sidebar.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const below = (folder: string, ending: string): string[] =>
  existsSync(join(root, folder))
    ? readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith(ending))
        .map((file) => join(folder, file))
    : []
const PAGES = [
  ...readdirSync(root).filter((file) => file.endsWith('.md')),
  ...below('docs', '.md'),
  ...below('examples', '.md').filter((file) => !file.includes('node_modules')),
  ...below('.github', '.md')
]

const texts = new Map<string, string>()
function textOf(file: string): string {
  const known = texts.get(file)
  if (known !== undefined) return known
  const text = readFileSync(join(root, file), 'utf8')
  texts.set(file, text)
  return text
}

const anchors = new Map<string, Set<string>>()
function hasAnchor(file: string, anchor: string): boolean {
  const known = anchors.get(file) ?? anchorsOf(textOf(file))
  anchors.set(file, known)
  return known.has(anchor)
}

/** The faults in the links of a page: one sentence each. */
function faults(page: string, text: string): string[] {
  return linksOf(text).flatMap(({ target, line }) => {
    if (/^[a-z][a-z+.-]*:/i.test(target)) return []
    const [path = '', anchor] = target.split('#')
    const file = path === '' ? page : relative(root, join(root, dirname(page), decodeURIComponent(path)))
    if (file.startsWith('..') || !existsSync(join(root, file))) return [`${page}:${line}: no file ${file}`]
    if (anchor === undefined || anchor === '' || !file.endsWith('.md')) return []
    return hasAnchor(file, decodeURIComponent(anchor)) ? [] : [`${page}:${line}: no heading #${anchor} in ${file}`]
  })
}

t.test('links every page only to existing files and headings', async (t) => {
  t.ok(PAGES.length > 50, `${PAGES.length} pages`)
  t.strictSame(
    PAGES.flatMap((page) => faults(page, textOf(page))),
    []
  )
})

t.test('links packaged pages only to files in the package', async (t) => {
  const told = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: root, encoding: 'utf8' })
  const [{ files }] = JSON.parse(told) as [{ files: Array<{ path: string }> }]
  const packed = new Set(
    files.flatMap(({ path }) => path.split('/').map((_, index, steps) => steps.slice(0, index + 1).join('/')))
  )
  const pages = PAGES.filter((page) => packed.has(page))
  t.ok(pages.length > 50, `${pages.length} pages`)
  t.strictSame(
    pages.flatMap((page) =>
      linksOf(textOf(page))
        .map(({ target }) => target.replace(/#.*/, ''))
        .filter((target) => target !== '' && !/^[a-z][a-z+.-]*:/i.test(target))
        .map((target) => join(dirname(page), decodeURIComponent(target)).replace(/\/$/, ''))
        .filter((file) => !packed.has(file))
        .map((file) => `${page} leads to ${file}`)
    ),
    []
  )
})

t.test('links to every page from another page', async (t) => {
  const targets = new Set(
    PAGES.flatMap((page) =>
      linksOf(textOf(page))
        .map(({ target }) => join(dirname(page), target.replace(/#.*/, '')))
        .filter((target) => target !== page)
    )
  )
  const unreachable = below('docs', '.md').filter((page) => !page.startsWith('docs/adr/') && !targets.has(page))
  t.strictSame(unreachable, [], 'link to it from docs/README.md')
})

t.test('detects a link or an image whose file or heading does not exist', async (t) => {
  const broken = [
    '[a](nowhere.md)',
    '[a](README.md#no-such-heading)',
    '[a](#no-such-heading)',
    '![a](docs/nowhere.png)',
    '<img alt="a" src="docs/nowhere.png">',
    '[a][1]\n\n[1]: nowhere.md',
    '[a](../outside.md)'
  ]
  for (const text of broken) t.equal(faults('README.md', text).length, 1, text)
  const fine = [
    '[a](https://example.com/#x)',
    '`[a](nowhere.md)`',
    '```ts\n[a](nowhere.md)\n```',
    '<!-- [a](nowhere.md) -->',
    '# Here\n\n[a](LICENSE)'
  ]
  for (const text of fine) t.strictSame(faults('README.md', text), [], text)
})

t.test('derives anchors as GitHub does', async (t) => {
  t.equal(slugOf('prompt, max_age and auth_time'), 'prompt-max_age-and-auth_time')
  t.equal(slugOf('`POST /auth/token`'), 'post-authtoken')
  t.equal(slugOf('What a [client](x.md) may learn?'), 'what-a-client-may-learn')
  t.equal(headingText('**Two** words'), 'Two words')
  t.strictSame([...anchorsOf('# A\n\n## B\n\n## B\n\n```sh\n# not a heading\n```\n')], ['a', 'b', 'b-1'])
})

t.test('names only existing pages in messages and comments of the code', async (t) => {
  const sources = [
    ...below('lib', '.ts'),
    ...below('scripts', '.ts'),
    ...below('examples', '.ts').filter((file) => !file.includes('node_modules'))
  ]
  const missing = sources.flatMap((source) =>
    [...textOf(source).matchAll(/\bdocs\/[\w/-]+\.md(?:#([\w-]+))?/g)].flatMap(([name, anchor]) => {
      const file = name.replace(/#.*/, '')
      return existsSync(join(root, file)) && (anchor === undefined || hasAnchor(file, anchor))
        ? []
        : [`${source}: ${name}`]
    })
  )
  t.strictSame(missing, [])
})

t.test('lists every page once in the side bar of the site', async (t) => {
  const pages = groups(join(root, 'docs')).flatMap(({ pages }) => pages)
  t.strictSame(
    pages.toSorted(),
    below('docs', '.md')
      .map((file) => relative('docs', file))
      .toSorted()
  )
  t.strictSame(pages.slice(0, 3), ['README.md', 'getting-started.md', 'concepts.md'])
  t.strictSame(['README.md', 'adr/README.md', 'guides/state.md'].map(urlOf), ['/', '/adr/', '/guides/state'])
})
