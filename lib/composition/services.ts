import type { FastifyBaseLogger } from 'fastify'
import { onceRehashed } from '../accounts/authenticate-password.ts'
import type { AccountsDeps } from '../accounts/deps.ts'
import { type AccountSlots, slotOf } from '../accounts/slots.ts'
import type { RedisClient } from '../adapters/redis/connection.ts'
import { createClientKeys } from '../adapters/upstream/client-keys.ts'
import { distanceOfHost, formPost, outbound } from '../adapters/node/outbound.ts'
import { systemRandom } from '../adapters/node/system.ts'
import { type BackChannelLogout, createBackChannelLogout } from '../authorize/logout.ts'
import type { AuthorizeDeps } from '../authorize/deps.ts'
import { readAuthorizationParams } from '../protocol/authorization-params.ts'
import { OAuthError } from '../errors.ts'
import type { Events } from '../events.ts'
import { createEvents } from '../events/emitter.ts'
import type { GrantDeps } from '../oauth/deps.ts'
import { GRANTS } from '../oauth/grants/registry.ts'
import type { KnownBrowsers } from '../http/edge/known-browsers.ts'
import type { Endpoint } from '../http/edge/endpoint.ts'
import type { PageSlots } from '../http/pages/deps.ts'
import type { Kernel, Parts } from '../feature.ts'
import type { ClientSource } from '../ports/client-store.ts'
import { withSources } from '../clients/rights.ts'
import type { ConnectionWay } from '../ports/upstream.ts'
import { TOKEN_EXCHANGE_GRANT } from '../protocol/request-params.ts'
import type { RequestLimiter } from '../http/edge/limit.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import type { KeyManagement } from '../keys/manage-keys.ts'
import type { Clock } from '../ports/clock.ts'
import type { BrowserSession } from '../ports/session-store.ts'
import type { State } from '../ports/state.ts'
import { accountsDeps } from './accounts.ts'
import type { Authority } from './authority.ts'
import { DECLARED_GRANTS, startFeatures } from './compose.ts'
import { anySecrets, factorSealer, keyRing, keysOf } from './keys.ts'
import { createHealth, type Health } from './health.ts'
import type { CookieOwner } from '../http/edge/cookie-jar.ts'
import { createLimits } from './limits.ts'
import { connectStores } from './stores.ts'
import type { Settings } from '../settings/settings.ts'
import { accessTokens, type AccessTokens } from '../tokens/access-tokens.ts'
import { verifiedTokenCache } from '../tokens/verified-token-cache.ts'
import { browserSessions } from '../sessions/browser-sessions.ts'
import { idTokens } from '../tokens/id-tokens.ts'
import { revocations as createRevocations, sessions as createSessions } from '../sessions/sessions.ts'
import { logLine } from '../ports/log.ts'

const YEAR_MS = 365 * 86_400_000

/** The services behind each `app.authority`, for the command line. */
export const SERVICES = new WeakMap<Authority, Services>()

/** Everything behind the routes, built once from the settings. */
export interface Services {
  clock: Clock
  state: State
  events: Events
  ring: KeyRing
  /** The managed signing keys for an operator. `null`: the host gave the keys, or there is no `secret`. */
  keys: KeyManagement | null
  accessTokens: AccessTokens
  grants: GrantDeps
  authorize: AuthorizeDeps
  pageSlots: PageSlots[]
  methods: Array<NonNullable<Parts['authority']>>
  endpoints: Endpoint[]
  /** Members that features add to the metadata of the server. */
  metadata: Readonly<Record<string, unknown>>
  limiter: RequestLimiter
  known: KnownBrowsers
  health(): Promise<Health>
  /** Makes the first key and tries the hasher, in the background, so that the first requests find both loaded. */
  warmUp(): void
  /** Removes expired records. */
  sweep(): Promise<void>
  close(): Promise<void>
}

const CLOCK_SKEW_SECONDS = 60
/**
 * The capacity of the cache of verified tokens. A full cache takes about 55 MB, if each token has 500 bytes and was
 * used at least twice.
 */
const VERIFIED_TOKENS = 50_000

