/** What people can set up beside a password, by the names that options and answers have for it. */
export const FACTOR_METHODS = ['totp', 'passkey', 'recovery_code'] as const
export type FactorMethod = (typeof FACTOR_METHODS)[number]
