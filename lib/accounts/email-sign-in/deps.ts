import type { OneTimeTokenStore } from '../../ports/one-time-token-store.ts'
import type { Sealer } from '../../ports/sealer.ts'

/** What sign-in by e-mail needs, where the option `emailSignIn` is set. */
export interface EmailSignIn {
  /** Of the digests of codes, and of what stands for addresses. */
  key: Uint8Array
  /** For what the browser carries between asking and entering, and for links. */
  sealer: Sealer
  expiresInMs: number
  /** Whether messages have a link. */
  link: boolean
  /** Whether an address that nobody has can become an account. */
  signUp: boolean
  redeemCode: NonNullable<OneTimeTokenStore['redeemCode']>
}
