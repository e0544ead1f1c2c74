/** Scopes that a user allowed a third-party client. Times are milliseconds since the epoch. */
export interface Consent {
  userId: string
  clientId: string
  /** Every scope that was ever allowed and not taken back. */
  scopes: string[]
  grantedAt: number
  expiresAt: number
}

/** Consents. Every operation is atomic across all instances. Outages reject. An expired consent counts as none. */
export interface ConsentStore {
  findConsent(userId: string, clientId: string, now: number): Promise<Consent | null>
  /** Adds the scopes to those allowed before and replaces the times. */
  grantConsent(consent: Consent): Promise<void>
  /** `true` if there was one. Idempotent. */
  revokeConsent(userId: string, clientId: string): Promise<boolean>
  /** Valid at `now`, newest first. */
  listConsents(userId: string, now: number): Promise<Consent[]>
}
