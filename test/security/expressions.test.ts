/**
 * Every regular expression of the library and the examples takes linear time, by an analysis of each: recheck turns an expression into
 * an automaton, or looks for a slow text by trial where the automaton would be too large. What it found is kept under
 * node_modules/.cache by the text of the expression, so that a second run asks for new expressions only.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { check } from 'recheck'
import t from 'tap'
import { type Expression, expressionsBelow, expressionsOf } from './support/expressions.ts'

const CACHE = new URL('../../node_modules/.cache/expressions/', import.meta.url)
/** Of one expression, on a machine that does much beside it. */
const WITHIN_MS = 60_000
const { version } = createRequire(import.meta.url)('recheck/package.json') as { version: string }

/** `null` for an expression that takes linear time, else what was found: a complexity, or that the analysis came to no end. */
async function slowness ({ source, flags }: Expression): Promise<string | null> {
  const file = new URL(createHash('sha256').update(JSON.stringify([version, source, flags])).digest('hex'), CACHE)
  // Only good news is kept: an analysis that came to no end on a busy machine is tried again.
  if (existsSync(file)) return null
  const found = await check(source, flags, { timeout: WITHIN_MS })
  if (found.status !== 'safe') return found.status === 'vulnerable' ? found.complexity.summary : `no answer: ${found.error.kind}`
  mkdirSync(CACHE, { recursive: true })
  writeFileSync(file, source)
  return null
}

// covers ASVS-1.3.12
t.test('DOS-ReDoS every expression takes linear time', { timeout: 120_000 }, async (t) => {
  const expressions = ['lib', 'examples'].flatMap((directory) => expressionsBelow(new URL(`../../${directory}/`, import.meta.url)))
  t.ok(expressions.length > 100, `${expressions.length} expressions`)
  const slow: string[] = []
  for (const expression of expressions) {
    const reason = await slowness(expression)
    if (reason !== null) slow.push(`${expression.at}: /${expression.source}/${expression.flags} ${reason}`)
  }
  t.same(slow, [])
})

t.test('a slow expression is told', async (t) => {
  for (const [source, degree] of [['^(a+)+$', /exponential/], ['=+$', /2nd degree/], ['^(?:a|a)*b', /exponential/], ['\\s+x', /2nd degree/]] as const) {
    t.match(await slowness({ source, flags: '', at: '' }), degree, source)
  }
})

t.test('an expression is found in whatever form it has', async (t) => {
  const found = (text: string): Array<[string, string]> => expressionsOf('file.ts', text).map(({ source, flags }) => [source, flags])
  t.same(found('const A = /[/]x/gi.test(text) // no /comment/'), [['[/]x', 'gi']])
  t.same(found("const N = '(\\\\d+)'; const B = new RegExp(`^${N},${N}$`, 'u')"), [['^(\\d+),(\\d+)$', 'u']])
  t.same(found("RegExp('a+')"), [['a+', '']])
  t.same(found('(part: string) => new RegExp(`^${part}:(.*)$`)'), [['^name:(.*)$', '']])
  t.throws(() => found('(text: string) => new RegExp(text)'), /file\.ts:1: .*can't be checked/)
})
