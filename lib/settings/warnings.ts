import { mayUse } from '../clients/rights.ts'
import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify'
import { openidConfigurationPath } from '../protocol/metadata.ts'
import { isLoopbackHost } from '../protocol/redirect-uri.ts'
import type { Places } from './places.ts'
import type { Settings } from './settings.ts'
import { logLine } from '../ports/log.ts'

const FORWARDING_HEADERS = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'cf-connecting-ip']

/**
 * Logs warnings of unsafe settings, and notices of surprising ones, with the fix. Returns a hook for the plugin's
 * routes that warns of forwarding headers, or `null` if `trustProxy` is on.
 */
export function warnOfUnsafeSettings(
  host: FastifyInstance,
  {
    issuer,
    keys,
    secrets,
    notices,
    shared: { factors },
    clients,
    scopes
  }: Pick<Settings, 'issuer' | 'keys' | 'secrets' | 'notices' | 'shared' | 'clients' | 'scopes'>,
  facts: { misplaced: Places['misplaced']; memoryState: boolean; ownCounters: boolean; severalProcesses: boolean }
): onRequestHookHandler | null {
  const warn = (text: string): void => {
    host.log.warn(...logLine('FST_AUTHORITY_UNSAFE', text))
  }
  const trustProxy = trustProxyOf(host)
  if (isInsecure(issuer))
    warn(
      `allowInsecureIssuer: THE ISSUER IS ${issuer}, so passwords, tokens and cookies cross the ` +
        'network in clear text and any listener can use them. For development alone: set an ' +
        'https: issuer for everything else.'
    )
  if (facts.misplaced !== null)
    warn(
      `clients of the issuer ${issuer} look for its document at ${facts.misplaced.expected}, and ` +
        `it is at ${facts.misplaced.at}. ${meansOfDiscovery(host.prefix, issuer, facts.misplaced.expected)}`
    )
  if (secrets.some((secret) => PLACEHOLDER.test(secret)))
    warn(
      'the option secret reads like a placeholder that others know too. Set it to random text, such as ' +
        '`openssl rand -base64 32` prints.'
    )
  for (const clientId of clientsWithoutIdTokens({ clients, scopes }))
    warn(
      `the client ${JSON.stringify(clientId)} has redirectUris and can't be granted "openid", so it gets no ID token ` +
        'and can\'t know who signed in. Add "openid" to its scopes and to the option scopes.'
    )
  tellOfOtherPort(host, issuer)
  if (facts.memoryState && !facts.severalProcesses)
    host.log.info(
      ...logLine(
        'FST_AUTHORITY_NOTICE',
        'the state is in memory: everybody is signed out when this process ends, and no second ' +
          'process would know them. Set the option state or redis to keep it elsewhere.'
      )
    )
  if (facts.ownCounters && !facts.memoryState)
    host.log.info(
      ...logLine(
        'FST_AUTHORITY_NOTICE',
        'attempts are counted by this process alone, so several let through that many times more. ' +
          'Set the option redis to count them together.'
      )
    )
  if (facts.memoryState && facts.severalProcesses)
    warn(
      'this is one of several workers and the state is in memory, so a token of one worker is ' +
        'unknown to the next. Set the option redis, or state to a shared one.'
    )
  if (keys === null && secrets.length === 0)
    warn(
      'signing keys are kept in memory: they change at every start, and no other process knows ' +
        'them. Set the option secret (32 bytes or more) to keep and share them.'
    )
  if (factors !== undefined && !factors.store.durable && !facts.memoryState)
    warn(
      'second factors are kept in memory: when this process ends, a user who has set one up is ' +
        'asked for the password alone. Set the option factors to a store that outlives the ' +
        'process, such as sqliteFactorStore(db) or postgresFactorStore(db).'
    )
  for (const text of notices) host.log.info(...logLine('FST_AUTHORITY_NOTICE', text))
  if (trustProxy === true)
    warn(
      'trustProxy is true, so every client can choose the address that its attempts are counted ' +
        'under. Set trustProxy to the addresses of your proxies.'
    )
  if (typeof trustProxy === 'number')
    warn(
      'trustProxy is a number, which Fastify takes to trust nobody, so that all clients share ' +
        'the address of your proxy. Set trustProxy to the addresses of your proxies.'
    )
  return trustProxy === undefined || trustProxy === false ? forwardedRequestWatch(warn) : null
}

