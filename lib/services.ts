import { hkdfSync } from 'node:crypto'
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import { backgroundIdle } from './accounts/background.ts'
import { createPasswordHashing } from './accounts/password-hashing.ts'
import { createPasswordPolicy } from './accounts/password-policy.ts'
import { createOutbox } from './accounts/messages.ts'
import type { AccountsDeps } from './accounts/deps.ts'
import { argon2Hasher } from './adapters/argon2/argon2-hasher.ts'
import { importedHashVerifier } from './adapters/imported-hashes/imported-hash-verifier.ts'
import { jwtEngine } from './adapters/jwt/jwt-engine.ts'
import { memoryAttemptStore } from './adapters/memory/attempt-store.ts'
import { memoryKeyStore } from './adapters/memory/key-store.ts'
import { memoryState } from './adapters/memory/state.ts'
import { createAttemptLimiter } from './adapters/rate-limit/limiter.ts'
import { aesSealer } from './adapters/node/sealer.ts'
import { systemClock } from './adapters/node/system-clock.ts'
import { systemRandom } from './adapters/node/system-random.ts'
import { StartError } from './errors.ts'
import { createEvents, type Events } from './events.ts'
import type { GrantDeps } from './grants/deps.ts'
import { createRequestLimiter, type RequestLimiter } from './http/limit.ts'
import { fixedKeyRing, type KeyRing, managedKeyRing } from './keys/key-ring.ts'
import { surviveOutages } from './limits/store-outage.ts'
import { resolveRateLimits } from './limits/rules.ts'
import { type AuthorityOptions, DEFAULTS } from './options.ts'
import type { AttemptStore } from './ports/attempt-store.ts'
import type { Clock } from './ports/clock.ts'
import type { ClientStore } from './ports/client-store.ts'
import type { Sealer } from './ports/sealer.ts'
import type { State } from './ports/state.ts'
import { accessTokens, type AccessTokens } from './tokens/access-tokens.ts'
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
  limiter: RequestLimiter
  /** Removes what has expired. */
  sweep(): Promise<void>
  close(): Promise<void>
}

const DAY_MS = 86_400_000
const CLOCK_SKEW_SECONDS = 60
const CLOSE_TIMEOUT_MS = 5000
/** About 30 MB at the most, with tokens of 500 bytes. */
const VERIFIED_TOKENS = 50_000

export async function createServices (options: AuthorityOptions, log: FastifyBaseLogger): Promise<Services> {
  const clock = options.clock ?? systemClock
  const random = systemRandom()
  const state = options.state ?? memoryState()
  const secrets = options.secret === undefined ? [] : [options.secret].flat()
  const events = createEvents((error, event) => { log.error({ err: error, event }, 'fastify-authority: an event handler failed') })
  const accessTokenSeconds = options.accessToken?.expiresIn ?? DEFAULTS.accessToken.expiresIn
  const ring = await keyRing(options, { clock, state, secrets, log, tokenLifetimeMs: accessTokenSeconds * 1000 })
  const revocations = createRevocations(accessTokenSeconds * 1000, clock)
  const tokens = accessTokens({
    issuer: options.issuer,
    audience: options.accessToken?.audience ?? options.issuer,
    clockSkewSeconds: CLOCK_SKEW_SECONDS,
    expiresInSeconds: accessTokenSeconds
  }, { ring, cache: verifiedTokenCache(VERIFIED_TOKENS), revocations, clock, random })
  const sessions = createSessions({ tokens: state.tokens, revocations, events, clock })
  const accounts = accountsDeps(options, { clock, random, state, sessions, events, secrets, log })
  // In the background: the decoy is there before the first sign-in, or that one waits for it.
  accounts.hashing.ready().catch((error: unknown) => { log.error({ err: error }, 'fastify-authority: the password hasher does not work') })
  const refresh = { ...DEFAULTS.refreshToken, ...options.refreshToken }
  const attempts = memoryAttemptStore({ clock })
  const limiter = await requestLimiter(options, { attempts, clock, random, events, log, deviceSecret: secrets[0] ?? random.secret() })
  return {
    clock,
    state,
    events,
    ring,
    accessTokens: tokens,
    limiter,
    grants: {
      accounts,
      clients: clientStore(options.clients ?? []),
      tokens: state.tokens,
      sessions,
      accessTokens: tokens,
      scopes: options.scopes ?? DEFAULTS.scopes,
      passwordGrant: options.passwordGrant ?? DEFAULTS.passwordGrant,
      refreshToken: { expiresInMs: refresh.expiresIn * 1000, idleTimeoutMs: refresh.idleTimeout * 1000, rotate: refresh.rotate, graceMs: refresh.reuseGraceSeconds * 1000 },
      claims: options.claims ?? null
    },
    async sweep () {
      attempts.sweep()
      await state.sweep(clock.now())
    },
    async close () {
      ring.close()
      await limiter.close()
      // What was promised behind a reply is finished, but a store that hangs does not keep the host from closing.
      await Promise.race([backgroundIdle(accounts), new Promise<void>((resolve) => { clock.after(CLOSE_TIMEOUT_MS, resolve) })])
      await accounts.outbox?.close()
    }
  }
}

