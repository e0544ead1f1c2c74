import type { FastifyBaseLogger } from 'fastify'
import { memoryAttemptStore } from './adapters/memory/attempt-store.ts'
import { memoryState } from './adapters/memory/state.ts'
import { systemClock } from './adapters/node/system-clock.ts'
import { redisAttemptStore } from './adapters/redis/attempt-store.ts'
import type { RedisClient } from './adapters/redis/connection.ts'
import { sharedConnection } from './adapters/redis/shared-connection.ts'
import { redisState, type RedisState } from './adapters/redis/state.ts'
import { StartError } from './errors.ts'
import type { Events } from './events.ts'
import { type AuthorityOptions, DEFAULTS } from './options.ts'
import type { AttemptStore } from './ports/attempt-store.ts'
import type { Client, ClientStore } from './ports/client-store.ts'
import type { Clock } from './ports/clock.ts'
import type { State } from './ports/state.ts'
import type { UserStore } from './ports/user-store.ts'
import { messageOf, outageReports } from './services-outages.ts'
import { boundedClientStore, boundedUserStore } from './stores/host-stores.ts'
import { sharedClock } from './stores/shared-clock.ts'
import { surviveStateOutages } from './stores/state-outages.ts'
import { within } from './stores/within.ts'

/** What holds the data, behind time limits. */
export interface Stores {
  clock: Clock
  state: State
  users: UserStore
  clients: ClientStore
  attempts: AttemptStore
  /** Whether the state counts attempts of this store in one step with what is attempted. */
  countsFor(attempts: AttemptStore): boolean
  /** Looks whether the stores can be worked with. @throws StartError for what only a person can mend; an outage is logged */
  prepare(): Promise<void>
  /** Removes what has expired, and looks at the shared clock. */
  sweep(): Promise<void>
}

/** A start waits no longer than this for its stores: Fastify gives up on a plugin after 10 s. */
const START_BUDGET_MS = 8000
/** Of the look at the server's clock, which nothing behind it may wait for any longer. */
const CLOCK_BUDGET_MS = 2000

/** The stores that the options name, and the clock that all instances of them share. */
export function connectStores (options: AuthorityOptions, { redis, events, log }: { redis: RedisClient | undefined, events: Events, log: FastifyBaseLogger }): Stores {
  const ownClock = options.clock ?? systemClock
  const given = options.state ?? (redis === undefined ? memoryState() : redisState(redis))
  const shared = options.clock !== undefined || given.time === undefined
    ? null
    : sharedClock({
      clock: ownClock,
      time: async () => await within(CLOCK_BUDGET_MS, ownClock, async () => await (given.time as () => Promise<number>)()),
      onSkew: (skewMs) => { log.warn({ skewMs }, 'fastify-authority: this machine\'s clock differs from that of the server with the state, whose time is used. Set this machine\'s clock.') }
    })
  const clock = shared ?? ownClock
  const memoryAttempts = memoryAttemptStore({ clock })
  const prefix = options.rateLimit === false ? undefined : options.rateLimit?.prefix

  async function prepareOne (name: string, prepare: () => Promise<void>): Promise<void> {
    try {
      await within(START_BUDGET_MS, clock, prepare)
    } catch (error) {
      if (error instanceof StartError) throw error
      log.error({ reason: messageOf(error) }, `fastify-authority: ${name} does not answer; requests get 503 until it does`)
    }
  }

  return {
    clock,
    state: given.kind === 'memory'
      ? given
      : surviveStateOutages(given, {
        clock,
        graceMs: (options.refreshToken?.reuseGraceSeconds ?? DEFAULTS.refreshToken.reuseGraceSeconds) * 1000,
        ...outageReports('state', 'the state store', { events, log })
      }),
    users: boundedUserStore(options.users, clock),
    clients: Array.isArray(options.clients) || options.clients === undefined ? registeredClients(options.clients ?? []) : boundedClientStore(options.clients, clock),
    attempts: redis === undefined
      ? memoryAttempts
      // By the server's clock, unless a test steps one.
      : redisAttemptStore(sharedConnection(redis), { ...(prefix === undefined ? {} : { prefix }), ...(options.clock === undefined ? {} : { now: () => ownClock.now() }) }),

    countsFor: (attempts) => given.countsFor?.(attempts) ?? false,

    async prepare () {
      await Promise.all([
        prepareOne('the state store', async () => {
          await given.prepare?.()
          await shared?.compare()
          const policy = await evictionPolicyOf(given)
          if (policy !== null) log.warn(`fastify-authority: Redis has maxmemory-policy ${policy}, so it may throw sessions away when its memory is full. Set it to noeviction.`)
        }),
        prepareOne('the user store', async () => { await preparationOf(options.users)?.() })
      ])
    },

    async sweep () {
      memoryAttempts.sweep()
      // A clock that can't be compared now stays as it was; the next minute looks again.
      await shared?.compare().catch(() => {})
      await given.sweep(clock.now())
    }
  }
}

async function evictionPolicyOf (state: State & Partial<Pick<RedisState, 'evictionPolicy'>>): Promise<string | null> {
  return await state.evictionPolicy?.() ?? null
}

/** A user store of ours may have tables to make. */
function preparationOf (users: UserStore & { prepare?: unknown }): (() => Promise<void>) | undefined {
  const { prepare } = users
  return typeof prepare === 'function' ? async () => { await (prepare as () => Promise<void>).call(users) } : undefined
}

function registeredClients (clients: Client[]): ClientStore {
  const byId = new Map(clients.map((client) => [client.clientId, client]))
  return { findById: async (clientId) => byId.get(clientId) ?? null }
}
