import { revocations, sessions as createSessions, type StayingSignIn } from '../../../lib/sessions/sessions.ts'
import { partitionOf } from '../../../lib/protocol/digest.ts'
import { setImmediate } from 'node:timers/promises'
import { memoryAttemptStore } from '../../../lib/adapters/memory/attempt-store.ts'
import { memoryState } from '../../../lib/adapters/memory/record-store.ts'
import { memoryUserStore } from '../../../lib/adapters/memory/user-store.ts'
import { systemRandom } from '../../../lib/adapters/node/system.ts'
import { createBackground } from '../../../lib/accounts/background.ts'
import type { AccountsDeps } from '../../../lib/accounts/deps.ts'
import type { ConnectionWay } from '../../../lib/ports/upstream.ts'
import { createOutbox } from '../../../lib/accounts/outbox.ts'
import { createPasswordHashing } from '../../../lib/accounts/password-hashing.ts'
import { passwordPolicyOptions } from '../../support/password-policy.ts'
import { createPasswordPolicy } from '../../../lib/accounts/password-policy.ts'
import { OAuthError } from '../../../lib/errors.ts'
import { EVENT_NAMES } from '../../../lib/events.ts'
import { createEvents } from '../../../lib/events/emitter.ts'
import { messageBound } from '../../../lib/limits/attempt.ts'
import type { Message, SendMessage } from '../../../lib/ports/message.ts'
import type { User, UserStore } from '../../../lib/ports/user-store.ts'
import { delayed, fastHasher, steppedClock } from '../../../lib/testing/doubles.ts'

/** The sid of the user's family of this readable name. */
export const sidFor = (userId: string, name: string): string => partitionOf(userId) + name

export const PASSWORD = 'correct horse battery'
export const NEXT_PASSWORD = 'staple and a new one'
export const origin = { requestId: 'req-1', ip: '192.0.2.1', userAgent: 'test' }

const parameters = { memoryCost: 64, timeCost: 1, parallelism: 1 }

export interface WorldOptions {
  verifyEmail?: boolean
  /** Default here: `any`. */
  usernames?: 'email' | 'any'
  enforcedDomains?: string[]
  /** True if messages are bounded per account. */
  bounded?: boolean
  /** `null`: none. */
  sendMessage?: SendMessage | null
  isBreached?: (password: string) => boolean
  concurrency?: number
  maxQueue?: number
  /** Users that are there from the start: those without a password. */
  initial?: User[]
  /** Changes the user store. */
  users?: (store: ReturnType<typeof memoryUserStore>) => UserStore
}

