/**
 * Every regular expression of the library and the examples takes linear time, by an analysis of each: recheck turns an
 * expression into an automaton, or searches for a slow text by trial if the automaton would be too large. The file
 * safe-expressions.json has the expressions found safe, so that a run checks only new ones: the analysis of all takes
 * minutes of a processor. `UPDATE=1` writes that file, and `ALL=1` checks all again, for another version of recheck.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { check } from 'recheck'
import t from '../support/tap.ts'
import { type Expression, expressionsBelow, expressionsOf } from './support/expressions.ts'

const SAFE = new URL('safe-expressions.json', import.meta.url)
/** Time limit for one expression on a busy machine. */
const WITHIN_MS = 60_000
const { version } = createRequire(import.meta.url)('recheck/package.json') as { version: string }
const recorded = JSON.parse(readFileSync(SAFE, 'utf8')) as { recheck: string; expressions: string[] }
const safe = new Set(recorded.recheck === version && process.env['ALL'] !== '1' ? recorded.expressions : [])

const nameOf = ({ source, flags }: Expression): string => `/${source}/${flags}`

/** `null` for an expression with linear time, else the finding: a complexity, or that the analysis did not finish. */
async function slowness(expression: Expression): Promise<string | null> {
  if (safe.has(nameOf(expression))) return null
  const found = await check(expression.source, expression.flags, { timeout: WITHIN_MS })
  if (found.status === 'safe') safe.add(nameOf(expression))
  else return found.status === 'vulnerable' ? found.complexity.summary : `no answer: ${found.error.kind}`
  return null
}

// covers ASVS-1.3.12
t.test(
  'DOS-ReDoS uses only regular expressions that match in linear time',
  { timeout: process.env['ALL'] === '1' ? 1_200_000 : 120_000 },
  async (t) => {
    const expressions = ['lib', 'examples'].flatMap((directory) =>
      expressionsBelow(new URL(`../../${directory}/`, import.meta.url))
    )
    t.ok(expressions.length > 100, `${expressions.length} expressions`)
    const slow: string[] = []
    for (const expression of expressions) {
      const reason = await slowness(expression)
      if (reason !== null) slow.push(`${expression.at}: ${nameOf(expression)} ${reason}`)
    }
    t.same(slow, [])
    const used = [...new Set(expressions.map(nameOf))].filter((name) => safe.has(name)).toSorted()
    if (process.env['UPDATE'] === '1')
      writeFileSync(SAFE, `${JSON.stringify({ recheck: version, expressions: used }, null, 2)}\n`)
  }
)

t.test('reports a regular expression that takes more than linear time', async (t) => {
  for (const [source, degree] of [
    ['^(a+)+$', /exponential/],
    ['=+$', /2nd degree/],
    ['^(?:a|a)*b', /exponential/],
    ['\\s+x', /2nd degree/]
  ] as const) {
    t.match(await slowness({ source, flags: '', at: '' }), degree, source)
  }
})

t.test('finds regular expressions in literals, constructors and functions', async (t) => {
  const found = (text: string): Array<[string, string]> =>
    expressionsOf('file.ts', text).map(({ source, flags }) => [source, flags])
  t.same(found('const A = /[/]x/gi.test(text) // no /comment/'), [['[/]x', 'gi']])
  t.same(found("const N = '(\\\\d+)'; const B = new RegExp(`^${N},${N}$`, 'u')"), [['^(\\d+),(\\d+)$', 'u']])
  t.same(found("RegExp('a+')"), [['a+', '']])
  t.same(found('(part: string) => new RegExp(`^${part}:(.*)$`)'), [['^name:(.*)$', '']])
  t.throws(() => found('(text: string) => new RegExp(text)'), /file\.ts:1: .*can't be checked/)
})
