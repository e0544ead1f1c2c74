import { readFileSync } from 'node:fs'
import t from 'tap'
import type { Events } from '../../lib/events.ts'
import { authorityMetrics, type OpenTelemetryMeter, type PrometheusClient } from '../../lib/metrics/index.ts'
import { PASSWORD, signUp, testApp } from '../support/app.ts'

// Their own types are compared with ours in test/types/metrics.ts.
interface Registry { metrics(): Promise<string>, getMetricsAsJSON(): Promise<Array<{ name: string }>> }
interface Reader { exporter: { getMetrics(): Array<{ scopeMetrics: Array<{ metrics: Array<{ descriptor: { name: string }, dataPoints: Array<{ attributes: object, value: unknown }> }> }> }> } }
interface Sdk {
  AggregationTemporality: { CUMULATIVE: number }
  InMemoryMetricExporter: new (temporality: number) => Reader['exporter']
  PeriodicExportingMetricReader: new (options: object) => object
  MeterProvider: new (options: { readers: object[] }) => { getMeter(name: string): OpenTelemetryMeter, forceFlush(): Promise<void>, shutdown(): Promise<void> }
}
const load = async (name: string): Promise<unknown> => await import(name)
const prometheus = await load('prom-client') as PrometheusClient & { Registry: new () => Registry, register: Registry }
const { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } = await load('@opentelemetry/sdk-metrics') as Sdk

const CANARY = 'canary-person'

async function journey (app: Awaited<ReturnType<typeof testApp>>['app']): Promise<void> {
  await signUp(app, CANARY)
  const grant = { grant_type: 'password', username: CANARY, password: PASSWORD }
  for (const payload of [grant, { ...grant, password: 'wrong one' }, { ...grant, username: 'nobody' }, { ...grant, client_id: `${CANARY}-client` }]) await app.inject({ method: 'POST', url: '/auth/token', payload })
}

t.test('prom-client: what happened is counted, by closed labels, and nobody is named', async (t) => {
  const { app, close } = await testApp()
  t.teardown(close)
  const registry = new prometheus.Registry()
  const end = authorityMetrics(app.authority, { prometheus, registry })
  await journey(app)
  const text = await registry.metrics()
  for (const line of [
    'authority_authentication_total{outcome="success"} 1',
    'authority_authentication_total{outcome="failure",error_type="wrong_password"} 1',
    'authority_authentication_total{outcome="failure",error_type="unknown_user"} 1',
    'authority_client_authentication_failed_total{error_type="unknown_client"} 1',
    'authority_token_issued_total{grant_type="password"} 1',
    'authority_account_registered_total 1',
    'authority_refresh_token_reused_total 0'
  ]) t.ok(text.split('\n').includes(line), line)
  t.notMatch(text, CANARY)
  t.notMatch(text, '127.0.0.1')
  end()
  await journey(app).catch(() => {})
  t.equal(await registry.metrics(), text, 'and not after its end')
  t.notMatch(await prometheus.register.metrics(), 'authority_', 'the default registry was left alone')
})

t.test('OpenTelemetry: the same, by names with dots', async (t) => {
  const { app, close } = await testApp()
  t.teardown(close)
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })
  const provider = new MeterProvider({ readers: [reader] })
  t.teardown(async () => { await provider.shutdown() })
  authorityMetrics(app.authority, { meter: provider.getMeter('test') })
  await journey(app)
  await provider.forceFlush()
  const found = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics))
  const points = found.find(({ descriptor }) => descriptor.name === 'authority.authentication')?.dataPoints.map(({ attributes, value }) => [attributes, value])
  t.same(points, [[{ outcome: 'success' }, 1], [{ outcome: 'failure', 'error.type': 'wrong_password' }, 1], [{ outcome: 'failure', 'error.type': 'unknown_user' }, 1]])
  t.notMatch(JSON.stringify(found), CANARY)
})

/** Counts by hand what a host hands in. */
function double () {
  const handlers = new Map<string, (payload: never) => void>()
  const authority = { on: (name: string, handler: (payload: never) => void) => { handlers.set(name, handler) }, off: (name: string) => { handlers.delete(name) } } as unknown as Pick<Events, 'on' | 'off'>
  const added: unknown[] = []
  const names: string[] = []
  const meter = { createCounter (name: string) { names.push(name); return { add: (value: number, labels: object) => { added.push([name, value, labels]) } } }, createHistogram (name: string) { names.push(name); return { record: (value: number, labels: object) => { added.push([name, value, labels]) } } } }
  return { handlers, authority, added, names, meter, tell: (name: string, payload: object) => { handlers.get(name)?.(payload as never) } }
}

t.test('a word that is in no list is counted as other: nothing that is sent makes a new time series', async (t) => {
  const { authority, added, meter, tell, handlers } = double()
  const end = authorityMetrics(authority, { meter })
  tell('token_issued', { grantType: CANARY })
  tell('rate_limited', { rule: '__proto__' })
  tell('logged_out', { by: 'user', sids: ['a', 'b'] })
  tell('message_failed', { kind: 'password_reset', attempts: 4 })
  t.same(added, [
    ['authority.token.issued', 1, { grant_type: 'other' }],
    ['authority.rate_limit.refused', 1, { rule: 'other' }],
    ['authority.session.ended', 2, { by: 'user' }],
    ['authority.message', 1, { kind: 'password_reset', outcome: 'failed' }],
    ['authority.message.attempts', 4, { kind: 'password_reset', outcome: 'failed' }]
  ])
  end()
  t.equal(handlers.size, 0)
})

t.test('the dashboard and the docs name metrics that there are, and all of them', async (t) => {
  const { authority, names, meter } = double()
  authorityMetrics(authority, { meter })
  const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
  const dashboard = read('examples/metrics/grafana-dashboard.json')
  JSON.parse(dashboard)
  const registry = new prometheus.Registry()
  authorityMetrics(authority, { prometheus, registry })
  const there = (await registry.getMetricsAsJSON()).map(({ name }) => name)
  const used = [...new Set(dashboard.match(/authority_\w+/g))]
  t.ok(used.length > 8)
  t.same(used.filter((name) => !there.includes(name.replace(/_bucket$/, ''))), [])
  const documented = [...read('docs/observability.md').matchAll(/^\| `(authority\.[\w.]+)`/gm)].map(([, name]) => name)
  t.same(documented.toSorted(), names.toSorted())
})
