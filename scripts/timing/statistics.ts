/** A generator with a seed, so that a run can be repeated. Uniform in [0, 1). (mulberry32) */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right)
  const middle = sorted.length / 2
  return sorted.length % 2 === 1
    ? (sorted[Math.floor(middle)] ?? Number.NaN)
    : ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2
}

/** Ranks from 1; equal values share their mean rank. */
function ranks(values: readonly number[]): number[] {
  const order = values.map((value, index) => ({ value, index })).toSorted((left, right) => left.value - right.value)
  const result: number[] = Array.from({ length: values.length }, () => 0)
  for (let start = 0; start < order.length;) {
    let end = start
    while (end < order.length && order[end]?.value === order[start]?.value) end += 1
    for (const { index } of order.slice(start, end)) result[index] = (start + 1 + end) / 2
    start = end
  }
  return result
}

/**
 * Wilcoxon signed-rank z of paired differences: normal with mean 0 where neither side is slower. Zeros are left out.
 */
export function signedRankZ(differences: readonly number[]): number {
  const nonZero = differences.filter((difference) => difference !== 0)
  const n = nonZero.length
  if (n === 0) return 0
  const rank = ranks(nonZero.map(Math.abs))
  const positive = nonZero.reduce((sum, difference, index) => sum + (difference > 0 ? (rank[index] ?? 0) : 0), 0)
  return (positive - (n * (n + 1)) / 4) / Math.sqrt((n * (n + 1) * (2 * n + 1)) / 24)
}

/**
 * How often a random measurement of `right` is slower than one of `left`: 0.5 where they can't be told apart.
 * (Mann-Whitney)
 */
export function areaUnderCurve(left: readonly number[], right: readonly number[]): number {
  const rank = ranks([...left, ...right])
  const sum = rank.slice(left.length).reduce((total, one) => total + one, 0)
  return (sum - (right.length * (right.length + 1)) / 2) / (left.length * right.length)
}

/** Bootstrap interval of the median: the middle 98 % of 1000 resamples. */
export function medianInterval(values: readonly number[], random: () => number): [number, number] {
  const medians = Array.from({ length: 1000 }, () =>
    median(values.map(() => values[Math.floor(random() * values.length)] ?? 0))
  ).toSorted((left, right) => left - right)
  return [medians[9] ?? Number.NaN, medians[989] ?? Number.NaN]
}
