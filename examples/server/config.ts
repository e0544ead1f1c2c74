import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Client, ConnectionOption } from 'fastify-authority'
import { type DemoClients, demoClients } from './clients.ts'
import { ConfigError } from './config-error.ts'
import { connectionsIn } from './connections.ts'
import { otherConnection } from './other-instance.ts'

export { ConfigError }

export interface Config {
  host: string
  port: number
  issuer: string
  dataDirectory: string
  secret: string
  /** Addresses and CIDR ranges that the per-address rate limits leave alone. */
  bypass: string[]
  /** For development: an `http:` issuer that is not on loopback, for a phone or a container. */
  allowInsecureIssuer: boolean
  /** Addresses of the proxies in front, whose forwarding headers count. */
  trustProxy: string[]
  clients: DemoClients
  /** The clients of the file in `CLIENTS_FILE`, registered with the demo's own. */
  moreClients: Client[]
  /** Providers that people can sign in with. */
  connections: ConnectionOption[]
  /** The port of a second instance, to sign in with at this one. */
  otherPort: number | undefined
  /** PostgreSQL: users and state. */
  databaseUrl: string | undefined
  /** Redis: rate limit counters, and the state where there is no PostgreSQL. */
  redisUrl: string | undefined
  /** SMTP: where messages go. Without it they go to the log. */
  smtpUrl: string | undefined
  /** Shows messages on the page `/dev/mails`: on a developer's own machine, where nothing sends them. */
  capturesMails: boolean
  /** The username of the administrator, who has the pages at `/auth/admin`. */
  admin: string | undefined
  /** The sender of mails. */
  mailFrom: string
  /**
   * For how long after SIGTERM requests are still taken, while `/ready` says no: as long as the balancer needs to
   * notice.
   */
  drainSeconds: number
  /** A level of pino. At `info` every request is two lines. */
  logLevel: string
}

const MIN_SECRET_BYTES = 32
/** On a developer's own machine, a limit of three sign-ups an hour would be met within ten minutes. */
const LOOPBACK = ['127.0.0.0/8', '::1']
const MAX_DRAIN_SECONDS = 300
const LOG_LEVELS: readonly string[] = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']

/** @throws ConfigError */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const port = portOf('PORT', set(env['PORT']) ?? '3000')
  const otherPort =
    set(env['OTHER_PORT']) === undefined ? undefined : portOf('OTHER_PORT', set(env['OTHER_PORT']) ?? '')
  const dataDirectory = 'data'
  const secret = secretOf(env, dataDirectory)
  const host = set(env['HOST']) ?? 'localhost'
  const issuer = set(env['ISSUER']) ?? `http://localhost:${port}`
  if (!URL.canParse(issuer))
    throw new ConfigError(
      `ISSUER is ${JSON.stringify(issuer)}; it takes an absolute URL, such as https://auth.example.com`
    )
  const capturesMails =
    env['NODE_ENV'] !== 'production' &&
    set(env['SMTP_URL']) === undefined &&
    set(env['TRUST_PROXY']) === undefined &&
    ['localhost', '127.0.0.1', '::1'].includes(host)
  return {
    host,
    port,
    issuer,
    dataDirectory,
    secret,
    bypass:
      env['RATE_LIMIT_BYPASS'] === undefined && env['NODE_ENV'] !== 'production'
        ? LOOPBACK
        : listOf(env['RATE_LIMIT_BYPASS']),
    allowInsecureIssuer: flagOf(env, 'ALLOW_INSECURE_ISSUER'),
    trustProxy: listOf(env['TRUST_PROXY']),
    clients: demoClients(new URL(issuer).origin, secret),
    moreClients: clientsIn(set(env['CLIENTS_FILE'])),
    connections: [...connectionsIn(env), ...(otherPort === undefined ? [] : [otherConnection(otherPort, { secret })])],
    otherPort,
    databaseUrl: serverUrl(
      env,
      'DATABASE_URL',
      ['postgres:', 'postgresql:'],
      'postgres://user:password@localhost:5432/auth'
    ),
    redisUrl: serverUrl(env, 'REDIS_URL', ['redis:', 'rediss:'], 'redis://localhost:6379'),
    smtpUrl: serverUrl(env, 'SMTP_URL', ['smtp:', 'smtps:'], 'smtps://user:password@mail.example.com'),
    capturesMails,
    // The name that the start page signs up with.
    admin: set(env['ADMIN']) ?? (capturesMails ? 'ann@example.com' : undefined),
    mailFrom: set(env['MAIL_FROM']) ?? `no-reply@${new URL(issuer).hostname}`,
    drainSeconds: secondsOf(set(env['DRAIN_SECONDS']) ?? '0'),
    logLevel: logLevelOf(set(env['LOG_LEVEL']) ?? 'info')
  }
}