interface ServiceParts {
  log: FastifyBaseLogger
  messageUrl: AccountsDeps['messageUrl']
  accountUrl: AccountsDeps['accountUrl']
  undoUrl: AccountsDeps['undoUrl']
  url: Kernel['url']
  /** True if clients can redirect users here to sign in. */
  redirectLogin: boolean
  /** The registration that owns the browsers' cookies. */
  owner: CookieOwner
  /** The client of the option `redis`. */
  redis: RedisClient | null
}

export async function createServices(
  settings: Settings,
  { log, messageUrl, accountUrl, undoUrl, url, owner, redirectLogin, redis }: ServiceParts
): Promise<Services> {
  const random = systemRandom()
  const { secrets } = settings
  const events = createEvents(
    () => clock.now(),
    (error, event) => {
      log.error(...logLine('FST_AUTHORITY_EVENT_HANDLER_FAILED', 'an event handler failed', { err: error, event }))
    }
  )
  const stores = connectStores(settings, { redis, events, log, owner })
  const { clock, state } = stores
  const sources: ClientSource[] = []
  const clients = withSources(stores.clients, sources)
  await stores.prepare()
  const accessTokenSeconds = settings.accessToken.expiresInSeconds
  const idTokenSeconds = settings.idToken.expiresInSeconds
  const { resources, scopes } = settings.apis
  const longestSeconds = Math.max(accessTokenSeconds, ...resources.map(({ expiresInSeconds }) => expiresInSeconds ?? 0))
  const { ring, management } = await keyRing(settings, {
    clock,
    state,
    events,
    log,
    redirectLogin,
    tokenLifetimeMs: Math.max(longestSeconds, idTokenSeconds) * 1000,
    hintLifetimeMs: Math.max(settings.session.expiresInMs, settings.refreshToken.expiresInMs, YEAR_MS)
  })
  const identity = idTokens(
    { issuer: settings.issuer, ...settings.idToken },
    { ring, clock, random, claims: settings.claims, scopes }
  )
  const revocations = createRevocations(longestSeconds * 1000, clock)
  const tokens = accessTokens(
    {
      issuer: settings.issuer,
      audience: settings.accessToken.audience,
      typ: settings.accessToken.typ,
      clockSkewSeconds: CLOCK_SKEW_SECONDS,
      expiresInSeconds: accessTokenSeconds
    },
    { ring, cache: verifiedTokenCache(VERIFIED_TOKENS), revocations, clock, random, resources }
  )
  const leaving = outbound(clock)
  const ownDistance = async () => await distanceOfHost(settings.issuer)
  const backChannel: BackChannelLogout = createBackChannelLogout({
    clients,
    idTokens: identity,
    formPost: formPost(leaving, ownDistance),
    clock,
    onError: (error, what) => {
      log.error(...logLine('FST_AUTHORITY_BACK_CHANNEL_FAILED', what, { err: error }))
    }
  })
  const slots: AccountSlots[] = []
  const sessions = createSessions({
    tokens: state.tokens,
    browserSessions: state.browserSessions,
    oneTimeTokens: state.oneTimeTokens,
    revocations,
    events,
    clock,
    async requiresMore(user, methods) {
      for (const { requiresMore } of slots) if ((await requiresMore?.(user, methods)) === true) return true
      return false
    },
    onSessionsEnded: (ended: BrowserSession[]) => {
      backChannel.sessionsEnded(ended)
    }
  })
  const { limiter, messages, known } = createLimits(settings, {
    attempts: stores.attempts,
    clock,
    random,
    events,
    log,
    deviceSecret: anySecrets(secrets, random)[0],
    owner,
    users: stores.users,
    async verifyKey(key) {
      try {
        return ((await slotOf({ slots }, 'apiKeys')?.verify(key)) ?? null) !== null
      } catch (error) {
        if (error instanceof OAuthError) return false
        throw error
      }
    },
    onceRehashed: async (user) => await onceRehashed(user, accounts)
  })
  const connections = new Map<string, ConnectionWay>()
  const accounts: AccountsDeps = accountsDeps(settings, {
    owner,
    users: stores.users,
    clock,
    random,
    state,
    sessions,
    messages,
    events,
    log,
    messageUrl,
    accountUrl,
    undoUrl,
    connections,
    slots
  })
  const parts = await startFeatures(settings, {
    accounts,
    ...keysOf(secrets, owner, random),
    url,
    settings,
    prepare: stores.prepareOne,
    outbound: leaving,
    assertions: state.assertions,
    devices: state.devices,
    clients,
    factors: stores.factors === null ? null : { store: stores.factors, sealer: factorSealer(secrets, random) },
    grants: () => grants,
    log
  })
  sources.push(...parts.flatMap(({ clients = [] }) => clients))
  slots.push(...parts.flatMap(({ account }) => account ?? []))
  for (const { connections: added = [] } of slots) for (const [id, way] of added) connections.set(id, way)
  const turning = {
    idTokens: redirectLogin ? identity : null,
    passwordGrant: settings.passwordGrant,
    exchange: parts.some(({ grants = [] }) => grants.some(({ type }) => type === TOKEN_EXCHANGE_GRANT))
  }
  const grants: GrantDeps = {
    ...turning,
    grants: [...GRANTS, ...parts.flatMap(({ grants = [] }) => grants)].filter(({ isOn }) => isOn?.(turning) ?? true),
    declaredGrants: DECLARED_GRANTS,
    async beforeTokens(...asked) {
      for (const { tokens } of parts) {
        const needed = (await tokens?.beforeTokens?.(...asked)) ?? null
        if (needed !== null) return needed
      }
      return null
    },
    accounts,
    possession: parts.find(({ possession }) => possession !== undefined)?.possession ?? null,
    clients,
    assertions: state.assertions,
    clientKeys: createClientKeys({ outbound: leaving, ownDistance, clock, onError: accounts.onError }),
    tokens: state.tokens,
    sessions,
    accessTokens: tokens,
    issuer: settings.issuer,
    resources,
    audience: [settings.accessToken.audience].flat(),
    scopes,
    administration: parts.find(({ administration }) => administration !== undefined)?.administration ?? null,
    refreshToken: settings.refreshToken,
    claims: settings.claims
  }
  const pushed = parts.find((part) => part.pushed !== undefined)?.pushed ?? null
  return {
    clock,
    state,
    events,
    ring,
    keys: management,
    accessTokens: tokens,
    limiter,
    known,
    grants,
    pageSlots: parts.flatMap(({ pages }) => pages ?? []),
    methods: parts.flatMap(({ authority }) => authority ?? []),
    endpoints: parts.flatMap(({ endpoints }) => endpoints ?? []),
    metadata: Object.assign({}, ...parts.map(({ metadata }) => metadata)) as Services['metadata'],
    authorize: {
      ...grants,
      idTokens: identity,
      consents: state.consents,
      browserSessions: browserSessions(settings.session, { store: state.browserSessions, sessions, clock, random }),
      authorizationCode: settings.authorizationCode,
      canSignUp: settings.registration !== false && stores.users.create !== undefined,
      acrValues: settings.acrValues,
      hostedSignIn: settings.pages !== false && settings.pages.loginUrl === null,
      slots: parts.flatMap(({ authorize }) => authorize ?? []),
      pushed,
      readRequest: (raw) => pushed?.open(raw) ?? readAuthorizationParams(raw)
    },
    health: createHealth(settings, { state, attempts: stores.attempts, ring, hashing: accounts.hashing, clock }),
    warmUp() {
      ring.begin()
      accounts.hashing.check().catch((error: unknown) => {
        log.error(...logLine('FST_AUTHORITY_HASHER_BROKEN', 'the password hasher does not work', { err: error }))
      })
    },
    async sweep() {
      await stores.sweep()
      for (const { sweep } of parts) await sweep?.(clock.now())
    },
    async close() {
      accounts.hashing.close()
      await backChannel.close()
      ring.close()
      await accounts.background.close()
      for (const { close } of parts) await close?.()
      await accounts.outbox?.close()
    }
  }
}
