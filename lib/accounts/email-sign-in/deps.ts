import type { OneTimeTokenStore } from '../../ports/one-time-token-store.ts'
import type { Sealer } from '../../ports/sealer.ts'

/** What sign-in by e-mail needs, where the option `emailSignIn` is set. */
export interface EmailSignIn {
  /** The HMAC key for the digests of codes and for what stands for names in the store. */
  key: Uint8Array
  /** Seals the cookie that the browser carries between asking for a code and entering it, and links. */
  sealer: Sealer
  expiresInMs: number
  /** Whether messages have a link. */
  link: boolean
  /** Whether an address that nobody has can become an account. */
  signUp: boolean
  redeemCode: NonNullable<OneTimeTokenStore['redeemCode']>
}
