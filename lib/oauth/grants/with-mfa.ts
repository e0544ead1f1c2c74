import { lazily } from '../../accounts/lazily.ts'

/** What grants do about second factors. */
export const withMfa = lazily(async () => await import('./mfa.ts'))