interface LimiterParts { attempts: AttemptStore, clock: Clock, random: AccountsDeps['random'], events: Events, log: FastifyBaseLogger, deviceSecret: string }

async function requestLimiter (options: AuthorityOptions, { attempts, clock, random, events, log, deviceSecret }: LimiterParts): Promise<RequestLimiter> {
  const limits = resolveRateLimits<FastifyRequest, FastifyReply>(options.rateLimit)
  const store = surviveOutages({
    store: attempts,
    localStore: memoryAttemptStore({ clock }),
    onStoreError: limits === false ? 'local' : limits.onStoreError,
    clock,
    onDegraded: (error) => {
      events.emit('store_degraded', { store: 'rate limits', error: error instanceof Error ? error.message : 'unknown' })
      // Only the message: a client library's error object can carry the command it failed on.
      log.error({ reason: error instanceof Error ? error.message : 'unknown' }, 'fastify-authority: the rate limit store does not answer')
    },
    onRecovered: () => { log.info('fastify-authority: the rate limit store answers again') }
  })
  const limiter = await createAttemptLimiter(store)
  return createRequestLimiter(limits, {
    attempts: { ...limiter, refund: (attemptId, given) => store.refund(attemptId, given) },
    random,
    events,
    log,
    deviceKey: deriveKey(deviceSecret, 'known devices'),
    secureCookies: options.issuer.startsWith('https:')
  })
}

interface AccountParts { clock: Clock, random: AccountsDeps['random'], state: State, sessions: AccountsDeps['sessions'], events: Events, secrets: string[], log: FastifyBaseLogger }

function accountsDeps (options: AuthorityOptions, { clock, random, state, sessions, events, secrets, log }: AccountParts): AccountsDeps {
  const { hasher = argon2Hasher(), isBreached, pepper, ...password } = { ...DEFAULTS.password, ...options.password }
  const onError = (error: unknown, what: string): void => { log.error({ err: error }, `fastify-authority: ${what}`) }
  const issuerWords = new URL(options.issuer).hostname.split('.').slice(0, -1)
  return {
    issuer: options.issuer,
    users: options.users,
    hashing: createPasswordHashing(
      { ...password, peppers: pepper ? secrets.map((secret) => deriveKey(secret, 'pepper')) : [] },
      { hasher, imported: importedHashVerifier(), events, onUnusable: (reason) => { log.warn({ reason }, 'fastify-authority: a stored password hash is unusable; its user can sign in after a password reset') } }
    ),
    policy: createPasswordPolicy(
      { minLength: password.minLength, maxBytes: password.maxBytes, contextWords: [...issuerWords, ...password.contextWords], ...(isBreached === undefined ? {} : { isBreached }) },
      { clock, onHookFailure: (error) => { onError(error, 'isBreached failed; the password was accepted') } }
    ),
    oneTimeTokens: state.oneTimeTokens,
    sessions,
    outbox: options.sendMessage === undefined ? null : createOutbox(options.sendMessage, { clock, onError }),
    verifyEmail: options.registration !== false && options.registration?.verifyEmail === true,
    messageUrl: (kind, token) => `${options.issuer}${options.prefix ?? DEFAULTS.prefix}/${kind === 'password_reset' ? 'reset-password' : 'verify-email'}#token=${token}`,
    clock,
    random,
    events,
    onError
  }
}

interface KeyParts { clock: Clock, state: State, secrets: string[], log: FastifyBaseLogger, tokenLifetimeMs: number }

async function keyRing ({ keys }: AuthorityOptions, { clock, state, secrets, log, tokenLifetimeMs }: KeyParts): Promise<KeyRing> {
  if (keys !== undefined && !Array.isArray(keys)) return fixedKeyRing([await jwtEngine.loadSecret(keys.secret)])
  if (keys !== undefined) {
    return fixedKeyRing(await Promise.all(keys.map(async (jwk, index) => {
      try {
        return await jwtEngine.load(jwk)
      } catch (error) {
        throw new StartError('FST_AUTHORITY_INVALID_OPTIONS', `Invalid option "keys[${index}]": ${error instanceof Error ? error.message : 'it is no private JWK'}.`, { cause: error })
      }
    })))
  }
  const [first, ...former] = secrets
  return managedKeyRing(
    { alg: 'ES256', rotateEveryMs: 90 * DAY_MS, announceMs: DAY_MS, tokenLifetimeMs, pollMs: 60_000 },
    {
      clock,
      engine: jwtEngine,
      // Without a secret nothing could seal them: they stay in this process.
      store: first === undefined ? memoryKeyStore() : state.keys,
      sealer: first === undefined ? PLAIN : aesSealer([first, ...former]),
      onError: (error) => { log.error({ err: error }, 'fastify-authority: the signing keys could not be read or made') }
    }
  )
}

const PLAIN: Sealer = { seal: (plain) => plain, open: (sealed) => sealed }

function clientStore (clients: NonNullable<AuthorityOptions['clients']>): ClientStore {
  if (!Array.isArray(clients)) return clients
  const byId = new Map(clients.map((client) => [client.clientId, client]))
  return { findById: async (clientId) => byId.get(clientId) ?? null }
}

function deriveKey (secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `fastify-authority ${purpose}`, 32))
}
