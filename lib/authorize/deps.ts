import type { GrantDeps } from '../grants/deps.ts'
import type { BrowserSession } from '../ports/session-store.ts'
import type { ConsentStore } from '../ports/consent-store.ts'
import type { Origin } from '../tokens/sessions.ts'
import type { BrowserSessions } from '../tokens/browser-sessions.ts'
import type { IdTokens } from '../tokens/id-tokens.ts'

/** What the browser journey needs. */
export interface AuthorizeDeps {
  grants: GrantDeps
  browserSessions: BrowserSessions
  consents: ConsentStore
  idTokens: IdTokens
  issuer: string
  authorizationCode: { expiresInMs: number }
}

/** Who asks: the session that the request's cookie proves, if any, and where from. */
export interface BrowserContext {
  session: BrowserSession | null
  origin: Origin
}
