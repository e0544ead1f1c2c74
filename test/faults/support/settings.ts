/** The settings of a process under test: one JSON argument. */
import type { AuthorityOptions, RateLimitOptions } from '../../../lib/index.ts'

/** The place of state, users or counters. */
export type Place =
  | { kind: 'sqlite'; file: string }
  | { kind: 'redis'; url: string }
  | { kind: 'cluster'; nodes: Array<{ host: string; port: number }> }
  | { kind: 'sentinel'; name: string; sentinels: Array<{ host: string; port: number }> }
  | { kind: 'postgres'; url: string }

export type RedisPlace = Extract<Place, { kind: 'redis' | 'cluster' | 'sentinel' }>

/** Those that JSON can hold. */
export type PlainOptions = Pick<AuthorityOptions, 'accessToken' | 'refreshToken' | 'authorizationCode' | 'session'>

export interface InstanceSettings {
  name: string
  issuer: string
  state: Place
  users: Extract<Place, { kind: 'sqlite' | 'postgres' }>
  /** The place of the rate limits' counters. Left out: each process for itself. */
  limits?: RedisPlace
  rateLimit: Pick<RateLimitOptions, 'login' | 'account' | 'register' | 'passwordReset' | 'refresh' | 'onStoreError'>
  skewMs: number
  /** The answer of every nth write of the user store is lost. Left out: none. */
  losesUserAnswer?: number
  /** A planted fault, which must be found. */
  planted?: Planted
  options?: PlainOptions
}

export type Planted = PlantedInStores | 'never-ends'
/** The work that the stores only pretend to do. */
export type PlantedInStores =
  | 'revokes-nothing'
  | 'spares-replays'
  | 'reset-leaves-codes'
  | 'sign-out-leaves-families'
  | 'one-time-twice'

export function settings(): InstanceSettings {
  return JSON.parse(process.argv[2] ?? '{"skewMs":0}') as InstanceSettings
}

/** A report of a process. */
export type Report =
  | { ready: number }
  | { mail: { kind: string; username: string; token: string } }
  | { closed: number }
  /** A store did not answer in time: `rate limits` or `state`. */
  | { degraded: string }

export const ISSUER = 'http://localhost:3000'
export const CLIENT_ID = 'spa'
export const API_CLIENT = { clientId: 'api', clientSecret: 'a client secret of more than 32 bytes, for tests only' }
export const CALLBACK = 'https://app.example/cb'
/** The request header with the key of the limits, because all requests come from one address. */
export const CALLER = 'x-caller'
/** The response header that names the incarnation that answered. */
export const INSTANCE = 'x-instance'
