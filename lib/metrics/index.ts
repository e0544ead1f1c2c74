import type { AuthorityEventName, AuthorityEvents, Events } from '../events.ts'
import {
  meterGauge,
  meterSink,
  type OpenTelemetryMeter,
  type PrometheusClient,
  prometheusGauge,
  prometheusSink,
  type ReadGauge
} from './sinks.ts'
import { type Labels, type Metric, type MetricName, METRICS, SECOND_FACTOR_KINDS } from './table.ts'
import { tracingChannel } from 'node:diagnostics_channel'
import { type TraceContext, type TraceName, TRACES } from '../ports/tracing.ts'
import type { AuthenticationMethod } from '../protocol/authentication.ts'

export type { OpenTelemetryMeter, PrometheusClient, PrometheusOptions } from './sinks.ts'

/**
 * The libraries to report to: prom-client, OpenTelemetry or both. `registry`: the registry of prom-client. Default: the
 * global one.
 */
export interface MetricsOptions {
  prometheus?: PrometheusClient | undefined
  registry?: object | undefined
  meter?: OpenTelemetryMeter | undefined
}

/** The part of `app.authority` that the metrics use. */
export interface MeasuredAuthority extends Pick<Events, 'on' | 'off'> {
  health(): Promise<{
    state: 'up' | 'down'
    counters: 'up' | 'down' | 'off'
    keyAges: Record<string, number>
    passwords: { running: number; waiting: number }
  }>
}

type Count = (name: MetricName, labels?: Labels, value?: number) => void

/** How each event changes the metrics. No label contains a user, an address, a username or a client. */
const COUNTED: { [Name in AuthorityEventName]: (event: AuthorityEvents[Name], count: Count) => void } = {
  authenticated({ methods }, count) {
    count('authority.authentication', { outcome: 'success' })
    for (const method of methods.slice(1) as AuthenticationMethod[])
      count('authority.second_factor', { outcome: 'passed', kind: SECOND_FACTOR_KINDS[method] })
  },
  login_failed: ({ reason }, count) => {
    count('authority.authentication', { outcome: 'failure', 'error.type': reason })
  },
  second_factor_required: (_event, count) => {
    count('authority.second_factor', { outcome: 'required', kind: 'none' })
  },
  second_factor_failed: ({ kind }, count) => {
    count('authority.second_factor', { outcome: 'failed', kind })
  },
  enrolment_required: () => {},
  enrolment_link_made: () => {},
  enrolment_link_used: () => {},
  device_authorized: () => {},
  factor_added: () => {},
  factor_removed: () => {},
  factor_disabled: () => {},
  factor_replayed: () => {},
  passkey_counter_regressed: () => {},
  recovery_code_used: () => {},
  two_step_changed: () => {},
  recovery_codes_replaced: () => {},
  device_remembered: () => {},
  devices_forgotten: () => {},
  new_sign_in: (_event, count) => {
    count('authority.new_sign_in')
  },
  step_up: () => {},
  client_authentication_failed: ({ reason }, count) => {
    count('authority.client_authentication.failed', { 'error.type': reason })
  },
  connection_failed: ({ reason }, count) => {
    count('authority.connection.failed', { 'error.type': reason })
  },
  link_required: (_event, count) => {
    count('authority.connection.link_required')
  },
  api_key_created: () => {},
  api_key_revoked: () => {},
  registered: (_event, count) => {
    count('authority.account.registered')
  },
  token_issued: ({ grantType }, count) => {
    count('authority.token.issued', { grant_type: grantType })
  },
  token_refreshed: ({ rotated }, count) => {
    count('authority.token.refreshed', { rotated: String(rotated) })
  },
  refresh_token_reused: (_event, count) => {
    count('authority.refresh_token.reused')
  },
  password_reset_requested: (_event, count) => {
    count('authority.password_reset.requested')
  },
  password_changed: ({ by }, count) => {
    count('authority.password.changed', { by })
  },
  email_change_requested: (_event, count) => {
    count('authority.email.change_requested')
  },
  email_changed: (_event, count) => {
    count('authority.email.changed')
  },
  profile_changed: (_event, count) => {
    count('authority.profile.changed')
  },
  identity_linked: ({ by }, count) => {
    count('authority.identity.linked', { by })
  },
  identity_unlinked: ({ by }, count) => {
    count('authority.identity.unlinked', { by })
  },
  user_created: () => {},
  user_updated: () => {},
  user_disabled: () => {},
  user_enabled: () => {},
  user_invited: () => {},
  impersonated: () => {},
  invitation_accepted: () => {},
  password_reset_required: () => {},
  account_removed: (_event, count) => {
    count('authority.account.removed')
  },
  email_verified: (_event, count) => {
    count('authority.email.verified')
  },
  logged_out: ({ by, sids }, count) => {
    count('authority.session.ended', { by }, sids.length)
  },
  consent_granted: (_event, count) => {
    count('authority.consent.granted')
  },
  consent_revoked: ({ by }, count) => {
    count('authority.consent.revoked', { by })
  },
  message_sent: ({ kind, attempts }, count) => {
    message({ kind, outcome: 'sent' }, attempts, count)
  },
  message_failed: ({ kind, attempts }, count) => {
    message({ kind, outcome: 'failed' }, attempts, count)
  },
  key_created: ({ alg }, count) => {
    count('authority.key.created', { alg })
  },
  key_retired: ({ alg }, count) => {
    count('authority.key.retired', { alg })
  },
  rate_limited: ({ rule }, count) => {
    count('authority.rate_limit.refused', { rule })
  },
  hash_queue_full: (_event, count) => {
    count('authority.password_hash.overloaded')
  },
  audit_degraded: () => {},
  store_degraded: ({ store }, count) => {
    count('authority.store.degraded', { store })
  }
}

