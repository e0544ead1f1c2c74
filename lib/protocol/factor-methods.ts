/** The factors that users can set up besides a password, by their names in options and answers. */
export const FACTOR_METHODS = ['totp', 'passkey', 'recovery_code'] as const
export type FactorMethod = (typeof FACTOR_METHODS)[number]
