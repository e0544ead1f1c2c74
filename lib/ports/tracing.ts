import { type TracingChannel, tracingChannel } from 'node:diagnostics_channel'

/** The work that can be watched, with what is told of each piece. All of it comes out of closed lists. */
interface TracedWork {
  /** One password hashed or verified; how long it ran. */
  hash: object
  /** How long it waited for its turn before. */
  hash_wait: object
  /** One call of a store. */
  store: { store: StoreName, operation: string }
  /** One request of the token endpoint whose grant is known. */
  token: { grantType: string }
}

export type TraceName = keyof TracedWork

/** What subscribers of `tracing:fastify-authority.<name>:*` get. No answer of a store and no error of one, which may hold more than a name. */
export type TraceContext<Name extends TraceName = TraceName> = TracedWork[Name] & { error?: Error }

/** Every call that is watched, by store. What a store lacks is left out. */
export const STORE_OPERATIONS = {
  users: ['findById', 'findByUsername', 'create', 'setPasswordHash', 'setEmailVerified', 'update', 'remove', 'findByIdentity', 'createWithIdentity', 'linkIdentity', 'unlinkIdentity', 'listIdentities', 'useIdentity'],
  clients: ['findById'],
  factors: ['findFactors', 'findByHandle', 'claimHandle', 'addTotp', 'addPasskey', 'useTotp', 'usePasskey', 'useRecoveryCode', 'replaceRecoveryCodes', 'countFailure', 'removeFactor', 'renameFactor', 'forgetDevices', 'removeFactorsOfUser'],
  tokens: ['createFamily', 'createCode', 'redeemCode', 'findFamily', 'peekToken', 'useToken', 'rotateToken', 'undoRotation', 'revokeFamily', 'revokeFamiliesOfUser', 'revokeSession', 'revokeFamiliesOfClient', 'listFamiliesOfUser'],
  one_time_tokens: ['put', 'find', 'consume', 'discard', 'redeemCode'],
  browser_sessions: ['createSession', 'findSession', 'useSession', 'renewSession', 'revokeSessionsOfUser', 'listSessionsOfUser'],
  consents: ['findConsent', 'grantConsent', 'revokeConsent', 'listConsents'],
  keys: ['list', 'addIfAbsent', 'remove'],
  assertions: ['claim'],
  attempts: ['reserve', 'refund']
} as const

export type StoreName = keyof typeof STORE_OPERATIONS

/** Names of Node.js tracing channels, each for one kind of work. */
export const TRACES = { hash: 'fastify-authority.hash', hash_wait: 'fastify-authority.hash_wait', store: 'fastify-authority.store', token: 'fastify-authority.token' } as const satisfies Record<TraceName, string>

const CHANNELS = Object.fromEntries(Object.entries(TRACES).map(([name, channel]) => [name, tracingChannel(channel)])) as Record<TraceName, TracingChannel>

export function isTraced (name: TraceName): boolean {
  return CHANNELS[name].hasSubscribers
}

/**
 * Does the work, and tells the tracing channel of its beginning and its end. Where nobody listens it is the work alone. Subscribers learn
 * neither what it answered nor what it threw, for a store's answer may hold a hash and its error a command: of an error, its name alone.
 */
export async function traced<Name extends TraceName, Answer> (name: Name, facts: TracedWork[Name], work: () => Answer | Promise<Answer>): Promise<Answer> {
  if (!isTraced(name)) return await work()
  const outcome: { answer?: Answer, thrown?: { error: unknown } } = {}
  await CHANNELS[name].tracePromise(async () => {
    try {
      outcome.answer = await work()
    } catch (error) {
      outcome.thrown = { error }
    }
    if (outcome.thrown !== undefined) throw new Error(outcome.thrown.error instanceof Error ? outcome.thrown.error.name : 'Error')
  }, { ...facts }).catch(() => {})
  if (outcome.thrown !== undefined) throw outcome.thrown.error
  return outcome.answer as Answer
}

/** The store with each call watched. A call that nobody watches is that of the store, answered in the same tick where the store does. */
export function tracedStore<Store extends object> (store: StoreName, methods: Store): Store {
  const given = methods as Readonly<Record<string, ((...args: unknown[]) => unknown) | undefined>>
  return { ...methods, ...Object.fromEntries(STORE_OPERATIONS[store].flatMap((operation) => {
    const method = given[operation]
    if (method === undefined) return []
    return [[operation, (...args: unknown[]) => isTraced('store') ? traced('store', { store, operation }, () => method.apply(methods, args)) : method.apply(methods, args)]]
  })) }
}