function logLevelOf(given: string): string {
  if (!LOG_LEVELS.includes(given))
    throw new ConfigError(`LOG_LEVEL is ${JSON.stringify(given)}; it takes one of ${LOG_LEVELS.join(', ')}.`)
  return given
}

/** The address of a server. The message does not show it: it has a password in it. */
function serverUrl(
  env: NodeJS.ProcessEnv,
  name: string,
  protocols: readonly string[],
  example: string
): string | undefined {
  const given = set(env[name])
  if (given !== undefined && !(URL.canParse(given) && protocols.includes(new URL(given).protocol)))
    throw new ConfigError(`${name} takes a URL such as ${example}`)
  return given
}

/** A JSON array of clients, as the option `clients` takes them: the plugin checks each. */
function clientsIn(file: string | undefined): Client[] {
  if (file === undefined) return []
  let clients: unknown
  try {
    clients = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new ConfigError(
      `CLIENTS_FILE is ${JSON.stringify(file)}, which can not be read as JSON: ` +
        (error instanceof Error ? error.message : 'unknown')
    )
  }
  if (!Array.isArray(clients)) throw new ConfigError('CLIENTS_FILE must hold a JSON array of clients.')
  return clients as Client[]
}

function set(value: string | undefined): string | undefined {
  return value === undefined || value.trim() === '' ? undefined : value.trim()
}

function listOf(value: string | undefined): string[] {
  return (value ?? '')
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
}

function portOf(name: string, value: string): number {
  const port = Number(value)
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new ConfigError(`${name} is ${JSON.stringify(value)}; it takes a whole number from 1 to 65535.`)
  return port
}

function flagOf(env: NodeJS.ProcessEnv, name: string): boolean {
  const value = set(env[name]) ?? 'false'
  if (value !== 'true' && value !== 'false')
    throw new ConfigError(`${name} is ${JSON.stringify(value)}; it takes true or false.`)
  return value === 'true'
}

function secondsOf(value: string): number {
  const seconds = Number(value)
  if (!Number.isInteger(seconds) || seconds < 0 || seconds > MAX_DRAIN_SECONDS)
    throw new ConfigError(
      `DRAIN_SECONDS is ${JSON.stringify(value)}; it takes a whole number from 0 to ${MAX_DRAIN_SECONDS}.`
    )
  return seconds
}

function secretOf(env: NodeJS.ProcessEnv, dataDirectory: string): string {
  const given = set(env['AUTH_SECRET'])
  if (given !== undefined) {
    if (Buffer.byteLength(given) < MIN_SECRET_BYTES)
      throw new ConfigError(
        `AUTH_SECRET is shorter than ${MIN_SECRET_BYTES} bytes. Make one with: openssl rand -base64 48`
      )
    return given
  }
  if (env['NODE_ENV'] === 'production')
    throw new ConfigError(
      'AUTH_SECRET is not set. It seals the signing keys in the database; in production it must ' +
        'come from the environment. Make one with: openssl rand -base64 48'
    )
  return generatedSecret(dataDirectory)
}

/** The secret of a development machine: made once, in a file that only its owner reads. */
function generatedSecret(directory: string): string {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const file = join(directory, 'secret')
  try {
    // `wx` fails where there is a file, so of two processes that start at once one writes and the other reads.
    const descriptor = openSync(file, 'wx', 0o600)
    try {
      writeSync(descriptor, `${randomBytes(48).toString('base64')}\n`)
      // Keys sealed under a secret that a power cut took away could never be opened again.
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
  const secret = readFileSync(file, 'utf8').trim()
  if (Buffer.byteLength(secret) < MIN_SECRET_BYTES)
    throw new ConfigError(
      `${file} holds less than ${MIN_SECRET_BYTES} bytes. Restore it; or remove it, and then ` +
        'everybody has to sign in again.'
    )
  return secret
}
