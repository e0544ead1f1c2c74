/**
 * The state and second factors over records: every variant in memory, and lost answers in SQLite. The history
 * properties also lose answers on each store, and record-matrix.test.ts runs all variants at night.
 */
import { runVariants } from './support/record-variants.ts'

await runVariants((place, variant) => place === 'memory' || (place === 'SQLite' && variant === 'lost answers'))
