import type { Labels, Metric, MetricName } from './table.ts'

/** The part of the module prom-client 15 that we use. */
export interface PrometheusClient {
  Counter: new (options: PrometheusOptions) => { inc(labels: Record<string, string>, value?: number): void }
  Histogram: new (options: PrometheusOptions & { buckets: number[] }) => {
    observe(labels: Record<string, string>, value: number): void
  }
  Gauge: new (options: PrometheusOptions & { collect: () => Promise<void> }) => {
    set(labels: Record<string, string>, value: number): void
  }
}

export interface PrometheusOptions {
  name: string
  help: string
  labelNames: string[]
  registers?: never[]
}

interface Observer {
  observe(value: number, attributes: Record<string, string>): void
}

/** The part of a meter of @opentelemetry/api 1 that we use. */
export interface OpenTelemetryMeter {
  createCounter(
    name: string,
    options: { description: string }
  ): { add(value: number, attributes: Record<string, string>): void }
  createHistogram(
    name: string,
    options: { description: string; unit?: string; advice: { explicitBucketBoundaries: number[] } }
  ): { record(value: number, attributes: Record<string, string>): void }
  createObservableGauge(
    name: string,
    options: { description: string; unit?: string }
  ): {
    addCallback(callback: (observer: Observer) => Promise<void>): void
    removeCallback(callback: (observer: Observer) => Promise<void>): void
  }
}

type Add = (labels: Labels, value: number) => void
/** Reads a gauge: every value with its labels. */
export type ReadGauge = () => Promise<ReadonlyArray<readonly [Labels, number]>>

export function prometheusSink(
  name: MetricName,
  metric: Metric,
  { Counter, Histogram }: PrometheusClient,
  registry: object | undefined
): Add {
  const options = prometheusOptions(name, metric, registry)
  if (metric.buckets === undefined) {
    const counter = new Counter(options)
    // Starts a counter without labels at 0, so that Prometheus sees the increase from 0 to 1.
    if (options.labelNames.length === 0) counter.inc({}, 0)
    return (given, value) => {
      counter.inc(named(given), value)
    }
  }
  const histogram = new Histogram({ ...options, buckets: metric.buckets })
  return (given, value) => {
    histogram.observe(named(given), value)
  }
}

export function meterSink(name: MetricName, { description, buckets, unit }: Metric, meter: OpenTelemetryMeter): Add {
  if (buckets === undefined) {
    const counter = meter.createCounter(name, { description })
    return (given, value) => {
      counter.add(value, given)
    }
  }
  const histogram = meter.createHistogram(name, {
    description,
    ...(unit === undefined ? {} : { unit }),
    advice: { explicitBucketBoundaries: buckets }
  })
  return (given, value) => {
    histogram.record(value, given)
  }
}

/**
 * Registers a gauge that calls `read` at each collection. Returns a function that ends the readings. The gauge stays
 * registered.
 */
export function prometheusGauge(
  name: MetricName,
  metric: Metric,
  { Gauge }: PrometheusClient,
  registry: object | undefined,
  read: ReadGauge
): () => void {
  let ended = false
  const gauge = new Gauge({
    ...prometheusOptions(name, metric, registry),
    async collect() {
      if (ended) return
      for (const [labels, value] of await read()) gauge.set(named(labels), value)
    }
  })
  return () => {
    ended = true
  }
}

export function meterGauge(
  name: MetricName,
  { description, unit }: Metric,
  meter: OpenTelemetryMeter,
  read: ReadGauge
): () => void {
  const gauge = meter.createObservableGauge(name, { description, ...(unit === undefined ? {} : { unit }) })
  const callback = async (observer: Observer): Promise<void> => {
    for (const [labels, value] of await read()) observer.observe(value, labels)
  }
  gauge.addCallback(callback)
  return () => {
    gauge.removeCallback(callback)
  }
}

function prometheusOptions(
  name: MetricName,
  { description, labels, buckets, unit, gauge }: Metric,
  registry: object | undefined
): PrometheusOptions {
  const isCounter = buckets === undefined && gauge !== true
  return {
    name: `${underscored(name)}${unit === 's' ? '_seconds' : ''}${isCounter ? '_total' : ''}`,
    help: description,
    labelNames: Object.keys(labels).map(underscored),
    ...(registry === undefined ? {} : { registers: [registry as never] })
  }
}

const named = (given: Labels): Labels =>
  Object.fromEntries(Object.entries(given).map(([label, text]) => [underscored(label), text]))
const underscored = (name: string): string => name.replaceAll('.', '_')
