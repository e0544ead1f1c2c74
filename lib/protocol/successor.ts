import { hash } from 'node:crypto'

/**
 * The successor of a refresh token is kept sealed under the token that it replaces. A client that lost the answer
 * presents the old token and gets the same successor back; the store alone, leaked, opens nothing.
 */

/**
 * Seals a successor's secret under the secret it replaces: a one-time pad from a one-way function, which nothing else
 * opens.
 */
export function sealSuccessor(presentedSecret: string, nextSecret: string): string {
  return xor(pad(presentedSecret), Buffer.from(nextSecret, 'base64url')).toString('base64url')
}

export function openSuccessor(presentedSecret: string, sealed: string): string {
  return xor(pad(presentedSecret), Buffer.from(sealed, 'base64url')).toString('base64url')
}

function pad(secret: string): Buffer {
  return hash('sha256', `successor:${secret}`, 'buffer')
}

function xor(left: Buffer, right: Buffer): Buffer {
  return Buffer.from(left.map((byte, index) => byte ^ (right[index] ?? 0)))
}
