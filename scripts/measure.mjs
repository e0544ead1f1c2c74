// Figures of the code. `npm run measure` reads the working tree, `npm run measure -- --at REF` a commit.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import ts from 'typescript-tap'

const { SyntaxKind } = ts
/** The adapters of state and factors with their rules. */
const STATE = /^lib\/(?:records|adapters\/(?:memory|sqlite|redis|postgres|sql))\//
/** What the adapters have besides: connections, outages, rights, migrations, user stores and attempt stores. */
const BESIDES = new RegExp(
  '/(?:(?:shared-)?connection|database|named-statements|server|factor-server|patience|outage|refusal|rights|' +
    'migrations|migration-steps|user-store|user-rows|identities|identity-rows|attempt-store|attempt-scripts)\\.ts$'
)
const TEXTS = new Set([
  SyntaxKind.StringLiteral,
  SyntaxKind.NoSubstitutionTemplateLiteral,
  SyntaxKind.TemplateHead,
  SyntaxKind.TemplateMiddle,
  SyntaxKind.TemplateTail
])
/** Lines that may be wide: data, and addresses. */
const MAY_BE_WIDE = /^lib\/(?:texts|pages\/texts|mail\/texts)\/|common-passwords/

const root = fileURLToPath(new URL('..', import.meta.url))
const { at } = parseArgs({ options: { at: { type: 'string' } } }).values
const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 1e9 })
const names = (at === undefined ? git('ls-files', 'lib') : git('ls-tree', '-r', '--name-only', at, 'lib'))
  .trim()
  .split('\n')
const sources = names.map((name) => [
  name,
  at === undefined ? readFileSync(join(root, name), 'utf8') : git('show', `${at}:${name}`)
])

const code = sources.filter(([name]) => name.endsWith('.ts'))
const state = code.filter(([name]) => STATE.test(name) && !BESIDES.test(name))
const wide = code
  .filter(([name]) => !MAY_BE_WIDE.test(name))
  .flatMap(([, text]) => text.split('\n').filter((line) => line.length > 120 && !line.includes('https://')))
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0)
const figures = {
  'tokens of the state and factor adapters with their rules': sum(state.map(([, text]) => tokensOf(text))),
  'words and signs of SQL and Lua in these': sum(state.map(([, text]) => statementsOf(text))),
  'files of these': state.length,
  'wide lines of lib': wide.length,
  'bytes of lib': sum(sources.map(([, text]) => Buffer.byteLength(text))),
  'files of lib': sources.length
}
for (const [name, figure] of Object.entries(figures)) console.log(`${String(figure).padStart(9)}  ${name}`)

/** Tokens without comments and texts. A template counts for the expressions in it. */
function tokensOf(text) {
  return leavesOf(text).filter(({ kind }) => !TEXTS.has(kind)).length
}

/** A rule in SQL or Lua is a text to TypeScript. A text is one where it looks so. */
function statementsOf(text) {
  const texts = leavesOf(text)
    .filter(({ kind }) => TEXTS.has(kind))
    .map((leaf) => leaf.getText())
    .filter((words) => /\n|SELECT|INSERT|UPDATE|redis\.call/.test(words))
  return sum(texts.map((words) => words.replace(/--.*$/gm, '').match(/[A-Za-z_][\w.]*|\d+|[^\s\w]/g)?.length ?? 0))
}

function leavesOf(text) {
  const leaves = []
  const visit = (node) => {
    const children = node.getChildren()
    if (children.length === 0 && node.kind !== SyntaxKind.EndOfFileToken && node.getWidth() > 0) leaves.push(node)
    for (const child of children) if (!ts.isJSDoc(child)) visit(child)
  }
  visit(ts.createSourceFile('file.ts', text, ts.ScriptTarget.Latest, true))
  return leaves
}