function message(labels: Labels, attempts: number, count: Count): void {
  count('authority.message', labels)
  count('authority.message.attempts', labels, attempts)
}

/** Reads each gauge from `app.authority.health()`. Gauges that are read at the same time share one check. */
const GAUGES: Partial<
  Record<MetricName, (health: Awaited<ReturnType<MeasuredAuthority['health']>>) => Array<[Labels, number]>>
> = {
  'authority.password_hash.queue': ({ passwords: { running, waiting } }) => [
    [{ state: 'running' }, running],
    [{ state: 'waiting' }, waiting]
  ],
  'authority.store.available': ({ state, counters }) => [
    [{ store: 'state' }, Number(state === 'up')],
    ...(counters === 'off' ? [] : [[{ store: 'rate limits' }, Number(counters === 'up')] as [Labels, number]])
  ],
  'authority.key.age': ({ keyAges }) => Object.entries(keyAges).map(([alg, seconds]) => [{ alg }, seconds])
}

/**
 * Reports counters, durations and gauges. Labels have only listed values, so that attackers cannot create time series.
 * Returns a function that stops the reports. Durations cover every service in this process, so call `authorityMetrics`
 * once for each registry.
 * @example authorityMetrics(app.authority, { prometheus: await import('prom-client') })
 */
export function authorityMetrics(
  authority: MeasuredAuthority,
  { prometheus, registry, meter }: MetricsOptions
): () => void {
  const metrics = Object.entries(METRICS) as Array<[MetricName, Metric]>
  const byName = new Map(
    metrics
      .filter(([, { gauge }]) => gauge !== true)
      .map(
        ([name, metric]) =>
          [
            name,
            [
              ...(prometheus === undefined ? [] : [prometheusSink(name, metric, prometheus, registry)]),
              ...(meter === undefined ? [] : [meterSink(name, metric, meter)])
            ]
          ] as const
      )
  )
  const count: Count = (name, given = {}, value = 1) => {
    const labels = closed(name, given)
    for (const add of byName.get(name) ?? []) add(labels, value)
  }
  const gauges = metrics.flatMap(([name, metric]) => {
    const valuesOf = GAUGES[name]
    if (valuesOf === undefined) return []
    const read: ReadGauge = async () =>
      valuesOf(await authority.health()).map(([labels, value]) => [closed(name, labels), value])
    return [
      ...(prometheus === undefined ? [] : [prometheusGauge(name, metric, prometheus, registry, read)]),
      ...(meter === undefined ? [] : [meterGauge(name, metric, meter, read)])
    ]
  })
  const undo = (Object.keys(COUNTED) as AuthorityEventName[]).map((name) => {
    const tell = COUNTED[name] as (event: AuthorityEvents[AuthorityEventName], count: Count) => void
    const handler = (event: AuthorityEvents[AuthorityEventName]): void => {
      tell(event, count)
    }
    authority.on(name, handler)
    return () => {
      authority.off(name, handler)
    }
  })
  const durations = measureDurations(count)
  return () => {
    for (const end of [...undo, ...gauges, durations]) end()
  }
}

/** Replaces a label value outside of the metric's closed list by `other`. */
function closed(name: MetricName, given: Labels): Labels {
  const allowed: Metric['labels'] = METRICS[name].labels
  return Object.fromEntries(
    Object.entries(given).map(([label, text]) => [label, allowed[label]?.includes(text) === true ? text : 'other'])
  )
}

/** The histogram and labels of each traced operation. */
const DURATIONS: { [Name in TraceName]: (context: TraceContext<Name>) => [MetricName, Labels] } = {
  hash: () => ['authority.password_hash.duration', {}],
  hash_wait: () => ['authority.password_hash.wait', {}],
  store: ({ store, operation }) => ['authority.store.duration', { store, operation }],
  token: ({ grantType }) => ['authority.token.duration', { grant_type: grantType }]
}

/** Measures the traced operations of every service in this process. Returns a function that stops the measurement. */
function measureDurations(count: Count): () => void {
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
        // Skips an operation that started before the measurement.
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
