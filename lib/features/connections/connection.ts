import type { UpstreamReports } from './upstream/engine.ts'
import { upstream } from './upstream/upstream.ts'
import { misfit } from '../../errors.ts'
import { atOnce, hostHook } from '../../boundary/host-hooks.ts'
import type { Clock } from '../../ports/clock.ts'
import { type Log, logLine } from '../../ports/log.ts'
import type { Sealer } from '../../ports/cryptography.ts'
import type { Outbound } from '../../ports/outbound.ts'
import { PROFILE_CLAIMS } from '../../protocol/user-claims.ts'
import { type Connection, type Upstream, UPSTREAM } from '../../ports/upstream.ts'
import { OWN_FIELDS } from '../../ports/user-store.ts'
import type { ConnectionSettings } from './options.ts'
import type { Settings } from '../../settings/settings.ts'

interface Parts {
  clock: Clock
  outbound: Outbound
  log: Log<'info' | 'error'>
  /** The address to which a provider sends the browser back. */
  callbackUrl(id: string): string
  /** Seals the provider's tokens that links store. */
  sealer: Sealer
}

/** Makes the connections, by their ids. Sends no request to a provider. */
export async function connectionsOf(
  connections: readonly ConnectionSettings[],
  { registration }: Pick<Settings, 'registration'>,
  parts: Parts
): Promise<ReadonlyMap<string, Connection>> {
  const fields = registration === false || registration.fields === null ? {} : registration.fields.properties
  // Loads the copy of TypeBox that the host uses too, because the host may have registered formats in it.
  const { Check } = await import('@sinclair/typebox/value')
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

interface Made extends Pick<Parts, 'clock' | 'log' | 'sealer'>, Pick<Connection, 'callbackUrl' | 'upstream'> {
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
  { clock, log, sealer, callbackUrl, upstream, own, fits }: Made
): Connection {
  /**
   * Returns the result of the host's function, or `otherwise` if it fails. The failure of a function ends no sign-in.
   */
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
    ...grantsOf({ id, provider }, upstream, sealer),
    acceptsIssuer: (issuer) => provider.acceptsIssuer(issuer),
    formPost: provider.formPost,
    provesFreshness: provider.provesFreshness,
    button: { ...button, brand: provider.brand, mark: provider.mark },
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

/**
 * Makes `keep`, which seals a refresh token for a link, and `withdraw`, which revokes it at the provider. Both do
 * nothing without a revocation endpoint of the provider.
 */
function grantsOf(
  { id, provider }: Pick<ConnectionSettings, 'id' | 'provider'>,
  upstream: Upstream,
  sealer: Sealer
): Pick<Connection, 'keep' | 'withdraw'> {
  if (provider.endpoints?.revocation === undefined) return { keep: () => undefined, withdraw: async () => {} }
  const context = JSON.stringify(['connection grant', id])
  return {
    keep: ({ refreshToken }) => (refreshToken === undefined ? undefined : sealer.seal(refreshToken, context)),
    async withdraw(sealed) {
      const token = sealer.open(sealed, context)
      if (token !== null) await upstream.revoke(token)
    }
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

/** Milliseconds for which an answer of `enabled` is cached, so that strangers cannot cause more calls. */
const KEPT_MS = 1000
/** Milliseconds that a page waits for `enabled`. After that, the page uses the last answer, or `false`. */
const PAGE_WAIT_MS = 500

/**
 * Makes `enabled` and `shown`, which resolve to true if a connection is on: by its option, or by the host's function,
 * called at most once a second. If the function fails, the connection is off. `shown` is for pages, which can't wait
 * long for the function.
 */
function connectionSwitch(
  { id, enabled }: Pick<ConnectionSettings, 'id' | 'enabled'>,
  { clock, log }: { clock: Clock; log: Log<'info' | 'error'> }
): Pick<Connection, 'enabled' | 'shown'> {
  if (typeof enabled === 'boolean') return { enabled: async () => enabled, shown: async () => enabled }
  const hook = hostHook(
    enabled,
    (answer) => {
      if (typeof answer !== 'boolean')
        throw misfit('hook', { source: 'connections.enabled', got: answer, takes: 'true or false' })
      return answer
    },
    clock
  )
  let last: { answer: boolean; at: number } | null = null
  let pending: Promise<boolean> | null = null

  const ask = async (): Promise<boolean> => {
    let answer = false
    try {
      answer = await hook()
    } catch (error) {
      log.error(
        ...logLine(
          'FST_AUTHORITY_HOOK_FAILED',
          `the function enabled of the connection "${id}" failed; nobody signs in through it meanwhile`,
          { err: error }
        )
      )
    }
    last = { answer, at: clock.monotonic() }
    pending = null
    return answer
  }
  const now = async (): Promise<boolean> =>
    last !== null && clock.monotonic() - last.at < KEPT_MS ? last.answer : await (pending ??= ask())

  return {
    enabled: now,
    async shown() {
      const answer = now()
      let cancel = (): void => {}
      const late = new Promise<boolean>((resolve) => {
        cancel = clock.after(PAGE_WAIT_MS, () => {
          resolve(last?.answer ?? false)
        })
      })
      return await Promise.race([answer, late]).finally(() => {
        cancel()
      })
    }
  }
}
