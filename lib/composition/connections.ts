import type { FastifyBaseLogger } from 'fastify'
import type { UpstreamReports } from '../adapters/upstream/outages.ts'
import { completeProfile } from '../accounts/federated-account.ts'
import { OWN_FIELDS } from '../accounts/register.ts'
import { misfit } from '../errors.ts'
import { atOnce } from '../boundary/host-hooks.ts'
import type { Clock } from '../ports/clock.ts'
import { logLine } from '../ports/log.ts'
import type { Outbound } from '../ports/outbound.ts'
import type { GrantDeps } from '../oauth/deps.ts'
import type { State } from '../ports/state.ts'
import { type Connection, type Upstream, UPSTREAM } from '../ports/upstream.ts'
import type { ConnectionSettings } from '../settings/sections/connections.ts'
import { connectionSwitch } from './connection-switch.ts'
import { connectionGrants } from './connection-grants.ts'
import type { Settings } from '../settings/settings.ts'

/**
 * Standard claims that describe a person, without identity or rights here.
 * @see OpenID Connect Core 1.0 §5.1
 */
const PROFILE_CLAIMS = [
  'name',
  'given_name',
  'family_name',
  'middle_name',
  'nickname',
  'picture',
  'profile',
  'website',
  'gender',
  'birthdate',
  'zoneinfo',
  'locale'
]

interface Parts {
  clock: Clock
  outbound: Outbound
  log: FastifyBaseLogger
  /** The address to which a provider sends the browser back. */
  callbackUrl(id: string): string
}

/**
 * The connections by id. Without any, nothing of them is loaded. With them, no provider is asked before the first
 * sign-in.
 */
export async function connectionsOf(settings: Settings, parts: Parts): Promise<ReadonlyMap<string, Connection>> {
  const { connections, registration } = settings
  if (connections.length === 0) return new Map()
  const fields = registration === false || registration.fields === null ? {} : registration.fields.properties
  const [{ upstream }, { Check }] = await Promise.all([
    import('../adapters/upstream/upstream.ts'),
    import('@sinclair/typebox/value')
  ])
  const fits = (name: string, value: unknown): boolean =>
    fields[name] === undefined ? typeof value === 'string' : Check(fields[name], value)
  const own = Object.keys(fields).filter((name) => !OWN_FIELDS.has(name) && !PROFILE_CLAIMS.includes(name))
  return new Map(
    connections.map((connection) => {
      const callbackUrl = parts.callbackUrl(connection.id)
      parts.log.info(
        ...logLine(
          'FST_AUTHORITY_NOTICE',
          `the callback URL of the connection "${connection.id}" is ${callbackUrl}: register it with the provider.`,
          { connection: connection.id }
        )
      )
      return [
        connection.id,
        connectionOf(connection, {
          ...parts,
          callbackUrl,
          upstream:
            (connection.provider as { [UPSTREAM]?: Upstream })[UPSTREAM] ??
            upstream(connection, { ...parts, reports: reportsOf(connection, parts) }),
          secrets: settings.secrets,
          own,
          fits
        })
      ]
    })
  )
}

/** The log lines about the provider of a connection. */
function reportsOf({ id, provider }: ConnectionSettings, { log }: Pick<Parts, 'log'>): UpstreamReports {
  return {
    down(of, { message }) {
      log.error(
        ...logLine('FST_AUTHORITY_PROVIDER_DOWN', `the connection "${id}": ${message}`, {
          connection: id,
          endpoint: of
        })
      )
    },
    back(of) {
      log.info(
        ...logLine('FST_AUTHORITY_PROVIDER_BACK', `the connection "${id}": ${of} answers again`, {
          connection: id,
          endpoint: of
        })
      )
    },
    hostFailed(error) {
      const name = provider.protocol === 'oauth2' ? 'identify' : 'assertion'
      log.error(
        ...logLine('FST_AUTHORITY_HOOK_FAILED', `the function ${name} of the connection "${id}" failed`, {
          err: error,
          connection: id
        })
      )
    }
  }
}

