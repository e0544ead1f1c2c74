import type { FastifyBaseLogger } from 'fastify'
import { backgroundIdle } from './accounts/background.ts'
import type { AccountsDeps } from './accounts/deps.ts'
import type { RedisClient } from './adapters/redis/connection.ts'
import { formPost } from './adapters/node/form-post.ts'
import { systemRandom } from './adapters/node/system-random.ts'
import { type BackChannelLogout, createBackChannelLogout } from './authorize/back-channel-logout.ts'
import type { AuthorizeDeps } from './authorize/deps.ts'
import { createEvents, type Events } from './events.ts'
import type { GrantDeps } from './grants/deps.ts'
import type { RequestLimiter } from './http/limit.ts'
import type { KeyRing } from './keys/key-ring.ts'
import { type AuthorityOptions, DEFAULTS } from './options.ts'
import type { Clock } from './ports/clock.ts'
import type { BrowserSession } from './ports/session-store.ts'
import type { State } from './ports/state.ts'
import { accountsDeps } from './services-accounts.ts'
import { keyRing } from './services-keys.ts'
import { requestLimiter } from './services-limits.ts'
import { connectStores } from './services-stores.ts'
import { within } from './stores/within.ts'
import { accessTokens, type AccessTokens } from './tokens/access-tokens.ts'
import { browserSessions } from './tokens/browser-sessions.ts'
import { idTokens } from './tokens/id-tokens.ts'
import { revocations as createRevocations } from './tokens/revocations.ts'
import { sessions as createSessions } from './tokens/sessions.ts'
import { verifiedTokenCache } from './tokens/verified-token-cache.ts'

/** Everything behind the routes, built once from the options. */
export interface Services {
  clock: Clock
  state: State
  events: Events
  ring: KeyRing
  accessTokens: AccessTokens
  grants: GrantDeps
  authorize: AuthorizeDeps
  limiter: RequestLimiter
  /** Removes what has expired. */
  sweep(): Promise<void>
  close(): Promise<void>
}

const CLOCK_SKEW_SECONDS = 60
const CLOSE_TIMEOUT_MS = 5000
/** About 55 MB at the most, with tokens of 500 bytes that all come again. */
const VERIFIED_TOKENS = 50_000

export interface ServiceParts {
  log: FastifyBaseLogger
  messageUrl: AccountsDeps['messageUrl']
  /** Whether clients can send people here to sign in. */
  redirectLogin: boolean
  /** What the option `redis` names. */
  redis: RedisClient | undefined
}

export async function createServices (given: AuthorityOptions, { log, messageUrl, redirectLogin, redis }: ServiceParts): Promise<Services> {
  const random = systemRandom()
  const secrets = given.secret === undefined ? [] : [given.secret].flat()
  const events = createEvents((error, event) => { log.error({ err: error, event }, 'fastify-authority: an event handler failed') })
  const stores = connectStores(given, { redis, events, log })
  const { clock, state, clients } = stores
  const options: AuthorityOptions = { ...given, users: stores.users }
  await stores.prepare()
  const accessTokenSeconds = options.accessToken?.expiresIn ?? DEFAULTS.accessToken.expiresIn
  const idTokenSeconds = options.idToken?.expiresIn ?? DEFAULTS.idToken.expiresIn
  const ring = await keyRing(options, { clock, state, secrets, log, redirectLogin, tokenLifetimeMs: Math.max(accessTokenSeconds, idTokenSeconds) * 1000 })
  const identity = idTokens({ issuer: options.issuer, expiresInSeconds: idTokenSeconds }, { ring, clock, random, claims: options.claims ?? null })
  const revocations = createRevocations(accessTokenSeconds * 1000, clock)
  const tokens = accessTokens({
    issuer: options.issuer,
    audience: options.accessToken?.audience ?? options.issuer,
    clockSkewSeconds: CLOCK_SKEW_SECONDS,
    expiresInSeconds: accessTokenSeconds
  }, { ring, cache: verifiedTokenCache(VERIFIED_TOKENS), revocations, clock, random })
  const backChannel: BackChannelLogout = createBackChannelLogout({
    clients, idTokens: identity, formPost: formPost(), clock, onError: (error, what) => { log.error({ err: error }, `fastify-authority: ${what}`) }
  })
  const sessions = createSessions({
    tokens: state.tokens,
    browserSessions: state.browserSessions,
    revocations,
    events,
    clock,
    onSessionsEnded: (ended: BrowserSession[]) => { backChannel.sessionsEnded(ended) }
  })
  const accounts = accountsDeps(options, { clock, random, state, sessions, events, secrets, log, messageUrl })
  // In the background: the decoy is there before the first sign-in, or that one waits for it.
  accounts.hashing.ready().catch((error: unknown) => { log.error({ err: error }, 'fastify-authority: the password hasher does not work') })
  const refresh = { ...DEFAULTS.refreshToken, ...options.refreshToken }
  const session = { ...DEFAULTS.session, ...options.session }
  const limiter = await requestLimiter(options, { attempts: stores.attempts, countsFor: stores.countsFor, clock, random, events, log, deviceSecret: secrets[0] ?? random.secret() })
  const grants: GrantDeps = {
    accounts,
    clients,
    tokens: state.tokens,
    sessions,
    accessTokens: tokens,
    idTokens: redirectLogin ? identity : null,
    scopes: options.scopes ?? DEFAULTS.scopes,
    passwordGrant: options.passwordGrant ?? DEFAULTS.passwordGrant,
    refreshToken: { expiresInMs: refresh.expiresIn * 1000, idleTimeoutMs: refresh.idleTimeout * 1000, rotate: refresh.rotate, graceMs: refresh.reuseGraceSeconds * 1000 },
    claims: options.claims ?? null
  }
  return {
    clock,
    state,
    events,
    ring,
    accessTokens: tokens,
    limiter,
    grants,
    authorize: {
      grants,
      issuer: options.issuer,
      idTokens: identity,
      consents: state.consents,
      browserSessions: browserSessions({ expiresInMs: session.expiresIn * 1000, idleTimeoutMs: session.idleTimeout * 1000 }, { store: state.browserSessions, sessions, clock, random }),
      authorizationCode: { expiresInMs: (options.authorizationCode?.expiresIn ?? DEFAULTS.authorizationCode.expiresIn) * 1000 }
    },
    sweep: stores.sweep,
    async close () {
      accounts.hashing.close()
      await backChannel.close()
      ring.close()
      await limiter.close()
      // What was promised behind a reply is finished, but a store that hangs does not keep the host from closing.
      await within(CLOSE_TIMEOUT_MS, clock, async () => { await backgroundIdle(accounts) }).catch(() => {})
      await accounts.outbox?.close()
    }
  }
}
