import { tracingChannel } from 'node:diagnostics_channel'
import { readFileSync } from 'node:fs'
import t from '../support/tap.ts'
import {
  authorityMetrics,
  type MeasuredAuthority,
  type OpenTelemetryMeter,
  type PrometheusClient
} from '../../lib/metrics/index.ts'
import { parse } from 'yaml'
import { DECLARED_GRANTS } from '../../lib/composition/compose.ts'
import { memoryUserStore } from '../../lib/index.ts'
import { GRANT_TYPES } from '../../lib/ports/client-store.ts'
import type { AttemptStore } from '../../lib/ports/attempt-store.ts'
import { STORE_OPERATIONS, traced, tracedStore, TRACES } from '../../lib/ports/tracing.ts'
import { KEYS } from '../support/openid.ts'
import { PASSWORD, signUp, testApp } from '../support/app.ts'

// Their own types are compared with ours in test/types/metrics.ts.
interface Rule {
  alert: string
  expr: string
  for?: string
  labels: { severity: string }
  annotations: { summary: string; runbook: string }
}
interface Registry {
  metrics(): Promise<string>
  getMetricsAsJSON(): Promise<Array<{ name: string }>>
}
interface Reader {
  exporter: {
    getMetrics(): Array<{
      scopeMetrics: Array<{
        metrics: Array<{ descriptor: { name: string }; dataPoints: Array<{ attributes: object; value: unknown }> }>
      }>
    }>
  }
}
interface Sdk {
  AggregationTemporality: { CUMULATIVE: number }
  InMemoryMetricExporter: new (temporality: number) => Reader['exporter']
  PeriodicExportingMetricReader: new (options: object) => object
  MeterProvider: new (options: { readers: object[] }) => {
    getMeter(name: string): OpenTelemetryMeter
    forceFlush(): Promise<void>
    shutdown(): Promise<void>
  }
}
const load = async (name: string): Promise<unknown> => await import(name)
const prometheus = (await load('prom-client')) as PrometheusClient & {
  Registry: new () => Registry
  register: Registry
}
const { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } = (await load(
  '@opentelemetry/sdk-metrics'
)) as Sdk

const CANARY = 'canary-person'

async function journey(app: Awaited<ReturnType<typeof testApp>>['app']): Promise<void> {
  await signUp(app, CANARY)
  const grant = { grant_type: 'password', username: CANARY, password: PASSWORD }
  for (const payload of [
    grant,
    { ...grant, password: 'wrong one' },
    { ...grant, username: 'nobody' },
    { ...grant, client_id: `${CANARY}-client` }
  ])
    await app.inject({ method: 'POST', url: '/auth/token', payload })
}

t.test('prom-client: counts events with a fixed set of labels, and names no user', async (t) => {
  // A key made in the background would add a store call at an unknown time.
  const { app, close } = await testApp({ keys: KEYS })
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
  ])
    t.ok(text.split('\n').includes(line), line)
  t.notMatch(text, CANARY)
  t.notMatch(text, '127.0.0.1')
  for (const line of [
    'authority_token_duration_seconds_count{grant_type="password",outcome="success"} 1',
    'authority_token_duration_seconds_count{grant_type="password",outcome="failure"} 3',
    'authority_store_duration_seconds_count{store="tokens",operation="createFamily",outcome="success"} 1',
    'authority_store_duration_seconds_count{store="users",operation="create",outcome="success"} 1',
    'authority_password_hash_queue{state="running"} 0',
    'authority_store_available{store="state"} 1'
  ])
    t.ok(text.split('\n').includes(line), line)
  const hashes = /^authority_password_hash_duration_seconds_count\{outcome="success"\} (\d+)$/m.exec(text)?.[1]
  t.equal(Number(hashes), 4, 'one for the new password, and one for each attempt of a client that is known')
  t.equal(/^authority_password_hash_wait_seconds_count\{outcome="success"\} (\d+)$/m.exec(text)?.[1], hashes)
  end()
  const last = await registry.metrics()
  await journey(app).catch(() => {})
  t.equal(await registry.metrics(), last, 'and not after its end')
  t.strictSame(
    Object.values(TRACES).filter((name) => tracingChannel(name).hasSubscribers),
    [],
    'and nothing is measured'
  )
  t.notMatch(await prometheus.register.metrics(), 'authority_', 'the default registry was left alone')
})

