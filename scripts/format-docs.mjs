// Formats the TypeScript and JavaScript that Markdown pages print, as `oxfmt` formats the code itself.
//   node scripts/format-docs.mjs                    the README and all of docs
//   node scripts/format-docs.mjs --check [PAGE…]    only names the pages with a block that is not formatted, and fails
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const BLOCK = /^```(tsx?|jsx?|typescript|javascript)( \S+)?\n([^]*?)^```$/gm
const EXTENSIONS = { typescript: 'ts', javascript: 'js' }

const words = process.argv.slice(2)
const isCheck = words.includes('--check')
const given = words.filter((word) => word !== '--check')
const all = () => [
  join(root, 'README.md'),
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => join(root, 'docs', file))
]

const pages = given.length > 0 ? given : all()
const directory = mkdtempSync(join(tmpdir(), 'fastify-authority-docs-'))
process.once('exit', () => {
  rmSync(directory, { recursive: true, force: true })
})

/** Gives each block of a page with the file that the formatter reads, and puts in what `change` returns. */
function eachBlock(page, change) {
  let block = 0
  return readFileSync(page, 'utf8').replace(BLOCK, (whole, language, name = '', code) => {
    const file = join(directory, `${pages.indexOf(page)}-${block++}.${EXTENSIONS[language] ?? language}`)
    return change(file, { whole, code, opening: `\`\`\`${language}${name}` })
  })
}

for (const page of pages) {
  eachBlock(page, (file, { whole, code }) => {
    writeFileSync(file, code)
    return whole
  })
}
// One run for all blocks, because the start of the formatter takes longer than its work.
const { status, stderr } = spawnSync(
  process.execPath,
  [join(root, 'node_modules/oxfmt/bin/oxfmt'), '--config', join(root, '.oxfmtrc.json'), directory],
  { encoding: 'utf8' }
)
if (status !== 0) throw new Error(`oxfmt does not format a block: ${stderr}`)
for (const page of pages) {
  const text = eachBlock(page, (file, { opening }) => `${opening}\n${readFileSync(file, 'utf8')}\`\`\``)
  if (text === readFileSync(page, 'utf8')) continue
  if (!isCheck) writeFileSync(page, text)
  else {
    process.exitCode = 1
    console.error(`${page} has a block that is not formatted: npm run format`)
  }
}
