import { hkdfSync } from 'node:crypto'

/** A key of its own for each purpose, so that none can stand in for another. */
export function deriveKey(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `fastify-authority ${purpose}`, 32))
}
