/**
 * The state and second factors over records: every variant in memory, and lost answers in SQLite. The properties of
 * histories lose answers on each store too, and record-matrix.test.ts has all of them at night.
 */
import { runVariants } from './support/record-variants.ts'

await runVariants((place, variant) => place === 'memory' || (place === 'SQLite' && variant === 'lost answers'))
