import type { AccountsDeps } from '../../accounts/deps.ts'
import type { OneTimeTokenStore } from '../../ports/state.ts'
import type { Sealer } from '../../ports/cryptography.ts'

/** The option `emailSignIn`, where it is set. */
export interface EmailSignInSettings {
  /** True if an address without a user can become an account. */
  signUp: boolean
  /** True if messages have a link. */
  link: boolean
  expiresInMs: number
}

/** The parts of sign-in by email, if the option `emailSignIn` is set. */
interface EmailSignIn extends EmailSignInSettings {
  /** The HMAC key for the digests of codes and for what stands for names in the store. */
  key: Uint8Array
  /** Seals the cookie that the browser carries between asking for a code and entering it, and links. */
  sealer: Sealer
  redeemCode: NonNullable<OneTimeTokenStore['redeemCode']>
}

/** Further dependencies of the use cases. */
export type EmailSignInDeps = AccountsDeps & { emailSignIn: EmailSignIn }
