/** The largest distance of a name from the suggested one. */
const MOST_SLIPS = 2
/** The shared prefix that also makes a suggestion, in letters. */
const LEAST_SHARED = 4

/** The most similar name, or `null`. Ignores case, hyphens and underscores. */
export function likeliest(name: string, among: readonly string[]): string | null {
  const given = plain(name)
  const [best] = among
    .map((known) => ({ known, slips: slipsBetween(given, plain(known)) }))
    .filter(({ known, slips }) => slips <= MOST_SLIPS || share(given, plain(known)))
    .sort((one, other) => one.slips - other.slips)
  return best?.known ?? null
}

const plain = (name: string): string => name.toLowerCase().replaceAll(/[_-]/g, '')

function share(one: string, other: string): boolean {
  const least = Math.min(one.length, other.length)
  return least >= LEAST_SHARED && (one.includes(other) || other.includes(one) || one.slice(0, 4) === other.slice(0, 4))
}

/** The Levenshtein distance, row by row. */
function slipsBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (const [at, letter] of [...one].entries()) {
    const next = [at + 1]
    for (const [index, its] of [...other].entries())
      next.push(
        Math.min((next[index] ?? 0) + 1, (row[index + 1] ?? 0) + 1, (row[index] ?? 0) + (letter === its ? 0 : 1))
      )
    row = next
  }
  return row.at(-1) ?? 0
}
