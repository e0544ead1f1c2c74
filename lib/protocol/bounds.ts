/**
 * The upper bound of the options that limit a user's sessions of one kind. A sign-in reads all of them in one step that
 * blocks the store: 2,000 take 23 ms on Redis.
 */
const MAX_PER_USER = 1000
/** The maximum number of users with one email that a store returns. */
export const MOST_WITH_ONE_EMAIL = 10
/**
 * The highest `max` of a rate limit. Each attempt reads all attempts that its counter has kept: at 10,000, a refusal
 * takes Redis 0.4 ms.
 */
export const MAX_COUNTED = 10_000

/**
 * Checks the maximum number of sessions of each kind per user.
 * @throws RangeError with the name of the bound and the reason for the limit
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
 * Refuses options that the store does not have, because a misspelled option would otherwise be ignored silently.
 * @throws TypeError with the name of the option
 */
export function noOthers(store: string, others: object): void {
  const [name] = Object.keys(others)
  if (name !== undefined) throw new TypeError(`${store} takes no option "${name}".`)
}

/** The maximum length of a user agent that is kept, in UTF-16 code units. */
export const MAX_USER_AGENT = 256
/** The maximum length of a profile text from a provider, in characters. */
export const MAX_CLAIM = 2048
/** The maximum bytes of the `jti` of a JWT that another party made. */
export const MAX_JTI_BYTES = 256

/**
 * The maximum parameters of an argon2 hash, both of the options and of a stored hash. `memoryCost` in KiB; `work` is
 * `memoryCost × timeCost`: about a second of a core.
 */
export const ARGON2_MAX = { memoryCost: 262_144, timeCost: 16, parallelism: 16, work: 2 ** 20 }

/**
 * A text without NUL, because some drivers cut the text off there, and without lone surrogates, which UTF-8 can't
 * encode.
 */
export const STORABLE = /^[^\0\p{Cs}]*$/u

/** True if every database stores the text unchanged, so that two different names stay different. */
export const isStorable = (text: string): boolean => STORABLE.test(text)

/**
 * A character that is not visible or changes the writing direction: control and format characters, lone surrogates,
 * line and paragraph separators, and blank fillers. Excludes the two variation selectors for text and emoji style.
 */
export const UNSEEN = /(?![\ufe0e\ufe0f])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u

/** The longest lifetime of an emailed code in seconds. @see NIST SP 800-63B-4 §3.1.3.2, OWASP ASVS 5.0 6.5.5 */
export const MAX_CODE_SECONDS = 600