t.test('OpenTelemetry: counts sign-ins by outcome and reason, and names no user', async (t) => {
  const { app, close } = await testApp()
  t.teardown(close)
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })
  const provider = new MeterProvider({ readers: [reader] })
  t.teardown(async () => {
    await provider.shutdown()
  })
  t.teardown(authorityMetrics(app.authority, { meter: provider.getMeter('test') }))
  await journey(app)
  await provider.forceFlush()
  const found = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics))
  const points = found
    .find(({ descriptor }) => descriptor.name === 'authority.authentication')
    ?.dataPoints.map(({ attributes, value }) => [attributes, value])
  t.same(points, [
    [{ outcome: 'success' }, 1],
    [{ outcome: 'failure', 'error.type': 'wrong_password' }, 1],
    [{ outcome: 'failure', 'error.type': 'unknown_user' }, 1]
  ])
  t.notMatch(JSON.stringify(found), CANARY)
})

type Collect = (observer: { observe(value: number, labels: object): void }) => Promise<void>

/** Doubles of `app.authority` and of a meter, which record the calls. */
function double() {
  const handlers = new Map<string, (payload: never) => void>()
  const authority = {
    on: (name: string, handler: (payload: never) => void) => {
      handlers.set(name, handler)
    },
    off: (name: string) => {
      handlers.delete(name)
    },
    health: async () => ({
      state: 'down',
      counters: 'off',
      keyAges: { ES256: 60, [CANARY]: 1 },
      passwords: { running: 1, waiting: 2 }
    })
  } as unknown as MeasuredAuthority
  const added: unknown[][] = []
  const names: string[] = []
  const collectors = new Map<string, Collect>()
  const meter = {
    createCounter(name: string) {
      names.push(name)
      return {
        add: (value: number, labels: object) => {
          added.push([name, value, labels])
        }
      }
    },
    createHistogram(name: string) {
      names.push(name)
      return {
        record: (value: number, labels: object) => {
          added.push([name, value, labels])
        }
      }
    },
    createObservableGauge(name: string) {
      names.push(name)
      return {
        addCallback: (collect: Collect) => {
          collectors.set(name, collect)
        },
        removeCallback: () => {
          collectors.delete(name)
        }
      }
    }
  }
  return {
    handlers,
    authority,
    added,
    names,
    collectors,
    meter,
    tell: (name: string, payload: object) => {
      handlers.get(name)?.(payload as never)
    }
  }
}

