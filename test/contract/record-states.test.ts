/** The state and second factors over records: every variant in memory, and lost answers on each store. */
import { runVariants } from './support/record-variants.ts'

await runVariants((place, variant) => place === 'memory' || (place !== 'Redis Cluster' && variant === 'lost answers'))
