import { type TracingChannel, tracingChannel } from 'node:diagnostics_channel'
import type { ApiKeyStore } from './api-key-store.ts'
import type { AssertionStore, ConsentStore, KeyStore, OneTimeTokenStore } from './state.ts'
import type { AttemptStore } from './attempt-store.ts'
import type { ClientStore } from './client-store.ts'
import type { DeviceStore } from './device-store.ts'
import type { FactorStore } from './factor-store.ts'
import type { SessionStore } from './session-store.ts'
import type { TokenStore } from './token-store.ts'
import type { UserStore } from './user-store.ts'

/** The traced kinds of work, with their facts. All values come from closed lists. */
interface TracedWork {
  /** Hashing or verifying one password, without the wait before it. */
  hash: object
  /** The wait of one password for its turn to be hashed or verified. */
  hash_wait: object
  /** One call of a store. */
  store: { store: StoreName; operation: string }
  /** One request of the token endpoint whose grant is known. */
  token: { grantType: string }
}

export type TraceName = keyof TracedWork

/**
 * The argument of subscribers of `tracing:fastify-authority.<name>:*`. `error` has only the name of the real error.
 * Results and error messages are left out, because they may contain secrets.
 */
export type TraceContext<Name extends TraceName = TraceName> = TracedWork[Name] & { error?: Error }

/**
 * The names of all methods of a port. The type requires every method, because a method that is missing from the list is
 * not traced.
 */
const methodsOf = <Store extends object>(names: Record<keyof Store, 1>): readonly string[] => Object.keys(names)

/** The operations to trace, by store. `tracedStore` skips a method that a store does not implement. */
export const STORE_OPERATIONS = {
  users: methodsOf<UserStore>({
    findById: 1,
    findByUsername: 1,
    findByEmail: 1,
    list: 1,
    create: 1,
    setPasswordHash: 1,
    setEmailVerified: 1,
    update: 1,
    setDisabled: 1,
    remove: 1,
    findByIdentity: 1,
    createWithIdentity: 1,
    linkIdentity: 1,
    unlinkIdentity: 1,
    listIdentities: 1,
    useIdentity: 1
  }),
  clients: methodsOf<ClientStore>({ findById: 1 }),
  factors: methodsOf<Omit<FactorStore, 'kind' | 'durable' | 'prepare' | 'pending' | 'sweep' | 'keepSeal'>>({
    findFactors: 1,
    findByHandle: 1,
    claimHandle: 1,
    addTotp: 1,
    addPasskey: 1,
    useTotp: 1,
    usePasskey: 1,
    useRecoveryCode: 1,
    replaceRecoveryCodes: 1,
    setTwoStep: 1,
    countFailure: 1,
    removeFactor: 1,
    removeProvisional: 1,
    renameFactor: 1,
    forgetDevices: 1,
    removeFactorsOfUser: 1
  }),
  api_keys: methodsOf<Omit<ApiKeyStore, 'kind' | 'durable' | 'prepare' | 'pending' | 'sweep'>>({
    create: 1,
    list: 1,
    find: 1,
    touch: 1,
    revoke: 1,
    revokeAll: 1
  }),
  tokens: methodsOf<TokenStore>({
    createFamily: 1,
    createCode: 1,
    redeemCode: 1,
    findFamily: 1,
    peekToken: 1,
    useToken: 1,
    rotateToken: 1,
    undoRotation: 1,
    revokeFamily: 1,
    revokeFamiliesOfUser: 1,
    revokeSession: 1,
    revokeFamiliesOfClient: 1,
    listFamiliesOfUser: 1
  }),
  one_time_tokens: methodsOf<OneTimeTokenStore>({ put: 1, find: 1, consume: 1, discard: 1, redeemCode: 1 }),
  browser_sessions: methodsOf<SessionStore>({
    createSession: 1,
    findSession: 1,
    useSession: 1,
    renewSession: 1,
    revokeSessionsOfUser: 1,
    listSessionsOfUser: 1
  }),
  consents: methodsOf<ConsentStore>({ findConsent: 1, grantConsent: 1, revokeConsent: 1, listConsents: 1 }),
  keys: methodsOf<KeyStore>({ list: 1, addIfAbsent: 1, retire: 1, remove: 1 }),
  assertions: methodsOf<AssertionStore>({ claim: 1 }),
  devices: methodsOf<DeviceStore>({ create: 1, claim: 1, decide: 1, poll: 1 }),
  attempts: methodsOf<AttemptStore>({ reserve: 1, refund: 1 })
} as const

type StoreName = keyof typeof STORE_OPERATIONS

/** Names of Node.js tracing channels, each for one kind of work. */
export const TRACES = {
  hash: 'fastify-authority.hash',
  hash_wait: 'fastify-authority.hash_wait',
  store: 'fastify-authority.store',
  token: 'fastify-authority.token'
} as const satisfies Record<TraceName, string>

const CHANNELS = Object.fromEntries(
  Object.entries(TRACES).map(([name, channel]) => [name, tracingChannel(channel)])
) as Record<TraceName, TracingChannel>

export function isTraced(name: TraceName): boolean {
  return CHANNELS[name].hasSubscribers
}

/**
 * Runs the work, and publishes its start and end on the tracing channel. Without subscribers it only runs the work.
 * Subscribers get no result and only the name of an error, because a result of a store may contain a hash, and an error
 * may contain a database command with its values.
 */
export async function traced<Name extends TraceName, Answer>(
  name: Name,
  facts: TracedWork[Name],
  work: () => Answer | Promise<Answer>
): Promise<Answer> {
  if (!isTraced(name)) return await work()
  const outcome: { answer?: Answer; thrown?: { error: unknown } } = {}
  await CHANNELS[name]
    .tracePromise(
      async () => {
        try {
          outcome.answer = await work()
        } catch (error) {
          outcome.thrown = { error }
        }
        if (outcome.thrown !== undefined)
          throw new Error(outcome.thrown.error instanceof Error ? outcome.thrown.error.name : 'Error')
      },
      { ...facts }
    )
    .catch(() => {})
  if (outcome.thrown !== undefined) throw outcome.thrown.error
  return outcome.answer as Answer
}

/**
 * Traces each call of the store. Without subscribers, a call goes straight to the store and may return its result at
 * once.
 */
export function tracedStore<Store extends object>(store: StoreName, methods: Store): Store {
  const given = methods as Readonly<Record<string, ((...args: unknown[]) => unknown) | undefined>>
  return {
    ...methods,
    ...Object.fromEntries(
      STORE_OPERATIONS[store].flatMap((operation) => {
        const method = given[operation]
        if (method === undefined) return []
        return [
          [
            operation,
            (...args: unknown[]) =>
              isTraced('store')
                ? traced('store', { store, operation }, () => method.apply(methods, args))
                : method.apply(methods, args)
          ]
        ]
      })
    )
  }
}
