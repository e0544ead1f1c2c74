import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { DatabaseKind } from './databases.ts'

/** One request as it goes over the wire. `content-length`, `host` and `connection` are added. */
export interface LoadedRequest {
  method: 'GET' | 'POST'
  path: string
  headers: Record<string, string>
  body: string
}

/** The target of a benchmark: a server of its own, in a process of its own. */
export interface Subject {
  port: number
  /** Connections take turns with these; one is enough where all ask the same. */
  requests: LoadedRequest[]
  /** The status of every answer. */
  status: number
  /**
   * Each connection goes on with what its last answer had in this member of its JSON: in the next request it stands for
   * `%TOKEN%`. Its first is `tokens[connection]`.
   */
  follow?: { member: string; tokens: string[] }
}

export interface Entry {
  start(): Promise<Subject>
  /** The subject that it is compared to; default: the first of all. */
  against?: string
  /** The greatest ratio of CPU to that subject. */
  goal?: number
  /** The least ratio of requests per second to that subject. */
  leastSpeed?: number
  /** The server whose time on a processor counts too. */
  database?: DatabaseKind
}

export interface HttpBenchmark {
  title: string
  /** How many connections, each with one request at a time. */
  concurrency: number
  /** True if clients may sleep: if the server wants every core, a client that stays awake takes one away. */
  idleClients?: boolean
  /** The length of a round of one subject. */
  shotMs: number
  /** The servers that are started once, for all subjects (see `redisClient` and `postgresPool`). */
  databases?: readonly DatabaseKind[]
  /** By name; the first is what the others are compared to. */
  subjects: Record<string, Entry>
}

/** A server has nothing to do while the others are loaded: so long its connections stay. */
export const IDLE_MS = 600_000

export async function listen(app: FastifyInstance): Promise<number> {
  app.server.keepAliveTimeout = IDLE_MS
  await app.listen({ port: 0, host: '127.0.0.1' })
  return (app.server.address() as AddressInfo).port
}

/** One request, over and over, that is answered 200. */
export async function serve(app: FastifyInstance, request: Partial<LoadedRequest>): Promise<Subject> {
  return {
    port: await listen(app),
    requests: [{ method: 'GET', path: '/', headers: {}, body: '', ...request }],
    status: 200
  }
}

export function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` }
}

export function basic(clientId: string, clientSecret: string): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}` }
}
