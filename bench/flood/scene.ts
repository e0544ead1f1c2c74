/** The contestants, and their messages to each other. */
import type { Footprint } from '../footprint.ts'

export const CLIENTS = 200
export const PASSWORD = 'correct horse battery'
export const USERS = 20
export const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

export type Library = '@node-rs/argon2' | 'argon2'
export type Kind = 'without admission' | 'ours'

/** To the probe or the clients: how long to work against which port. */
export interface Task {
  port: number
  durationMs: number
}

/** To the clients: whether they sign in or ask for the host's page. */
export interface ClientTask extends Task {
  what: 'sign-in' | 'page'
}

/** The work of a server since the last question. */
export interface Measured extends Footprint {
  loopDelayP99: number
}

/** The counts of the clients. The times, in milliseconds, are those of requests that succeeded. */
export interface Spoils {
  succeeded: number
  refused: number
  p50: number
  p99: number
}

/** When the probe sent each question, from its start, and how long the answer took, in milliseconds. */
export type Seen = Array<[at: number, took: number]>