/**
 * The dependencies of the token exchange, if a connection accepts ID tokens of apps. The settings were checked, so the
 * state has `assertions`.
 */
export function tokenExchangeOf(
  connections: ReadonlyMap<string, Connection>,
  { assertions }: Pick<State, 'assertions'>,
  { registration }: Pick<Settings, 'registration'>
): GrantDeps['exchange'] {
  const taking = new Map([...connections].filter(([, { audiences }]) => audiences.length > 0))
  if (taking.size === 0 || assertions === undefined) return null
  const required = registration === false ? [] : (registration.fields?.required ?? [])
  return { connections: taking, assertions, complete: (profile) => completeProfile(profile, required) }
}

interface Made extends Pick<Parts, 'clock' | 'log'>, Pick<Connection, 'callbackUrl' | 'upstream'> {
  secrets: readonly string[]
  /** The host's fields that are not standard claims. Only the hook `profile` fills them. */
  own: readonly string[]
  fits(name: string, value: unknown): boolean
}

function connectionOf(
  {
    id,
    name,
    linking,
    registration,
    sync,
    domains,
    enforce,
    audiences,
    appNonce,
    button,
    provider,
    onSignIn,
    ...hooks
  }: ConnectionSettings,
  { clock, log, callbackUrl, upstream, secrets, own, fits }: Made
): Connection {
  /** The result of the host's function, or nothing if it fails, because no sign-in depends on it. */
  const asked = <Answer>(hook: string, ask: () => Answer, otherwise: Answer): Answer => {
    try {
      return ask()
    } catch (error) {
      log.error(
        ...logLine(
          'FST_AUTHORITY_HOOK_FAILED',
          `the function ${hook} of the connection "${id}" failed; the sign-in went on without it`,
          { err: error }
        )
      )
      return otherwise
    }
  }
  const { profile, assurance } = hooks
  return {
    id,
    name,
    upstream,
    callbackUrl,
    linking,
    registration,
    sync,
    domains,
    enforce,
    audiences,
    appNonce,
    onSignIn,
    ...connectionGrants({ id, provider }, upstream, secrets),
    acceptsIssuer: (issuer) => provider.acceptsIssuer(issuer),
    formPost: provider.formPost,
    provesFreshness: provider.provesFreshness,
    button: { ...button, brand: provider.brand },
    ...connectionSwitch({ id, enabled: hooks.enabled }, { clock, log }),
    profile(claims) {
      const given =
        profile === null
          ? claims
          : asked('profile', () => objectOf(atOnce(profile(claims), 'connections.profile'), 'profile'), {})
      return Object.fromEntries(
        [...PROFILE_CLAIMS, ...(profile === null ? [] : own)].flatMap((field) =>
          Object.hasOwn(given, field) && fits(field, given[field]) ? [[field, given[field]]] : []
        )
      )
    },
    assurance: (claims) =>
      assurance === null
        ? {}
        : asked(
            'assurance',
            () => assuranceOf(objectOf(atOnce(assurance(claims), 'connections.assurance'), 'assurance')),
            {}
          )
  }
}

function objectOf(answer: unknown, hook: string): Record<string, unknown> {
  if (answer === undefined || answer === null) return {}
  if (typeof answer !== 'object' || Array.isArray(answer))
    throw misfit('hook', { source: `connections.${hook}`, got: answer, takes: 'an object, at once' })
  return answer as Record<string, unknown>
}

function assuranceOf({ amr, acr }: Record<string, unknown>): { amr?: string[]; acr?: string } {
  if (amr !== undefined && !(Array.isArray(amr) && amr.every((method) => typeof method === 'string' && method !== '')))
    throw misfit('hook', { source: 'connections.assurance', field: 'amr', got: amr, takes: 'an array of strings' })
  if (acr !== undefined && (typeof acr !== 'string' || acr === ''))
    throw misfit('hook', { source: 'connections.assurance', field: 'acr', got: acr, takes: 'a string' })
  return { ...(amr === undefined ? {} : { amr: amr as string[] }), ...(acr === undefined ? {} : { acr }) }
}
