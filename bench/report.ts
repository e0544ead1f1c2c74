/** The results of a benchmark, and how a terminal shows them. `docs/performance.md` is made of the same. */

export interface Report {
  title: string
  /** The method in a sentence or two: rounds, concurrency, the meaning of CPU here. */
  method: string
  tables: Table[]
  charts?: Chart[]
}

export interface Table {
  title?: string
  columns: string[]
  rows: Cell[][]
}

export type Cell = string | number

/** Lines over an x axis. */
export interface Chart {
  /** The name of the picture's file. */
  name: string
  title: string
  x: Axis
  y: Axis
  lines: Array<{ name: string; points: Array<[x: number, y: number]> }>
}

export interface Axis {
  label: string
  logarithmic?: boolean
}

export interface BenchOptions {
  /** A moment of each, so that CI sees that it still runs. Its figures mean nothing. */
  quick: boolean
  /** The arguments after the name on the command line. */
  args: readonly string[]
}

export type Bench = (options: BenchOptions) => Promise<Report>

/** The middle one; of an even number the upper of both. */
export function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN
}

/** The smallest value that this share (0 to 1) of all is not above. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right)
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
}

/** A ratio, a goal: two decimals; times and counts as many as mean something. */
export function show(cell: Cell): string {
  if (typeof cell === 'string') return cell
  if (!Number.isFinite(cell)) return '–'
  if (Number.isInteger(cell)) return String(cell)
  return cell.toFixed(Math.abs(cell) < 10 ? 2 : Math.abs(cell) < 100 ? 1 : 0)
}

export function terminal({ title, method, tables }: Report): string {
  return [`${title}\n${method}`, ...tables.map(tableText)].join('\n\n')
}

function tableText({ title, columns, rows }: Table): string {
  const lines = [columns, ...rows.map((row) => row.map(show))]
  const widths = columns.map((_column, index) => Math.max(...lines.map((line) => (line[index] ?? '').length)))
  const text = lines
    .map((line) =>
      line
        .map((cell, index) => (index === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[index] ?? 0)))
        .join('  ')
    )
    .join('\n')
  return title === undefined ? text : `${title}\n${text}`
}
