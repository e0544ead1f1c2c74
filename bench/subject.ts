import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** What a benchmark loads: one request, against a server of its own. */
export interface Subject {
  port: number
  method: 'GET' | 'POST'
  path: string
  headers: Record<string, string>
  body: string
  /** What every answer must be. */
  status: number
}

export interface Benchmark {
  title: string
  requestsPerRound: number
  /** How many requests are under way at once. */
  concurrency: number
  /** By name; the first is what the others are compared to. Each is started in a process of its own. */
  subjects: Record<string, () => Promise<Subject>>
}

export async function listen (app: FastifyInstance, subject: Omit<Subject, 'port' | 'status'>): Promise<Subject> {
  await app.listen({ port: 0, host: '127.0.0.1' })
  return { ...subject, port: (app.server.address() as AddressInfo).port, status: 200 }
}
