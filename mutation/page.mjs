// Writes the table of mutation/results.md from the report of the last `npm run test:mutation`. A file that was not changed
// in it keeps its row, with the day of its own run.
import { readFileSync, writeFileSync } from 'node:fs'

const report = JSON.parse(readFileSync(new URL('../.stryker/report.json', import.meta.url), 'utf8'))
const page = new URL('./results.md', import.meta.url)

const day = new Date().toISOString().slice(0, 10)
const text = readFileSync(page, 'utf8')
const before = [...text.matchAll(/^\| `(\S+)` \| (\d+) \| (\d+) \| [\d.]+ % \| (\S+) \|$/gm)].map(
  ([, file, all, found, on]) => ({ file, found: Number(found), missed: all - found, on })
)
const now = Object.entries(report.files).map(([file, { mutants }]) => {
  const of = (...statuses) => mutants.filter(({ status }) => statuses.includes(status)).length
  return { file, found: of('Killed', 'Timeout'), missed: of('Survived', 'NoCoverage'), on: day }
})
const rows = [...before.filter(({ file }) => now.every((row) => row.file !== file)), ...now].toSorted((a, b) =>
  a.file < b.file ? -1 : 1
)
const together = rows.reduce(
  (sum, { found, missed }) => ({ file: '**together**', found: sum.found + found, missed: sum.missed + missed, on: '' }),
  { found: 0, missed: 0 }
)

const table = [
  '| file | changes | noticed | score | run on |',
  '| --- | --- | --- | --- | --- |',
  ...[...rows, together].map(
    ({ file, found, missed, on }) =>
      `| ${file.startsWith('*') ? file : `\`${file}\``} | ${found + missed} | ${found} | ` +
      `${((100 * found) / (found + missed || 1)).toFixed(1)} % |${on === '' ? '' : ` ${on}`} |`
  )
]
writeFileSync(
  page,
  text.replace(
    /(<!-- results: begin -->\n)[^]*(<!-- results: end -->)/,
    (_, begin, end) => `${begin}${table.join('\n')}\n${end}`
  )
)
