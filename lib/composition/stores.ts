import type { FastifyBaseLogger } from 'fastify'
import { memoryAttemptStore } from '../adapters/memory/attempt-store.ts'
import { memoryState } from '../adapters/memory/record-store.ts'
import { systemClock, systemRandom } from '../adapters/node/system.ts'
import { redisAttemptStore } from '../adapters/redis/attempt-store.ts'
import type { RedisClient } from '../adapters/redis/connection.ts'
import { sharedConnection } from '../adapters/redis/server.ts'
import { type RedisFactorStore, redisState, type RedisState } from '../adapters/redis/record-store.ts'
import { StartError } from '../errors.ts'
import type { Events } from '../events.ts'
import type { Kernel } from '../feature.ts'
import type { AttemptStore } from '../ports/attempt-store.ts'
import type { Client, ClientStore } from '../ports/client-store.ts'
import type { Clock } from '../ports/clock.ts'
import { changedStores, type State } from '../ports/state.ts'
import { namingFailures } from '../ports/outage.ts'
import type { FactorStore } from '../ports/factor-store.ts'
import type { UserStore } from '../ports/user-store.ts'
import { clientRows, type ClientRules, reservedIds } from '../settings/check-clients.ts'
import { messageOf, outageReports } from './health.ts'
import { factorSealer } from './keys.ts'
import type { Settings } from '../settings/settings.ts'
import { checkFactorSeal, stateOwner } from '../boundary/state-owner.ts'
import { hostFactorStore } from '../boundary/host-factor-store.ts'
import { hostClientStore, hostUserStore } from '../boundary/host-stores.ts'
import { sharedClock } from '../boundary/shared-clock.ts'
import { DECLARED_GRANTS } from './compose.ts'
import type { CookieOwner } from '../http/edge/cookie-jar.ts'
import { surviveStateOutages } from '../boundary/state-outages.ts'
import { within } from '../boundary/answers.ts'
import { logLine } from '../ports/log.ts'
import { tracedStore } from '../ports/tracing.ts'

/** The connected stores. Calls to stores of the host and to the state have time limits. */
interface Stores {
  clock: Clock
  state: State
  users: UserStore
  /** `null` without second factors. */
  factors: FactorStore | null
  clients: ClientStore
  attempts: AttemptStore
  /**
   * Checks that the stores work.
   * @throws StartError for a fault that only a person can fix; an outage is logged
   */
  prepare(): Promise<void>
  prepareOne: Kernel['prepare']
  /** Removes expired records, and checks the shared clock. */
  sweep(): Promise<void>
}

/**
 * The longest time, in milliseconds, that a start waits for a store. By default, Fastify gives up on a plugin after 10
 * s.
 */
const START_BUDGET_MS = 8000
/**
 * The time limit, in milliseconds, for reading the clock of the state's server. A claim of the state after the start
 * has the same limit.
 */
const LOOK_BUDGET_MS = 2000

