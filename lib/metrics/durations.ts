import { tracingChannel } from 'node:diagnostics_channel'
import { TRACES, type TraceContext, type TraceName } from '../ports/tracing.ts'
import type { Labels, MetricName } from './table.ts'

type Count = (name: MetricName, labels?: Labels, value?: number) => void

/** The histogram of each kind of work. */
const DURATIONS: { [Name in TraceName]: (context: TraceContext<Name>) => [MetricName, Labels] } = {
  hash: () => ['authority.password_hash.duration', {}],
  hash_wait: () => ['authority.password_hash.wait', {}],
  store: ({ store, operation }) => ['authority.store.duration', { store, operation }],
  token: ({ grantType }) => ['authority.token.duration', { grant_type: grantType }]
}

/** Measures the work of every service in this process, by the machine's own clock. Returns a function that stops it. */
export function measureDurations(count: Count): () => void {
  const undo = (Object.keys(TRACES) as TraceName[]).map((name) => {
    const channel = tracingChannel<unknown, TraceContext>(TRACES[name])
    const began = new WeakMap<TraceContext, number>()
    const describe = DURATIONS[name] as (context: TraceContext) => [MetricName, Labels]
    const handlers = {
      start(context: TraceContext) {
        began.set(context, performance.now())
      },
      end() {},
      asyncStart() {},
      asyncEnd(context: TraceContext) {
        const beganAt = began.get(context)
        // The work started before the measurement.
        if (beganAt === undefined) return
        const [metric, labels] = describe(context)
        count(
          metric,
          { ...labels, outcome: context.error === undefined ? 'success' : 'failure' },
          (performance.now() - beganAt) / 1000
        )
      },
      error() {}
    }
    channel.subscribe(handlers)
    return () => {
      channel.unsubscribe(handlers)
    }
  })
  return () => {
    for (const end of undo) end()
  }
}
