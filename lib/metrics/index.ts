import type { AuthorityEventName, AuthorityEvents, ClientFailure, Events, LoginFailure } from '../events.ts'
import type { RuleName } from '../limits/rules.ts'
import type { MessageKind } from '../ports/message.ts'

/** What is used of prom-client 15: the module itself. */
export interface PrometheusClient {
  Counter: new (options: PrometheusOptions) => { inc(labels: Record<string, string>, value?: number): void }
  Histogram: new (options: PrometheusOptions & { buckets: number[] }) => { observe(labels: Record<string, string>, value: number): void }
}

export interface PrometheusOptions {
  name: string
  help: string
  labelNames: string[]
  registers?: never[]
}

/** What is used of a meter of @opentelemetry/api 1. */
export interface OpenTelemetryMeter {
  createCounter(name: string, options: { description: string }): { add(value: number, attributes: Record<string, string>): void }
  createHistogram(name: string, options: { description: string, advice: { explicitBucketBoundaries: number[] } }): { record(value: number, attributes: Record<string, string>): void }
}

/** What `authorityMetrics` counts with: one of them, or both. `registry`: of prom-client; left out, its default one. */
export interface MetricsOptions {
  prometheus?: PrometheusClient | undefined
  registry?: object | undefined
  meter?: OpenTelemetryMeter | undefined
}

type Labels = Record<string, string>
interface Metric {
  description: string
  /** Every label with all the values that it can have. What is none of them is counted as `other`. */
  labels: Readonly<Record<string, readonly string[]>>
  /** The upper bounds of a histogram. */
  buckets?: number[]
}

/** The compiler asks for every word of a union, so that a new one is not forgotten here. */
const words = <Word extends string>(all: Record<Word, 1>): readonly string[] => Object.keys(all)

const FAILURES = words<LoginFailure>({ unknown_user: 1, wrong_password: 1, disabled: 1, no_password: 1, email_not_verified: 1, unusable_hash: 1, changed_meanwhile: 1 })
const CLIENT_FAILURES = words<ClientFailure>({ unknown_client: 1, no_secret: 1, wrong_secret: 1, malformed_credentials: 1 })
const KINDS = words<MessageKind>({ password_reset: 1, verify_email: 1, already_registered: 1, email_change: 1, password_changed: 1, new_sign_in: 1, email_change_requested: 1, email_changed: 1, account_removed: 1 })
const CHANGED_BY = words<AuthorityEvents['password_changed']['by']>({ change: 1, reset: 1, disowned: 1 })
const ENDED_BY = words<AuthorityEvents['logged_out']['by']>({ user: 1, host: 1, password_changed: 1, disabled: 1, code_reused: 1, undone: 1, account_removed: 1 })
const REVOKED_BY = words<AuthorityEvents['consent_revoked']['by']>({ user: 1, host: 1, password_changed: 1, account_removed: 1 })
const RULES = words<RuleName>({ login: 1, account: 1, register: 1, passwordReset: 1, refresh: 1 })
const ALGS = ['ES256', 'EdDSA', 'RS256', 'PS256'] as const

/** Names as OpenTelemetry has them; for Prometheus the dots are underscores, and a counter ends in `_total`. */
const METRICS = {
  'authority.authentication': { description: 'Passwords that were tried.', labels: { outcome: ['success', 'failure'], 'error.type': FAILURES } },
  'authority.client_authentication.failed': { description: 'Clients that did not prove themselves.', labels: { 'error.type': CLIENT_FAILURES } },
  'authority.account.registered': { description: 'Accounts that were created.', labels: {} },
  'authority.account.removed': { description: 'Accounts that their people removed.', labels: {} },
  'authority.profile.changed': { description: 'Profiles that were changed.', labels: {} },
  'authority.email.change_requested': { description: 'New e-mail addresses asked for.', labels: {} },
  'authority.email.changed': { description: 'E-mail addresses that were changed.', labels: {} },
  'authority.email.verified': { description: 'E-mail addresses that were confirmed.', labels: {} },
  'authority.password_reset.requested': { description: 'Password resets asked for, for users who exist.', labels: {} },
  'authority.password.changed': { description: 'New passwords.', labels: { by: CHANGED_BY } },
  'authority.token.issued': { description: 'First tokens of a device, an app or a client.', labels: { grant_type: ['password', 'authorization_code', 'client_credentials', 'host'] } },
  'authority.token.refreshed': { description: 'Refreshes.', labels: { rotated: ['true', 'false'] } },
  'authority.refresh_token.reused': { description: 'Refresh tokens that came back after they were replaced.', labels: {} },
  'authority.session.ended': { description: 'Sessions that ended before their time.', labels: { by: ENDED_BY } },
  'authority.consent.granted': { description: 'Consents given.', labels: {} },
  'authority.consent.revoked': { description: 'Consents taken back.', labels: { by: REVOKED_BY } },
  'authority.message': { description: 'Messages handed to sendMessage.', labels: { kind: KINDS, outcome: ['sent', 'failed'] } },
  'authority.message.attempts': { description: 'How many attempts a message took.', labels: { kind: KINDS, outcome: ['sent', 'failed'] }, buckets: [0, 1, 2, 3, 4] },
  'authority.key.created': { description: 'Signing keys that this instance made.', labels: { alg: ALGS } },
  'authority.key.retired': { description: 'Signing keys that were removed.', labels: { alg: ALGS } },
  'authority.rate_limit.refused': { description: 'Requests that a limit refused.', labels: { rule: RULES } },
  'authority.password_hash.overloaded': { description: 'Overloads of the hashing queue.', labels: {} },
  'authority.store.degraded': { description: 'Outages of a store, at their beginning.', labels: { store: ['state', 'rate limits'] } }
} as const satisfies Record<string, Metric>