/** Connects the stores of the settings, and the clock that all instances of the service share. */
export function connectStores(
  settings: Settings,
  {
    redis,
    events,
    log,
    owner: service
  }: {
    redis: RedisClient | null
    events: Events
    log: FastifyBaseLogger
    owner: CookieOwner
  }
): Stores {
  const ownClock = settings.clock ?? systemClock
  const given = settings.state ?? (redis === null ? memoryState() : redisState(redis))
  const shared =
    settings.clock !== null || given.time === undefined
      ? null
      : sharedClock({
          clock: ownClock,
          time: async () =>
            await within(LOOK_BUDGET_MS, ownClock, async () => await (given.time as () => Promise<number>)()),
          onSkew: (skewMs) => {
            log.warn(
              ...logLine(
                'FST_AUTHORITY_CLOCK_SKEW',
                "this machine's clock differs from that of the server with the state, whose time is used. " +
                  "Set this machine's clock.",
                { skewMs }
              )
            )
          }
        })
  const clock = shared ?? ownClock
  const factors = settings.shared.factors?.store ?? null
  const owner = stateOwner(given, service)
  const memoryAttempts = memoryAttemptStore({ clock })

  const counters =
    redis === null
      ? null
      : // Counts by the clock of the Redis server, unless the option `clock` sets another.
        redisAttemptStore(sharedConnection(redis), {
          prefix: settings.rateLimit === false ? undefined : settings.rateLimit.prefix,
          now: settings.clock === null ? undefined : () => ownClock.now()
        })

  async function prepareOne(name: string, prepare: () => Promise<void>, meanwhile = 'requests get 503'): Promise<void> {
    try {
      await within(START_BUDGET_MS, clock, prepare)
    } catch (error) {
      if (error instanceof StartError) throw error
      log.error(
        ...logLine('FST_AUTHORITY_STORE_DOWN', `${name} does not answer; ${meanwhile} until it does`, {
          reason: messageOf(error),
          store: name
        })
      )
    }
  }

  async function claimFirst(): Promise<void> {
    await within(LOOK_BUDGET_MS, ownClock, owner.claim)
    await shared?.settled()
  }

  const reports = outageReports('state', 'the state store', { events, log })
  const state = surviveStateOutages(given, {
    clock,
    graceMs: settings.refreshToken.reuseGraceMs,
    ...reports,
    onDegraded(error) {
      shared?.doubt()
      reports.onDegraded(error)
    },
    // If the state was unreachable at the start, the first call of the state claims it for this service.
    settled: () => (owner.isClaimed() ? shared?.settled() : claimFirst())
  })
  return {
    clock,
    state: tracedState(state),
    users: tracedStore('users', namingFailures('users', hostUserStore(settings.users, clock))),
    factors:
      factors === null ? null : tracedStore('factors', namingFailures('factors', hostFactorStore(factors, clock))),
    clients: Array.isArray(settings.clients)
      ? registeredClients(settings.clients)
      : tracedStore(
          'clients',
          namingFailures(
            'clients',
            hostClientStore(settings.clients, {
              clock,
              read: clientRows(clientRules(settings)),
              onMisfit: (error, clientId) => {
                log.error(
                  ...logLine(
                    'FST_AUTHORITY_STORE_MISFIT',
                    'a row of the client store does not fit, and is an unknown client',
                    { err: error, clientId }
                  )
                )
              }
            })
          )
        ),
    attempts: counters === null ? memoryAttempts : tracedStore('attempts', counters),

    prepareOne,
    async prepare() {
      await Promise.all([
        prepareOne('the state store', async () => {
          await given.prepare?.()
          await owner.claim()
          await shared?.compare()
          const policy = await evictionPolicyOf(given)
          if (policy !== null)
            log.warn(
              ...logLine(
                'FST_AUTHORITY_EVICTION',
                `the Redis with the state has maxmemory-policy ${policy}, so it may throw sign-ins and ` +
                  'signing keys away when its memory is full. Set it to noeviction.'
              )
            )
        }),
        ...(counters === null || settings.rateLimit === false
          ? []
          : [
              prepareOne(
                'the rate limit store',
                async () => {
                  await counters.prepare()
                  const policy = await counters.evictionPolicy()
                  if (policy !== null)
                    log.warn(
                      ...logLine(
                        'FST_AUTHORITY_EVICTION',
                        `the Redis with the rate limits has maxmemory-policy ${policy}, so it may forget attempts ` +
                          'when its memory is full, and let more through than the limits say. Set it to noeviction.'
                      )
                    )
                },
                `rateLimit.onStoreError ('${settings.rateLimit.onStoreError}') says what counts`
              )
            ]),
        ...(factors === null
          ? []
          : [
              prepareOne('the factor store', async () => {
                await factors.prepare?.()
                // Without a secret, only this process can open what it seals, so there is no seal to compare.
                if (settings.secrets.length > 0)
                  await checkFactorSeal(factors, {
                    issuer: settings.issuer,
                    seals: settings.shared.factors?.seals === true,
                    sealer: factorSealer(settings.secrets, systemRandom())
                  })
                if ((await isAppendOnly(factors)) === false)
                  log.warn(
                    ...logLine(
                      'FST_AUTHORITY_UNSAFE',
                      'the Redis with the second factors has no append-only file, so a crash loses those that ' +
                        'were added last, and recovery codes that were used count again. Set appendonly to yes, or ' +
                        'keep them in a database.'
                    )
                  )
              })
            ]),
        prepareOne('the user store', async () => {
          await preparationOf(settings.users)?.()
        })
      ])
    },

    async sweep() {
      memoryAttempts.sweep()
      // If the clocks can't be compared, the former difference stays. The next sweep, a minute later, tries again.
      await shared?.compare().catch(() => {})
      await state.sweep(clock.now())
      await factors?.sweep?.(clock.now())
    }
  }
}

function tracedState(state: State): State {
  return { ...state, ...changedStores(state, (store, name) => tracedStore(name, store)) }
}

async function evictionPolicyOf(state: State & Partial<Pick<RedisState, 'evictionPolicy'>>): Promise<string | null> {
  return (await state.evictionPolicy?.()) ?? null
}

/** True if the Redis of the store writes an append-only file. `null` if the store cannot tell. */
async function isAppendOnly(
  store: FactorStore & Partial<Pick<RedisFactorStore, 'isAppendOnly'>>
): Promise<boolean | null> {
  return (await store.isAppendOnly?.()) ?? null
}

/** The `prepare` of the user store, which may create its tables. `undefined` if the store has none. */
function preparationOf(users: UserStore & { prepare?: unknown }): (() => Promise<void>) | undefined {
  const { prepare } = users
  return typeof prepare === 'function'
    ? async () => {
        await (prepare as () => Promise<void>).call(users)
      }
    : undefined
}

/**
 * The rules for rows of a client store. With managed keys, ID tokens may use only RS256 and ES256, which have keys
 * whenever ID tokens are issued.
 */
function clientRules({ features, apis: { scopes, resources }, keys, accessToken, acrValues }: Settings): ClientRules {
  const reserved = reservedIds(accessToken, resources)
  const listed = Array.isArray(keys) ? keys.map(({ alg }) => alg).filter((alg) => typeof alg === 'string') : null
  return {
    scopes,
    features,
    reserved,
    acrValues,
    grants: DECLARED_GRANTS,
    algorithms: keys === null ? ['RS256', 'ES256'] : listed
  }
}

function registeredClients(clients: Client[]): ClientStore {
  const byId = new Map(clients.map((client) => [client.clientId, client]))
  return { findById: async (clientId) => byId.get(clientId) ?? null }
}
