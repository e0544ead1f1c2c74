/** What record-states.test.ts leaves out: every other variant on each store. */
import { runVariants } from './support/record-variants.ts'

await runVariants((place, variant) => place !== 'memory' && !(place === 'SQLite' && variant === 'lost answers'))
