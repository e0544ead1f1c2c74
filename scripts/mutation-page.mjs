// Writes the table of docs/mutation.md from the report of the last `npm run test:mutation`.
import { readFileSync, writeFileSync } from 'node:fs'

const report = JSON.parse(readFileSync(new URL('../.stryker/report.json', import.meta.url), 'utf8'))
const page = new URL('../docs/mutation.md', import.meta.url)

const rows = Object.entries(report.files).map(([file, { mutants }]) => {
  const of = (...statuses) => mutants.filter(({ status }) => statuses.includes(status)).length
  return { file, found: of('Killed', 'Timeout'), missed: of('Survived', 'NoCoverage') }
}).toSorted((a, b) => a.file < b.file ? -1 : 1)
const together = rows.reduce((sum, { found, missed }) => ({ file: '**together**', found: sum.found + found, missed: sum.missed + missed }), { found: 0, missed: 0 })

const table = [
  '| file | changes | noticed | score |',
  '| --- | --- | --- | --- |',
  ...[...rows, together].map(({ file, found, missed }) => `| ${file.startsWith('*') ? file : `\`${file}\``} | ${found + missed} | ${found} | ${(100 * found / (found + missed || 1)).toFixed(1)} % |`)
]
const day = new Date().toISOString().slice(0, 10)
writeFileSync(page, readFileSync(page, 'utf8').replace(/(<!-- results: begin -->\n)[^]*(<!-- results: end -->)/, (_, begin, end) => `${begin}Run on ${day}.\n\n${table.join('\n')}\n${end}`))
