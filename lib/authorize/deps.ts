import type { GrantDeps } from '../oauth/deps.ts'
import type { BrowserSession } from '../ports/session-store.ts'
import type { ConsentStore } from '../ports/consent-store.ts'
import type { Origin } from '../sessions/sessions.ts'
import type { BrowserSessions } from '../sessions/browser-sessions.ts'
import type { IdTokens } from '../tokens/id-tokens.ts'

/** What the browser journey needs. */
export interface AuthorizeDeps {
  grants: GrantDeps
  browserSessions: BrowserSessions
  consents: ConsentStore
  idTokens: IdTokens
  issuer: string
  authorizationCode: { expiresInMs: number }
  /** Whether a person can make an account, on our page or on the host's. */
  canSignUp: boolean
}

/** Who asks: the session that the request's cookie proves, if any, and where from. */
export interface BrowserContext {
  session: BrowserSession | null
  origin: Origin
  /** The page of ours that the person has just answered with this request: it signed them in, or told them what the client asks for. */
  answered?: 'sign_in' | 'consent'
}