type MetricName = keyof typeof METRICS
type Count = (name: MetricName, labels?: Labels, value?: number) => void

/** What each event counts. No user, address, username or client is a label. */
const COUNTED: { [Name in AuthorityEventName]: (event: AuthorityEvents[Name], count: Count) => void } = {
  authenticated: (_event, count) => { count('authority.authentication', { outcome: 'success' }) },
  login_failed: ({ reason }, count) => { count('authority.authentication', { outcome: 'failure', 'error.type': reason }) },
  client_authentication_failed: ({ reason }, count) => { count('authority.client_authentication.failed', { 'error.type': reason }) },
  registered: (_event, count) => { count('authority.account.registered') },
  token_issued: ({ grantType }, count) => { count('authority.token.issued', { grant_type: grantType }) },
  token_refreshed: ({ rotated }, count) => { count('authority.token.refreshed', { rotated: String(rotated) }) },
  refresh_token_reused: (_event, count) => { count('authority.refresh_token.reused') },
  password_reset_requested: (_event, count) => { count('authority.password_reset.requested') },
  password_changed: ({ by }, count) => { count('authority.password.changed', { by }) },
  email_change_requested: (_event, count) => { count('authority.email.change_requested') },
  email_changed: (_event, count) => { count('authority.email.changed') },
  profile_changed: (_event, count) => { count('authority.profile.changed') },
  account_removed: (_event, count) => { count('authority.account.removed') },
  email_verified: (_event, count) => { count('authority.email.verified') },
  logged_out: ({ by, sids }, count) => { count('authority.session.ended', { by }, sids.length) },
  consent_granted: (_event, count) => { count('authority.consent.granted') },
  consent_revoked: ({ by }, count) => { count('authority.consent.revoked', { by }) },
  message_sent: ({ kind, attempts }, count) => { message({ kind, outcome: 'sent' }, attempts, count) },
  message_failed: ({ kind, attempts }, count) => { message({ kind, outcome: 'failed' }, attempts, count) },
  key_created: ({ alg }, count) => { count('authority.key.created', { alg }) },
  key_retired: ({ alg }, count) => { count('authority.key.retired', { alg }) },
  rate_limited: ({ rule }, count) => { count('authority.rate_limit.refused', { rule }) },
  hash_queue_full: (_event, count) => { count('authority.password_hash.overloaded') },
  store_degraded: ({ store }, count) => { count('authority.store.degraded', { store }) }
}

function message (labels: Labels, attempts: number, count: Count): void {
  count('authority.message', labels)
  count('authority.message.attempts', labels, attempts)
}

/**
 * Counts what happens, with labels out of closed lists alone, so that no stranger makes new time series. Returns what ends it.
 *
 * @example authorityMetrics(app.authority, { prometheus: await import('prom-client') })
 */
export function authorityMetrics (authority: Pick<Events, 'on' | 'off'>, { prometheus, registry, meter }: MetricsOptions): () => void {
  const sinks = (Object.entries(METRICS) as Array<[MetricName, Metric]>).map(([name, metric]) => [name, [
    ...prometheus === undefined ? [] : [prometheusSink(name, metric, prometheus, registry)],
    ...meter === undefined ? [] : [meterSink(name, metric, meter)]
  ]] as const)
  const byName = new Map(sinks)
  const count: Count = (name, given = {}, value = 1) => {
    const allowed: Metric['labels'] = METRICS[name].labels
    const labels = Object.fromEntries(Object.entries(given).map(([label, text]) => [label, allowed[label]?.includes(text) === true ? text : 'other']))
    for (const add of byName.get(name) ?? []) add(labels, value)
  }
  const undo = (Object.keys(COUNTED) as AuthorityEventName[]).map((name) => {
    const tell = COUNTED[name] as (event: AuthorityEvents[AuthorityEventName], count: Count) => void
    const handler = (event: AuthorityEvents[AuthorityEventName]): void => { tell(event, count) }
    authority.on(name, handler)
    return () => { authority.off(name, handler) }
  })
  return () => { for (const off of undo) off() }
}

type Add = (labels: Labels, value: number) => void

function prometheusSink (name: MetricName, { description, labels, buckets }: Metric, { Counter, Histogram }: PrometheusClient, registry: object | undefined): Add {
  const options = { name: prometheusName(name, buckets === undefined), help: description, labelNames: Object.keys(labels).map(underscored), ...(registry === undefined ? {} : { registers: [registry as never] }) }
  const named = (given: Labels): Labels => Object.fromEntries(Object.entries(given).map(([label, text]) => [underscored(label), text]))
  if (buckets === undefined) {
    const counter = new Counter(options)
    // There from the start where there are no labels: a rate needs the 0 before the first 1.
    if (options.labelNames.length === 0) counter.inc({}, 0)
    return (given, value) => { counter.inc(named(given), value) }
  }
  const histogram = new Histogram({ ...options, buckets })
  return (given, value) => { histogram.observe(named(given), value) }
}

function meterSink (name: MetricName, { description, buckets }: Metric, meter: OpenTelemetryMeter): Add {
  if (buckets === undefined) {
    const counter = meter.createCounter(name, { description })
    return (given, value) => { counter.add(value, given) }
  }
  const histogram = meter.createHistogram(name, { description, advice: { explicitBucketBoundaries: buckets } })
  return (given, value) => { histogram.record(value, given) }
}

const underscored = (name: string): string => name.replaceAll('.', '_')
const prometheusName = (name: MetricName, isCounter: boolean): string => `${underscored(name)}${isCounter ? '_total' : ''}`
