/** The arguments of `fastify-authority/metrics` by their own types: prom-client and a meter of OpenTelemetry. */
import { metrics } from '@opentelemetry/api'
import type { FastifyInstance } from 'fastify'
import * as prometheus from 'prom-client'
import { authorityMetrics, type MetricsOptions } from 'fastify-authority/metrics'

export function count(app: FastifyInstance): () => void {
  authorityMetrics(app.authority, { prometheus, registry: new prometheus.Registry(), meter: undefined })
  // @ts-expect-error -- a registry is no client
  authorityMetrics(app.authority, { prometheus: prometheus.register })
  const options: MetricsOptions = { meter: metrics.getMeter('fastify-authority') }
  return authorityMetrics(app.authority, options)
}