t.test('counts an unknown label value as other, so that no input creates a time series', async (t) => {
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

t.test('counts a second factor by its kind, and a security key as a passkey', async (t) => {
  const { authority, added, meter, tell } = double()
  t.teardown(authorityMetrics(authority, { meter }))
  for (const method of ['otp', 'recovery_code', 'passkey', 'security_key', 'host', 'toString'])
    tell('authenticated', { methods: ['password', method] })
  t.strictSame(
    added
      .filter(([name]) => name === 'authority.second_factor')
      .map((call) => (call as [string, number, { kind: string }])[2].kind),
    ['totp', 'recovery_code', 'passkey', 'passkey', 'other', 'other']
  )
})

t.test('shows the health in gauges with fixed labels, and removes them at the end', async (t) => {
  const { authority, meter, collectors } = double()
  const end = authorityMetrics(authority, { meter })
  const seen: unknown[] = []
  for (const [name, collect] of collectors)
    await collect({
      observe: (value, labels) => {
        seen.push([name, value, labels])
      }
    })
  t.same(seen, [
    ['authority.password_hash.queue', 1, { state: 'running' }],
    ['authority.password_hash.queue', 2, { state: 'waiting' }],
    ['authority.store.available', 0, { store: 'state' }],
    ['authority.key.age', 60, { alg: 'ES256' }],
    ['authority.key.age', 1, { alg: 'other' }]
  ])
  end()
  t.equal(collectors.size, 0)
})

t.test('measures each grant under its own name, and counts its tokens', async (t) => {
  const { authority, added, meter, tell } = double()
  t.teardown(authorityMetrics(authority, { meter }))
  for (const { type } of DECLARED_GRANTS) await traced('token', { grantType: type }, async () => {})
  // A grant of a registered client tells its type in the event, and the others a short name.
  const names = [...GRANT_TYPES.filter((type) => type !== 'refresh_token'), 'passkey', 'mfa', 'token_exchange', 'host']
  for (const grantType of names) tell('token_issued', { grantType })
  t.strictSame(
    added.map((call) => (call as [string, number, { grant_type: string }])[2].grant_type),
    [...DECLARED_GRANTS.map(({ type }) => type), ...names]
  )
})

t.test('creates no time series from input of a caller', async (t) => {
  const { app, close } = await testApp({
    keys: KEYS,
    rateLimit: { login: { windowMs: 1000, max: 1000 }, refresh: { windowMs: 1000, max: 5 }, account: false }
  })
  t.teardown(close)
  const registry = new prometheus.Registry()
  t.teardown(authorityMetrics(app.authority, { prometheus, registry }))
  const series = async (): Promise<string[]> =>
    (await registry.metrics())
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => line.replace(/ \S+$/, ''))
  const send = async (word: string): Promise<void> => {
    for (const payload of [
      { grant_type: word },
      { grant_type: 'password', username: word, password: word, client_id: word, scope: word },
      { grant_type: 'password', username: word, password: word },
      { grant_type: 'refresh_token', refresh_token: word, client_id: word },
      { grant_type: 'client_credentials', client_id: word, client_secret: word },
      { grant_type: 'authorization_code', code: word, client_id: word }
    ]) {
      await app.inject({
        method: 'POST',
        url: `/auth/token?${word}=${word}`,
        payload,
        headers: { 'user-agent': word, 'x-request-id': word, 'x-forwarded-for': word }
      })
    }
    await app.inject({ method: 'POST', url: '/auth/revoke', payload: { token: word, client_id: word } })
    await app.inject({ method: 'POST', url: '/auth/password-reset', payload: { username: word } })
    await app.inject({ method: 'GET', url: `/auth/sessions/${word}`, headers: { authorization: `Bearer ${word}` } })
  }
  for (let number = 0; number < 5; number++) await send(`${CANARY}-${number}`)
  // Reading the metrics also reads the stores.
  await series()
  const first = await series()
  for (let number = 5; number < 20; number++) await send(`${CANARY}-${number}`)
  t.strictSame((await series()).sort(), first.sort())
  t.notMatch(first.join('\n'), CANARY)
})

t.test('names only existing metrics in the dashboard and the alert rules, and all of them in the docs', async (t) => {
  const { authority, names, meter } = double()
  t.teardown(authorityMetrics(authority, { meter }))
  const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
  const dashboard = read('examples/metrics/grafana-dashboard.json')
  JSON.parse(dashboard)
  const registry = new prometheus.Registry()
  t.teardown(authorityMetrics(authority, { prometheus, registry }))
  const there = (await registry.getMetricsAsJSON()).map(({ name }) => name)
  const used = [...new Set(dashboard.match(/authority_\w+/g))]
  t.ok(used.length > 8)
  t.same(
    used.filter((name) => !there.includes(name.replace(/_bucket$/, ''))),
    []
  )
  const rules = (
    parse(read('examples/metrics/prometheus-alerts.yml')) as { groups: Array<{ rules: Rule[] }> }
  ).groups.flatMap((group) => group.rules)
  const base = (name: string): string => name.replace(/_(?:bucket|count|sum)$/, '')
  const alerted = rules.flatMap(({ expr }) => expr.match(/authority_\w+/g) ?? [])
  t.same(
    [...new Set(alerted)].filter((name) => !there.includes(base(name))),
    []
  )
  const documented = [...read('docs/observability.md').matchAll(/^\| `(authority\.[\w.]+)`/gm)].map(([, name]) => name)
  t.same(documented.toSorted(), names.toSorted())
})

t.test('gives every alert rule a unique name, a severity, a threshold and a documented response', async (t) => {
  const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
  const { groups } = parse(read('examples/metrics/prometheus-alerts.yml')) as {
    groups: Array<{ name: string; rules: Rule[] }>
  }
  const page = read('docs/observability.md')
  const headings = [...page.matchAll(/^#### (\w+)$\n\n(.+)/gm)].map(([, name]) => name)
  const rules = groups.flatMap((group) => group.rules)
  t.strictSame(
    rules.map(({ alert }) => alert),
    headings
  )
  t.equal(new Set(headings).size, rules.length)
  for (const {
    alert,
    expr,
    for: held,
    labels: { severity },
    annotations: { summary, runbook },
    ...rest
  } of rules) {
    t.match(
      { severity, expr, summary, held: held ?? '0m' },
      { severity: /^(?:critical|warning)$/, expr: /(?:[<>]|==) [\d.]+/, summary: /\w/, held: /^\d+[mh]$/ },
      alert
    )
    t.equal(runbook, `docs/observability.md#${alert.toLowerCase()}`)
    t.strictSame(rest, {})
    t.equal(expr.split('(').length, expr.split(')').length, `${alert}: brackets`)
  }
})

t.test('traces store calls by name, without their results and error messages', async (t) => {
  const told: unknown[] = []
  const channel = tracingChannel<unknown, object>(TRACES.store)
  const tell = (context: object): void => {
    told.push({ ...context })
  }
  const handlers = { start: tell, end: tell, asyncStart: tell, asyncEnd: tell, error: tell }
  channel.subscribe(handlers)
  t.teardown(() => {
    channel.unsubscribe(handlers)
  })
  const users = memoryUserStore()
  const { app, close } = await testApp({ users, registration: { username: 'any' } })
  t.teardown(close)
  await signUp(app, CANARY)
  const failing = users.findByUsername
  users.findByUsername = async () => {
    throw Object.assign(new Error(`a command with ${CANARY} in it`), { name: 'PoolError' })
  }
  t.equal(
    (
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'password', username: CANARY, password: PASSWORD }
      })
    ).statusCode,
    503
  )
  users.findByUsername = failing
  const { access_token: token } = (
    await app.inject({
      method: 'POST',
      url: '/auth/token',
      payload: { grant_type: 'password', username: CANARY, password: PASSWORD }
    })
  ).json<{ access_token: string }>()
  t.ok(token)
  t.ok(told.length > 20)
  t.strictSame(
    [...new Set(told.flatMap((context) => Object.keys(context as object)))].filter(
      (name) => !['store', 'operation', 'error', 'result'].includes(name)
    ),
    []
  )
  t.ok(
    told.every((context) => (context as { result?: unknown }).result === undefined),
    'no answer'
  )
  t.ok(
    told.some((context) => (context as { error?: Error }).error?.message === 'PoolError'),
    'the name of the error'
  )
  t.notMatch(
    told
      .map((context) => {
        const { error } = context as { error?: Error }
        return `${JSON.stringify(context)} ${error?.message ?? ''} ${error?.stack ?? ''}`
      })
      .join('\n'),
    CANARY
  )
  for (const context of told) {
    const { store, operation } = context as { store: keyof typeof STORE_OPERATIONS; operation: string }
    t.ok(STORE_OPERATIONS[store].includes(operation))
  }
})

t.test('returns the result and the error of traced work unchanged, with and without a subscriber', async (t) => {
  const attempts: AttemptStore = { reserve: () => ({ allowed: true, standings: [] }), refund() {} }
  const store = tracedStore('attempts', attempts)
  t.strictSame(store.reserve('x', []), { allowed: true, standings: [] }, 'no promise')
  t.equal(await traced('hash', {}, async () => 'done'), 'done')
  await t.rejects(
    traced('hash', {}, () => {
      throw new TypeError('as it was')
    }),
    { name: 'TypeError', message: 'as it was' }
  )
  const channel = tracingChannel(TRACES.hash)
  const handlers = { start() {}, end() {}, asyncStart() {}, asyncEnd() {}, error() {} }
  channel.subscribe(handlers)
  t.teardown(() => {
    channel.unsubscribe(handlers)
  })
  t.equal(await traced('hash', {}, () => 'done'), 'done', 'watched')
  await t.rejects(
    traced('hash', {}, () => {
      throw new TypeError('as it was')
    }),
    { name: 'TypeError', message: 'as it was' },
    'watched, and the caller gets the error itself'
  )
})
