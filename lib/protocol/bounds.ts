/**
 * A sign-in looks at all that its user has, in one step that everything else in the store waits for: of 2,000 it takes
 * 23 ms on Redis.
 */
const MAX_PER_USER = 1000
/** How many users with one email a store answers with. */
export const MOST_WITH_ONE_EMAIL = 10
/** Each attempt looks at all that a rule counts: at 10,000, a refusal takes Redis 0.4 ms. */
export const MAX_COUNTED = 10_000

/**
 * How many sessions of each kind one user may have. @throws RangeError with the name of the bound, and why it has an
 * end
 */
export function checkPerUser(bounds: Readonly<Record<string, number>>): void {
  for (const [name, max] of Object.entries(bounds)) {
    if (!Number.isSafeInteger(max) || max < 1 || max > MAX_PER_USER)
      throw new RangeError(
        `${name} must be a whole number from 1 to ${MAX_PER_USER}: a sign-in looks at all that its ` +
          'user has, and everybody waits for it.'
      )
  }
}

/**
 * For what is left of a store's options when those that it knows are taken: a misspelt one would count for nothing, and
 * nobody told. @throws TypeError with its name
 */
export function noOthers(store: string, others: object): void {
  const [name] = Object.keys(others)
  if (name !== undefined) throw new TypeError(`${store} takes no option "${name}".`)
}

/** The most of `memoryCost × timeCost` of an argon2 hash that is run: about a second of a core. */
export const ARGON2_MAX_WORK = 2 ** 20

/** A text without NUL, where some drivers cut it off, and without lone surrogates, which UTF-8 can't hold. */
export const STORABLE = /^[^\0\p{Cs}]*$/u

/** True if every database can store the text, so that two names can't become one there. */
export const isStorable = (text: string): boolean => STORABLE.test(text)
