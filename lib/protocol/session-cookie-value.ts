import { formatTwoPartToken, parseTwoPartToken } from './two-part-token.ts'

/** The value of a session cookie: `<sessionId>.<secret>`. The session id outlives a new sign-in of the same user, the secret does not. */
export interface PresentedSessionCookie {
  sid: string
  digest: string
  sessionId: string
  secret: string
}

/** `null` where it can't be one of ours. */
export function parseSessionCookie (value: string): PresentedSessionCookie | null {
  const parsed = parseTwoPartToken(value)
  if (parsed === null) return null
  const { id: sessionId, secret, sid, digest } = parsed
  return { sessionId, secret, sid, digest }
}

export function formatSessionCookie (sessionId: string, secret: string): string {
  return formatTwoPartToken(sessionId, secret)
}
