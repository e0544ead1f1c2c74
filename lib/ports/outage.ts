/**
 * A server is unreachable or timed out, so the call may have taken effect or not. A state store with a server throws
 * this class, or sets `isOutage: true` on its own errors. Any other error concerns only the call that failed.
 */
export class OutageError extends Error {
  readonly isOutage = true
  /** True if only writes fail and reads may still be answered. */
  readonly refusesWrites: boolean

  constructor(message: string, { refusesWrites = false, ...options }: ErrorOptions & { refusesWrites?: boolean } = {}) {
    super(message, options)
    this.refusesWrites = refusesWrites
  }
}

/**
 * The number of timers that make up the time limit of a call. If the event loop was blocked, only one timer is late,
 * and the process reads the replies that arrived before the next timer. So a blocked process does not take a store for
 * unreachable.
 */
export const DEADLINE_STEPS = 5

/** True if the error says that the server accepts no write now: a replica, a full disk. */
export const refusesWrites = (error: unknown): boolean =>
  error instanceof Error && 'refusesWrites' in error && error.refusesWrites === true

/** Codes of Node.js for a server that is not there, or does not answer. */
const UNREACHABLE = [
  /^E(?:CONN(?:REFUSED|RESET|ABORTED)|PIPE|TIMEDOUT|(?:HOST|NET)(?:UNREACH|DOWN)|NOTFOUND|AI_AGAIN)$/,
  /^UND_ERR_(?:\w+_TIMEOUT|SOCKET)$/
]

/**
 * True for a known outage. If the error has `isOutage`, that value decides. Otherwise the `code` of the error must be a
 * Node.js code for an unreachable server, or its `cause` must be a known outage.
 */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if ('isOutage' in error) return error.isOutage === true
  if (
    'code' in error &&
    typeof error.code === 'string' &&
    UNREACHABLE.some((codes) => codes.test(error.code as string))
  )
    return true
  return error.cause instanceof Error && error.cause !== error && isOutage(error.cause)
}

/** The names of the calls that rejected with an error. Calls that share one statement reject with the same error. */
const failedCalls = new WeakMap<object, Set<string>>()

/**
 * Wraps the methods of a store. All wrapped methods are async. If a method rejects, remembers its name for the error,
 * so that the log can name the call.
 */
export function namingFailures<Store extends object>(store: string, methods: Store): Store {
  const named = Object.entries(methods).map(([name, method]: [string, unknown]) => [
    name,
    typeof method !== 'function'
      ? method
      : async (...args: unknown[]): Promise<unknown> => {
          try {
            return await (method as (...args: unknown[]) => unknown).apply(methods, args)
          } catch (error) {
            if (typeof error === 'object' && error !== null)
              failedCalls.set(error, (failedCalls.get(error) ?? new Set()).add(`${store}.${name}`))
            throw error
          }
        }
  ])
  return Object.fromEntries(named) as Store
}

/** The calls that rejected with the error, such as `users.create`, joined by `or`. `null` if unknown. */
export function failedCallOf(error: unknown): string | null {
  const names = typeof error === 'object' && error !== null ? failedCalls.get(error) : undefined
  return names === undefined ? null : [...names].join(' or ')
}
