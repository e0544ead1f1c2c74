/** The rest of record-states.test.ts: every other variant on each store. */
import { runVariants } from './support/record-variants.ts'

await runVariants((place, variant) => place !== 'memory' && !(place === 'SQLite' && variant === 'lost answers'))