/** Words of example secrets, such as "change-me". */
const PLACEHOLDER = /change.?(?:me|this)|placeholder|replace.?(?:me|this)|your.?(?:own.?)?secret/i

/** The ids of listed clients that have redirect sign-in but can't be granted `openid`. */
function clientsWithoutIdTokens({ clients, scopes }: Pick<Settings, 'clients' | 'scopes'>): string[] {
  if (!Array.isArray(clients)) return []
  return clients
    .filter((client) => (client.redirectUris ?? []).length > 0 && mayUse(client, 'authorization_code'))
    .filter((client) => !scopes.includes('openid') || client.scopes?.includes('openid') === false)
    .map(({ clientId }) => clientId)
}

/** Logs a notice if the server listens on another port than a loopback issuer names. */
function tellOfOtherPort(host: FastifyInstance, issuer: string): void {
  const { protocol, hostname, port } = new URL(issuer)
  if (!isLoopbackHost(hostname)) return
  const expected = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
  host.addHook('onListen', (done) => {
    const address = host.server.address()
    if (address !== null && typeof address === 'object' && address.port !== expected)
      host.log.info(
        ...logLine(
          'FST_AUTHORITY_NOTICE',
          `the server listens on port ${address.port}, and the issuer is ${issuer}: links and pages lead there. Set ` +
            'issuer to the address that browsers open, unless a proxy is between.'
        )
      )
    done()
  })
}

/** How to serve the metadata at the path `expected`, where clients look for it. */
function meansOfDiscovery(mountedAt: string, issuer: string, expected: string): string {
  if (mountedAt === '') return 'Something else is there: give this plugin an issuer with a path or a host of its own.'
  // Only the OpenID metadata are below the issuer's path. Those of OAuth are always at the root: RFC 8414 §3.1.
  const otherIssuer =
    expected === openidConfigurationPath(issuer) ? `set issuer to '${new URL(issuer).origin}${mountedAt}', or ` : ''
  return (
    `The plugin is registered under the prefix ${mountedAt}: ${otherIssuer}register the plugin outside of the prefix ` +
    `and set its own option prefix to '${mountedAt}/auth'.`
  )
}

function isInsecure(issuer: string): boolean {
  const { protocol, hostname } = new URL(issuer)
  return protocol === 'http:' && !isLoopbackHost(hostname)
}

/** Warns once of a proxy that Fastify does not trust, because all clients behind it count as one address. */
function forwardedRequestWatch(warn: (text: string) => void): onRequestHookHandler {
  let warned = false
  return (request, _reply, done) => {
    if (!warned && isForwarded(request.headers)) {
      warned = true
      warn(
        'requests come with forwarding headers but trustProxy is off, so all clients behind a ' +
          'proxy count as one address. Set trustProxy to the addresses of your proxies, or have the ' +
          'headers removed.'
      )
    }
    done()
  }
}

function isForwarded(headers: FastifyRequest['headers']): boolean {
  for (const name of FORWARDING_HEADERS) if (headers[name] !== undefined) return true
  return false
}

/**
 * Fastify keeps its options under a symbol of the root instance, from which child instances inherit, and shows
 * trustProxy nowhere else.
 */
function trustProxyOf(host: FastifyInstance): unknown {
  for (
    let instance: object | null = host;
    instance !== null;
    instance = Object.getPrototypeOf(instance) as object | null
  ) {
    const key = Object.getOwnPropertySymbols(instance).find((symbol) => symbol.description === 'fastify.options')
    if (key !== undefined) return (instance as Record<symbol, { trustProxy?: unknown } | undefined>)[key]?.trustProxy
  }
  return undefined
}
