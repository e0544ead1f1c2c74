/** docs/performance.md matches the saved results of the benchmarks. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from '../support/tap.ts'
import { drawing } from '../../bench/drawing.ts'
import { performancePage, readKept } from '../../bench/page.ts'
import { SECTIONS } from '../../bench/sections.ts'

const pathOf = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const kept = readKept(pathOf('bench/results'))

t.test('matches the page to the saved results of `npm run bench -- --save`', async (t) => {
  t.equal(readFileSync(pathOf('docs/performance.md'), 'utf8'), performancePage(kept))
})

t.test('matches the charts to the saved results', async (t) => {
  const charts = [...kept.values()].flatMap((report) => report.charts ?? [])
  t.ok(charts.length > 0)
  for (const chart of charts)
    t.equal(readFileSync(pathOf(`docs/performance/${chart.name}.svg`), 'utf8'), drawing(chart), chart.name)
})

t.test('has a section and figures for every benchmark', async (t) => {
  const run = readFileSync(pathOf('bench/run.ts'), 'utf8')
  const names =
    /const HTTP[^{]*\{([^}]*)\}[\s\S]*?const OTHERS[^{]*\{([^}]*)\}/
      .exec(run)
      ?.slice(1)
      .flatMap((list) => list.split(',').map((entry) => entry.split(':')[0]?.trim().replaceAll("'", '') ?? '')) ?? []
  t.ok(names.length > 3)
  t.same(Object.keys(SECTIONS).sort(), names.sort())
  t.same([...kept.keys()].sort(), names)
})

t.test('contains no figure of a quick run', async (t) => {
  for (const [name, { method }] of kept) t.notMatch(method, /^1 round/, name)
})