/** Everything the use cases need, in memory and over stores that answer late, with events and messages recorded. */
export async function world(options: WorldOptions = {}) {
  const clock = steppedClock()
  const store = memoryUserStore(options.initial)
  const state = memoryState()
  const attempts = memoryAttemptStore({ clock })
  const events = createEvents(
    () => clock.now(),
    (error) => {
      throw error
    }
  )
  const told: Array<{ name: string; payload: Record<string, unknown> }> = []
  for (const name of EVENT_NAMES)
    events.on(name, (payload) => {
      told.push({ name, payload: { ...payload } })
    })
  const hasher = fastHasher()
  const errors: Array<{ error: unknown; what: string }> = []
  const onError = (error: unknown, what: string): void => {
    errors.push({ error, what })
  }
  const messages: Message[] = []
  const send: SendMessage =
    options.sendMessage ??
    ((message) => {
      messages.push(message)
    })
  const secrets: string[] = []
  const hashing = createPasswordHashing(
    {
      ...parameters,
      concurrency: options.concurrency ?? 64,
      maxQueue: options.maxQueue ?? 64,
      peppers: [],
      firebase: null
    },
    {
      hasher,
      imported: {
        verify: async (hash, password) => (hash.kind === 'bcrypt' && password === PASSWORD ? 'match' : 'no_match')
      },
      events,
      clock,
      onUnusable() {}
    }
  )
  const rewritten = new Map<string, Partial<User> | null>()
  const asRewritten = (user: User | null): User | null => {
    const change = user === null ? undefined : rewritten.get(user.username)
    return user === null || change === null ? null : { ...user, ...change }
  }
  const users = options.users?.(store) ?? store
  const deps: AccountsDeps = {
    issuer: 'https://auth.example.com',
    service: 'https://auth.example.com/auth',
    accountUrl: null,
    undoUrl: null,
    advise() {},
    users: delayed({
      ...users,
      findById: async (id: string) => asRewritten(await users.findById(id)),
      findByUsername: async (name: string) => asRewritten(await users.findByUsername(name))
    }),
    hashing,
    policy: createPasswordPolicy(
      passwordPolicyOptions({ contextWords: ['authexample'], isBreached: options.isBreached ?? null }),
      {
        clock,
        onHookFailure(error) {
          onError(error, 'isBreached')
        }
      }
    ),
    oneTimeTokens: delayed(state.oneTimeTokens),
    codes: null,
    consents: delayed(state.consents),
    slots: [],
    messageBound: messageBound(options.bounded === true && { windowMs: 3_600_000, max: 3, count: 'all' }, {
      reserve: async (id, limits) => attempts.reserve(id, limits),
      refund: (id, limits) => attempts.refund(id, limits),
      random: systemRandom()
    }),
    sessions: {
      ...createSessions({
        tokens: delayed(state.tokens),
        browserSessions: delayed(state.browserSessions),
        oneTimeTokens: delayed(state.oneTimeTokens),
        revocations: revocations(900_000, clock),
        events,
        clock,
        onSessionsEnded() {}
      }),
      // The ids of these tests belong to no stored sign-in.
      isAlive: async () => true
    },
    background: createBackground({ clock, onError }),
    outbox:
      options.sendMessage === null
        ? null
        : createOutbox(send, {
            clock,
            events,
            advise() {},
            onError,
            localeOf: () => undefined,
            canReset: true,
            accountUrl: null
          }),
    usernames: options.usernames ?? 'any',
    verifyEmail: options.verifyEmail ?? false,
    connections: new Map([
      ['op', connectionWay(options.enforcedDomains)],
      ['other', connectionWay()]
    ]),
    withdraw: async () => {},
    messageUrl: (kind, token) => `https://auth.example.com/${kind}#token=${token}`,
    clock,
    random: {
      id: () => `id-${secrets.length}`,
      secret() {
        const secret = `secret-${String(secrets.length + 1).padStart(36, '0')}`
        secrets.push(secret)
        return secret
      }
    },
    events,
    onError
  }

  return {
    deps,
    clock,
    store,
    state,
    hasher,
    told,
    errors,
    messages,
    /** As events tell the time. */
    now: () => new Date(clock.now()).toISOString(),
    /** Every token that was made. */
    secrets,
    reasons: () => told.filter(({ name }) => name === 'login_failed').map(({ payload }) => payload.reason),
    count: (name: string) => told.filter((event) => event.name === name).length,
    /** The host changes a user by its own means; `null`: deletes them. */
    rewrite(username: string, change: Partial<User> | null): void {
      rewritten.set(username, change)
    },
    /** Waits for background work. */
    async idle() {
      await deps.background.idle()
      await turns()
    },
    /** A user whose password is `PASSWORD`, unless `fields` say otherwise. */
    async addUser(fields: Partial<User> = {}): Promise<User> {
      const { username = 'ada@example.com', passwordHash, ...rest } = fields
      return await store.create({
        email: 'ada@example.com',
        ...rest,
        username,
        passwordHash: passwordHash ?? (await hasher.hash(PASSWORD, parameters))
      })
    },
    /** A family of this readable name; `sidFor` has its whole name. */
    async addSession(userId: string, name: string): Promise<void> {
      const now = clock.now()
      await state.tokens.createFamily({
        sid: sidFor(userId, name),
        userId,
        clientId: null,
        scope: 'openid',
        authenticatedAt: now,
        acr: 'password',
        amr: ['pwd'],
        createdAt: now,
        lastUsedAt: now,
        expiresAt: now + 1e9,
        idleExpiresAt: now + 1e9,
        userAgent: null,
        sessionSid: null,
        offline: true,
        authorization: null,
        tokenDigest: `digest-${name}`
      })
    },
    /** The readable names of the user's families. */
    sids: async (userId: string) =>
      (await state.tokens.listFamiliesOfUser(userId, clock.now()))
        .map(({ sid }) => sid.replace(partitionOf(userId), ''))
        .toSorted((a, b) => a.localeCompare(b)),
    passwordHashOf: async (userId: string) => (await store.findById(userId))?.passwordHash,
    /** How many hashes ran, of either kind, during `act`; and its outcome. */
    async hashesOf(act: () => Promise<unknown>): Promise<{ hashes: number; outcome: Outcome }> {
      const before = hasher.calls.hash + hasher.calls.verify
      const outcome = await outcomeOf(act())
      return { hashes: hasher.calls.hash + hasher.calls.verify - before, outcome }
    }
  }
}

export type World = Awaited<ReturnType<typeof world>>
export type Outcome = 'done' | { error: string; message: string; statusCode: number; headers: unknown }

/** All of an error that can reach the wire. */
export async function outcomeOf(attempt: Promise<unknown>): Promise<Outcome> {
  try {
    await attempt
    return 'done'
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    return { error: error.error, message: error.message, statusCode: error.statusCode, headers: error.headers }
  }
}

/** Lets the event loop turn until pending callbacks have run. */
export async function turns(count = 50): Promise<void> {
  for (let turn = 0; turn < count; turn++) await setImmediate()
}

export const INVALID_LINK: Outcome = {
  error: 'invalid_token',
  message: 'The link is invalid or has expired.',
  statusCode: 400,
  headers: {}
}
export const WRONG_LOGIN: Outcome = {
  error: 'invalid_grant',
  message: 'The username or password is wrong.',
  statusCode: 400,
  headers: {}
}

/** The sign-in of this id, which shows no browser session. */
export const staying = (sid: string): StayingSignIn => ({ sid, browser: null })

/** A connection that is on and takes links of any issuer. */
export function connectionWay(enforcedDomains: string[] = []): ConnectionWay {
  return {
    domains: enforcedDomains,
    enforce: enforcedDomains.length > 0,
    acceptsIssuer: () => true,
    enabled: async () => true,
    withdraw: async () => {}
  }
}
