import type { GrantDeps } from '../oauth/deps.ts'
import type { ConsentStore } from '../ports/consent-store.ts'
import type { Browser, BrowserSessions } from '../sessions/browser-sessions.ts'
import type { IdTokens } from '../tokens/id-tokens.ts'

/** What the browser journey needs: what the grants do, for a code begins with it, and the browser's own. */
export interface AuthorizeDeps extends GrantDeps {
  browserSessions: BrowserSessions
  consents: ConsentStore
  idTokens: IdTokens
  issuer: string
  authorizationCode: { expiresInMs: number }
  /** Whether a person can make an account, on our page or on the host's. */
  canSignUp: boolean
}

/** The browser that asks. */
export interface BrowserContext extends Pick<Browser, 'session' | 'origin'> {
  /** The page of ours that the person has just answered with this request: it signed them in, or told them what the client asks for. */
  answered?: 'sign_in' | 'consent'
}
