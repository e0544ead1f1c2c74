/** The features. Each has one line here, and the kernel asks them in the order of their `needs`. */
export { account } from './own-account/feature.ts'
export { apiKeys } from './api-keys/feature.ts'
export { connections } from './connections/feature.ts'
export { dpop } from './dpop/feature.ts'
export { emailCodes } from './email-codes/feature.ts'
export { passkeys } from './passkeys/feature.ts'
export { secondFactors } from './second-factors/feature.ts'
export { totp } from './totp/feature.ts'
