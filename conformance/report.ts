import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Suite } from './build.ts'
import type { Plan } from './plans.ts'
import type { ModuleResult } from './run-plan.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

export interface PlanResult {
  plan: Plan
  modules: ModuleResult[]
}

const RESULTS = ['passed', 'review', 'skipped', 'warning', 'failed'] as const
/** A run writes the text between these lines of the page. */
const [BEGIN, END] = ['<!-- results: begin -->', '<!-- results: end -->']

export function summary(results: PlanResult[]): string {
  return counts(results.flatMap(({ modules }) => modules))
    .map((count, index) => `${count} ${RESULTS[index]}`)
    .join(', ')
}

/** Writes the date, the versions and the tables into docs/conformance.md and docs/conformance-results.md. */
export function updatePages(docs: string, suite: Suite, results: PlanResult[]): void {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  const date = new Date().toISOString().slice(0, 10)
  const run =
    `Run on ${date}: version ${suite.version} of the suite (commit \`${suite.commit}\`) ` +
    `against version ${version} of fastify-authority and what [has changed ` +
    'since](../CHANGELOG.md).'
  const provider = results.filter(({ plan }) => plan.play === undefined)
  const relyingParty = results.filter(({ plan }) => plan.play !== undefined)
  replaceResults(join(docs, 'conformance.md'), [run, planTable(results)])
  replaceResults(join(docs, 'conformance-results.md'), [
    run,
    'The library as the provider:',
    moduleTable(provider),
    'The library as a relying party, with what it did:',
    moduleTable(relyingParty)
  ])
}

function replaceResults(file: string, parts: string[]): void {
  const page = readFileSync(file, 'utf8')
  if (!page.includes(BEGIN) || !page.includes(END)) throw new Error(`${file} has no lines ${BEGIN} and ${END}`)
  const [before, after] = [page.slice(0, page.indexOf(BEGIN) + BEGIN.length), page.slice(page.indexOf(END))]
  writeFileSync(file, `${before}\n${parts.join('\n\n')}\n${after}`)
}

function planTable(results: PlanResult[]): string {
  const all = { title: 'Together', modules: results.flatMap(({ modules }) => modules) }
  const rows = [...results.map(({ plan, modules }) => ({ title: plan.title, modules })), all]
  return table(
    ['Plan', 'Modules', ...RESULTS],
    rows.map(({ title, modules }) => [title, modules.length, ...counts(modules)])
  )
}

/** A module has a row, and a plan a column: Basic and Form Post have nearly the same modules. */
function moduleTable(results: PlanResult[]): string {
  const names = [...new Set(results.flatMap(({ modules }) => modules.map(({ name }) => name)))]
  const cell = (name: string, { modules }: PlanResult): string =>
    modules
      .filter((module) => module.name === name)
      .map(({ result, happened }) => [result, ...new Set(happened)].join(', '))
      .join('; ')
  return table(
    ['Module', ...results.map(({ plan }) => plan.title)],
    names.map((name) => [`\`${name}\``, ...results.map((result) => cell(name, result))])
  )
}

function counts(modules: ModuleResult[]): number[] {
  return RESULTS.map((result) => modules.filter((module) => module.result === result).length)
}

function table(heads: string[], rows: Array<Array<string | number>>): string {
  return [heads, heads.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
