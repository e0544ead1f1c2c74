/** Saves results of benchmarks in bench/results, and makes docs/performance.md of them. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus, platform, release, totalmem } from 'node:os'
import { join } from 'node:path'
import { drawing } from './drawing.ts'
import { type Report, show, type Table } from './report.ts'
import { SECTIONS } from './sections.ts'

/** A result with the machine and the package versions of its run. */
export interface Kept extends Report {
  machine: string
  versions: string
}

const root = process.cwd()
const results = join(root, 'bench/results')
const page = join(root, 'docs/performance.md')

/** Packages that are measured or that a measured server uses. */
const PACKAGES = [
  'fastify',
  '@fastify/jwt',
  '@fastify/rate-limit',
  'argon2',
  '@node-rs/argon2',
  'ioredis',
  'better-auth',
  'oidc-provider',
  'rate-limiter-flexible',
  'express',
  'express-oauth2-jwt-bearer'
]

export function saveReport(name: string, report: Report): void {
  const kept: Kept = { ...report, machine: machine(), versions: versions() }
  mkdirSync(results, { recursive: true })
  writeFileSync(join(results, `${name}.json`), `${JSON.stringify(kept, null, 1)}\n`)
}

export function writePage(): void {
  const kept = readKept(results)
  mkdirSync(join(root, 'docs/performance'), { recursive: true })
  for (const report of kept.values()) {
    for (const chart of report.charts ?? [])
      writeFileSync(join(root, 'docs/performance', `${chart.name}.svg`), drawing(chart))
  }
  writeFileSync(page, performancePage(kept))
}

export function readKept(directory: string): Map<string, Kept> {
  if (!existsSync(directory)) return new Map()
  return new Map(
    readdirSync(directory)
      .sort()
      .map((file) => [file.replace('.json', ''), JSON.parse(readFileSync(join(directory, file), 'utf8')) as Kept])
  )
}

/** The whole page. A test compares it with docs/performance.md. */
export function performancePage(kept: ReadonlyMap<string, Kept>): string {
  const [first] = kept.values()
  const sections = Object.entries(SECTIONS).flatMap(([name, { heading, before, after }]) => {
    const report = kept.get(name)
    if (report === undefined) return []
    return [
      `## ${heading}`,
      before,
      `\`npm run bench -- ${name}\`. ${report.method}`,
      ...report.tables.map(markdownTable),
      ...(report.charts ?? []).map(({ name: file, title }) => `![${title}](performance/${file}.svg)`),
      after
    ]
  })
  const head = [
    '# Performance',
    '<!-- Made by `npm run bench -- --save`; the text stands in bench/sections.ts. -->',
    'The cost of the plugin, compared with a bare server on the same machine and with other packages. Each ratio ' +
      'compares subjects that took turns in the same run. `npm run bench` repeats all measurements, ' +
      '`npm run bench -- NAME` one of them. Compare by CPU per request: requests per second also depend on the ' +
      'other load of the machine.',
    first === undefined ? '' : `Measured on ${first.machine}. Versions: ${first.versions}.`
  ]
  return `${[...head, ...sections].filter((part) => part !== '').join('\n\n')}\n`
}

function markdownTable({ title, columns, rows }: Table): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  const text = [
    line(columns),
    line(columns.map((_column, index) => (index === 0 ? '---' : '---:'))),
    ...rows.map((row) => line(row.map((cell) => show(cell).replaceAll('|', '\\|'))))
  ].join('\n')
  return title === undefined ? text : `${title}:\n\n${text}`
}

function machine(): string {
  const [cpu] = cpus()
  return (
    `${cpus().length} cores of ${cpu?.model.trim() ?? 'unknown'}, ` +
    `${Math.round(totalmem() / 2 ** 30)} GiB, ${platform()} ${release().split('-')[0]}`
  )
}

function versions(): string {
  const require = createRequire(join(root, 'package.json'))
  const installed = PACKAGES.map((name) => {
    const { version } = JSON.parse(
      readFileSync(
        require.resolve
          .paths(name)
          ?.map((path) => join(path, name, 'package.json'))
          .find(existsSync) ?? '',
        'utf8'
      )
    ) as { version: string }
    return `${name} ${version}`
  })
  return [`Node.js ${process.version.slice(1)}`, ...installed].join(', ')
}
