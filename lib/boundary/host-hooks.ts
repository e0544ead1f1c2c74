import { misfit } from '../errors.ts'
import type { Clock } from '../ports/clock.ts'
import { HOST_BUDGET_MS, isNone, isPromise, within } from './answers.ts'

/** Checks and converts a hook's answer. @throws MisfitError for an invalid answer */
type ReadAnswer<Answer> = (answer: unknown) => Answer

/** Wraps a host's hook: it settles within five seconds, and every result is checked. */
export function hostHook<Args extends unknown[], Answer>(
  hook: (...args: Args) => unknown,
  read: ReadAnswer<Answer>,
  clock: Clock
): (...args: Args) => Promise<Answer> {
  return async (...args) => read(await within<unknown>(HOST_BUDGET_MS, clock, () => hook(...args)))
}

/**
 * The result of a synchronous hook. A promise is refused, and its rejection is caught, because an unhandled rejection
 * would end the process.
 * @throws MisfitError
 */
export function atOnce<Answer>(answer: Answer, source: string): Answer {
  if (isPromise(answer)) {
    Promise.resolve(answer).catch(() => {})
    throw misfit('hook', { source, got: answer, takes: 'an answer at once, and no promise' })
  }
  return answer
}

/** True if JSON can't contain the value. False for `undefined`, which JSON leaves out. */
function isNoJson(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) {
    try {
      JSON.stringify(value)
      return false
    } catch {
      return true
    }
  }
  return typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint'
}

/**
 * Checks the results of hooks. `undefined` and `null` mean "none": no claims, not breached, no key of the host's own,
 * no valid API key, the usual answer, the built-in page. `mfa.required` and `password.hasher` reject them.
 * `sendMessage` is missing, because its result is ignored. `admin` and `connections` check the results of their own
 * hooks.
 */
export const HOOK_ANSWERS = {
  claims(answer: unknown): Record<string, unknown> {
    if (isNone(answer)) return {}
    if (typeof answer !== 'object' || Array.isArray(answer))
      throw misfit('hook', { source: 'claims', got: answer, takes: 'an object of claims' })
    const claims = answer as Record<string, unknown>
    for (const name in claims)
      if (isNoJson(claims[name]))
        throw misfit('hook', { source: 'claims', field: name, got: claims[name], takes: 'what JSON can hold' })
    return claims
  },

  'password.isBreached'(answer: unknown): boolean {
    if (isNone(answer)) return false
    if (typeof answer !== 'boolean')
      throw misfit('hook', {
        source: 'password.isBreached',
        got: answer,
        takes: 'true or false: count > 0 makes one of a number'
      })
    return answer
  },

  'password.hasher.hash'(answer: unknown): string {
    if (typeof answer !== 'string' || answer === '')
      throw misfit('hook', { source: 'password.hasher.hash', got: answer, takes: 'a PHC string' })
    return answer
  },

  'password.hasher.verify'(answer: unknown): boolean {
    if (typeof answer !== 'boolean')
      throw misfit('hook', { source: 'password.hasher.verify', got: answer, takes: 'true or false' })
    return answer
  },

  /** `''`: the host chose no key, and the limit counts by the client address. */
  'rateLimit.key'(answer: unknown): string {
    if (isNone(answer)) return ''
    if (typeof answer !== 'string') throw misfit('hook', { source: 'rateLimit.key', got: answer, takes: 'a string' })
    return answer
  },

  'rateLimit.apiKey.verify'(answer: unknown): boolean | { max: number } {
    if (isNone(answer)) return false
    if (typeof answer === 'boolean') return answer
    if (typeof answer !== 'object' || Array.isArray(answer))
      throw misfit('hook', { source: 'rateLimit.apiKey.verify', got: answer, takes: 'true, false or { max }' })
    const { max } = answer as { max?: unknown }
    if (!Number.isInteger(max) || (max as number) < 1)
      throw misfit('hook', {
        source: 'rateLimit.apiKey.verify',
        field: 'max',
        got: max,
        takes: 'a whole number from 1'
      })
    return { max: max as number }
  },

  'rateLimit.onLimit'(answer: unknown): unknown {
    if (isNone(answer)) return undefined
    // A stream is sent as it is.
    const isStream = typeof answer === 'object' && 'pipe' in answer && typeof answer.pipe === 'function'
    if (!isStream && isNoJson(answer))
      throw misfit('hook', {
        source: 'rateLimit.onLimit',
        got: answer,
        takes: "the body of the answer, which is sent for it: no reply, and nothing that JSON can't hold"
      })
    return answer
  },

  /** Rejects `undefined`, because a hook that forgets to return must not mean "not required". */
  'mfa.required'(answer: unknown): boolean {
    if (typeof answer !== 'boolean')
      throw misfit('hook', { source: 'mfa.required', got: answer, takes: 'true or false' })
    return answer
  },

  'pages.render'(answer: unknown): string | undefined {
    if (isNone(answer)) return undefined
    if (typeof answer !== 'string')
      throw misfit('hook', {
        source: 'pages.render',
        got: answer,
        takes: 'a string of HTML, or nothing for the built-in page'
      })
    return answer
  }
} as const satisfies Record<string, ReadAnswer<unknown>>
