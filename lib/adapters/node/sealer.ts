import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Sealer } from '../../ports/cryptography.ts'

const VERSION = 'v1'

interface SealerOptions {
  /** Compresses the text before sealing it, for values that must be small, such as a cookie. */
  deflates?: boolean
}

/**
 * Seals texts with AES-256-GCM. HKDF-SHA-256 derives one key from each secret. The first key seals, and every key
 * opens, so put a new secret in front to rotate. The sealed text contains a digest of its key, so that only this key is
 * tried.
 */
export function aesSealer(secrets: readonly [string, ...string[]], { deflates = false }: SealerOptions = {}): Sealer {
  const keys = secrets.map((secret) => {
    const key = Buffer.from(hkdfSync('sha256', secret, '', 'fastify-authority sealing', 32))
    return { key, id: hash('sha256', key, 'base64url').slice(0, 8) }
  })
  return {
    seal(plain, context = '') {
      const { key, id } = keys[0] as (typeof keys)[number]
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', key, nonce)
      cipher.setAAD(Buffer.from(context))
      const sealed = Buffer.concat([
        cipher.update(deflates ? deflateRawSync(plain) : Buffer.from(plain)),
        cipher.final(),
        cipher.getAuthTag()
      ])
      return [VERSION, id, nonce.toString('base64url'), sealed.toString('base64url')].join('.')
    },
    open(sealed, context = '') {
      const [version, id, ...parts] = sealed.split('.')
      const match = keys.find((candidate) => candidate.id === id)
      if (version !== VERSION || match === undefined || parts.length !== 2) return null
      const [nonce = Buffer.alloc(0), bytes = nonce] = parts.map((part) => Buffer.from(part, 'base64url'))
      // The base64url decoder ignores invalid characters. Requires the canonical spelling, so that a sealed text has no
      // second spelling that opens too.
      if ([nonce, bytes].some((part, at) => part.toString('base64url') !== parts[at])) return null
      try {
        const decipher = createDecipheriv('aes-256-gcm', match.key, nonce, { authTagLength: 16 })
        decipher.setAAD(Buffer.from(context))
        decipher.setAuthTag(bytes.subarray(-16))
        const opened = Buffer.concat([decipher.update(bytes.subarray(0, -16)), decipher.final()])
        return (deflates ? inflateRawSync(opened) : opened).toString('utf8')
      } catch {
        return null
      }
    }
  }
}
