import type { GrantDeps } from '../oauth/deps.ts'
import type { ConsentStore } from '../ports/state.ts'
import type { Browser, BrowserSessions } from '../sessions/browser-sessions.ts'
import type { IdTokens } from '../tokens/id-tokens.ts'
import type { AuthorizeSlots } from './slots.ts'

/**
 * Dependencies of the browser journey, besides those of the grants, because it begins what the code grant continues.
 */
export interface AuthorizeDeps extends GrantDeps {
  browserSessions: BrowserSessions
  consents: ConsentStore
  idTokens: IdTokens
  issuer: string
  authorizationCode: { expiresInMs: number }
  /** True if a person can make an account, on our page or on the host's. */
  canSignUp: boolean
  /** The values of `acr` that this configuration can give. */
  acrValues: readonly string[]
  /** True if people sign in on a page of ours, which can ask them for missing steps. */
  hostedSignIn: boolean
  /** The slots of the features that are on. */
  slots: readonly AuthorizeSlots[]
}

/** Tells a developer of a mistake. */
export interface Advised {
  accounts: Pick<AuthorizeDeps['accounts'], 'advise'>
}

/** The browser of the request. */
export interface BrowserContext extends Pick<Browser, 'session' | 'origin' | 'remembered'> {
  /** The page of ours that this request answers: the sign-in page, or the consent page. */
  answered?: 'sign_in' | 'consent'
}
