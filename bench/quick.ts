/** Under `--quick` a benchmark does as little as shows that it runs. Its processes hear of it by the environment. */
const QUICK = 'BENCH_QUICK'

export function beQuick(): void {
  process.env[QUICK] = '1'
}

export const isQuick = (): boolean => process.env[QUICK] === '1'

/** The given count; under `--quick` at most a hundred. */
export const some = (count: number): number => (isQuick() ? Math.min(count, 100) : count)
