// Moves files and rewrites each import and each path in text that names them:
// `node scripts/move.mjs FROM TO [FROM TO …]`, paths from the root of the repository. Temporary: it is deleted with the
// last move of a feature.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, posix } from 'node:path'

const git = (...args) => execFileSync('git', args, { encoding: 'utf8' })
const given = process.argv.slice(2)
const moves = new Map(given.flatMap((from, index) => (index % 2 === 0 ? [[from, given[index + 1]]] : [])))
const before = new Map([...moves].map(([from, to]) => [to, from]))
for (const [from, to] of moves) {
  mkdirSync(dirname(to), { recursive: true })
  git('mv', from, to)
}

/** A relative specifier of `file`, as it is after the moves. */
function specifierIn(file, specifier) {
  const [path, rest] = [specifier.replace(/[?#].*$/, ''), /[?#].*$/.exec(specifier)?.[0] ?? '']
  const was = posix.join(dirname(before.get(file) ?? file), path)
  const target = moves.get(was) ?? was
  if (target === was && !before.has(file)) return specifier
  const relative = posix.relative(dirname(file), target)
  const slash = path.endsWith('/') && !relative.endsWith('/') ? '/' : ''
  return `${relative.startsWith('.') ? '' : './'}${relative}${slash}${rest}`
}

const RELATIVE = /(['"`])(\.\.?\/[^'"`\s${}]*)\1/g
/** A path in text is preceded by `lib/`, `test/` or a quote, so that no longer path is taken for it. */
const inText = [...moves].flatMap(([from, to]) => {
  const escaped = (text) => text.replaceAll(/[.\\/]/g, String.raw`\$&`)
  const [a, b] = [from.replace(/^lib\//, ''), to.replace(/^lib\//, '')]
  return [
    [new RegExp(String.raw`(?<![\w./-])${escaped(from)}(?![\w-])`, 'g'), to],
    ...(a === from ? [] : [[new RegExp(`(?<=['"\`])${escaped(a)}(?=['"\`])`, 'g'), b]])
  ]
})

const files = git('ls-files', 'lib', 'test', 'scripts', 'bench', 'docs', 'examples', '*.md', '*.json', '*.mjs', '.ci')
for (const file of new Set(files.trim().split('\n'))) {
  if (file.startsWith('CHANGELOG') || !/\.(?:[cm]?[jt]sx?|md|json)$/.test(file)) continue
  const source = readFileSync(file, 'utf8')
  let text = source
  if (/\.[cm]?[jt]sx?$/.test(file))
    text = text.replaceAll(RELATIVE, (_, quote, path) => quote + specifierIn(file, path) + quote)
  for (const [pattern, to] of inText) text = text.replaceAll(pattern, to)
  if (text !== source) writeFileSync(file, text)
}

for (const from of moves.keys()) {
  const name = posix.basename(from).replace(/\.\w+$/, '')
  const left = execFileSync('sh', ['-c', `git grep -nF -- '${posix.basename(dirname(from))}/${name}' || true`], {
    encoding: 'utf8'
  })
  if (left !== '') console.log(`Paths that may still mean ${from}:\n${left}`)
}
