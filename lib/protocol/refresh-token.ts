import { hash } from 'node:crypto'
import { formatTwoPartToken, parseTwoPartToken } from './two-part-token.ts'

export { newTokenId, sidOf } from './two-part-token.ts'

/**
 * Refresh tokens: `<familyId>.<secret>`.
 *
 * `familyId` (the user's partition and 128 bits) stands in every token of one family and nowhere else; the server keeps its digest, the `sid`. So whoever
 * presents a known `familyId` with a secret that is not the current one holds, or held, a real token of the family: a replay
 * is told from a stranger's guess without keeping any old digest.
 *
 * A successor is kept sealed under the token it replaces. A client that lost the answer presents the old token and gets the
 * same successor back; the store alone, leaked, opens nothing.
 */
export interface PresentedRefreshToken {
  sid: string
  digest: string
  familyId: string
  secret: string
}

/** `null` where it can't be one of ours. */
export function parseRefreshToken (token: string): PresentedRefreshToken | null {
  const parsed = parseTwoPartToken(token)
  if (parsed === null) return null
  const { id: familyId, secret, sid, digest } = parsed
  return { familyId, secret, sid, digest }
}

export function formatRefreshToken (familyId: string, secret: string): string {
  return formatTwoPartToken(familyId, secret)
}

/** Seals a successor's secret under the secret it replaces: one-time pad from a one-way function, opened by nothing else. */
export function sealSuccessor (presentedSecret: string, nextSecret: string): string {
  return xor(pad(presentedSecret), Buffer.from(nextSecret, 'base64url')).toString('base64url')
}

export function openSuccessor (presentedSecret: string, sealed: string): string {
  return xor(pad(presentedSecret), Buffer.from(sealed, 'base64url')).toString('base64url')
}

function pad (secret: string): Buffer {
  return hash('sha256', `successor:${secret}`, 'buffer')
}

function xor (left: Buffer, right: Buffer): Buffer {
  return Buffer.from(left.map((byte, index) => byte ^ (right[index] ?? 0)))
}
