import { lazily } from '../../accounts/lazily.ts'

/** The part of the grants that handles second factors. */
export const withMfa = lazily(async () => await import('./mfa.ts'))
