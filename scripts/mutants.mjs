// Are the tests of a change enough? Changes one token of the library at a time, drawn at random by a seed, and runs the
// tests on each.
//   node scripts/mutants.mjs --seed 27 --count 50                         by the tests that `npm run check` chooses
//   node scripts/mutants.mjs --seed 27 --count 50 --of test               by these, then by all of `npm test`
//   node scripts/mutants.mjs --seed 3 --count 60 lib/records lib/adapters     only files below these
//   node scripts/mutants.mjs --since yesterday                            only files that changed since
// `--from` skips the first ones of a draw, `--list` only names them. It works on a copy of what Git has in its index.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import ts from 'typescript-tap'

const { SyntaxKind } = ts
const root = fileURLToPath(new URL('..', import.meta.url))
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: '27' },
    count: { type: 'string', default: '50' },
    from: { type: 'string', default: '0' },
    of: { type: 'string', default: 'check' },
    list: { type: 'boolean', default: false },
    since: { type: 'string' }
  }
})
const WANTED = 0.9
/** Data, which has tests of its own kind. */
const DATA = /^lib\/(?:texts\/|pages\/texts\/|mail\/texts\/|accounts\/common-passwords)/
const OTHER = {
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '&&': '||',
  '||': '&&',
  '??': '&&',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*'
}

const below = positionals.length > 0 ? positionals : ['lib']
const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n')
const changed =
  values.since === undefined ? undefined : git('log', `--since=${values.since}`, '--format=', '--name-only')
const files = git('ls-files', ...below)
  .filter((file) => file.endsWith('.ts') && !DATA.test(file))
  .filter((file) => changed === undefined || changed.includes(file))
const points = files.flatMap(pointsOf)
if (points.length === 0) {
  console.log('nothing has changed')
  process.exit()
}
const random = randomOf(Number(values.seed))
const drawn = Array.from({ length: Number(values.count) }, () => points[Math.floor(random() * points.length)])
console.log(`seed ${values.seed}: ${drawn.length} of ${points.length} mutants in ${files.length} files`)

const copy = mkdtempSync(join(tmpdir(), 'fastify-authority-mutants-'))
execFileSync('git', ['checkout-index', '--all', `--prefix=${copy}/`], { cwd: root })
symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
const [sound, failing] = [new Set(), []]
let [found, tried] = [0, 0]
for (const [index, mutant] of drawn.entries()) {
  if (index < Number(values.from)) continue
  const { file, line, before, after } = mutant
  const name = `${index} ${file}:${line} ${before} -> ${after === '' ? 'nothing' : after}`
  if (values.list) {
    console.log(name)
    continue
  }
  const began = performance.now()
  const by = tryOut(mutant)
  tried++
  if (by !== undefined) found++
  const took = `${((performance.now() - began) / 1000).toFixed(0)} s`
  console.log(by === undefined ? `MISSED ${name} (${took})` : `found ${name} (${took}, ${by})`)
}
rmSync(copy, { recursive: true, force: true })
console.log(`${found} of ${tried} found`)
if (found < tried * WANTED) process.exitCode = 1

/** The test that found it. */
function tryOut({ file, text, start, before, after }) {
  const place = join(copy, file)
  for (;;) {
    writeFileSync(place, text.slice(0, start) + after + text.slice(start + before.length))
    const by =
      run('scripts/check.mjs', '--bail', file, ...failing.flatMap((test) => ['--skip', test])) ??
      (values.of === 'test' ? run('scripts/run-tests.mjs', '--bail') : undefined)
    writeFileSync(place, text)
    if (by === undefined || sound.has(by)) return by
    // A test that fails without a mutant says nothing.
    if (run('scripts/run-tests.mjs', by) === undefined) sound.add(by)
    else failing.push(by)
    if (sound.has(by)) return by
    console.log(`${by} fails without a mutant`)
  }
}

/** The first test that fails. */
function run(...command) {
  const { status, stdout } = spawnSync(process.execPath, command, {
    cwd: copy,
    env: { ...process.env, TEST_TIMEOUT: '120' },
    encoding: 'utf8',
    maxBuffer: 1e9
  })
  return status === 0 ? undefined : (/^not ok \d+ - (\S+)/m.exec(stdout)?.[1] ?? 'no test')
}

/** A stack that is left out saves time, and the numbers of a table of words are there for the compiler. */
function isWithoutEffect(node) {
  return (
    (ts.isPropertyAssignment(node) && node.name.text === 'withoutStack') ||
    (ts.isCallExpression(node) && node.expression.text === 'words')
  )
}

function pointsOf(file) {
  const text = readFileSync(join(root, file), 'utf8')
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const found = []
  const add = (node, before, after) => {
    const start = node.getStart(source)
    found.push({ file, text, start, line: source.getLineAndCharacterOfPosition(start).line + 1, before, after })
  }
  const visit = (node) => {
    if (isWithoutEffect(node)) return
    if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return
    if (ts.isBinaryExpression(node)) {
      const before = node.operatorToken.getText(source)
      // Texts are put together with the sign that adds.
      const isText = before === '+' && [node.left, node.right].some((side) => /['"`]/.test(side.getText(source)))
      if (before in OTHER && !isText) add(node.operatorToken, before, OTHER[before])
    } else if (ts.isPrefixUnaryExpression(node) && node.operator === SyntaxKind.ExclamationToken) add(node, '!', '')
    else if (node.kind === SyntaxKind.TrueKeyword) add(node, 'true', 'false')
    else if (node.kind === SyntaxKind.FalseKeyword) add(node, 'false', 'true')
    else if (ts.isNumericLiteral(node))
      add(node, node.getText(source), String(Number(node.text.replaceAll('_', '')) + 1))
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

/** mulberry32. */
function randomOf(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
