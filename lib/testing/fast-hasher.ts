import { createHash } from 'node:crypto'
import type { Argon2Parameters, PasswordHasher } from '../ports/cryptography.ts'

export interface FastHasher extends PasswordHasher {
  /** The number of calls of each method, failed ones included. */
  readonly calls: Readonly<{ hash: number; verify: number }>
}

const PHC = /^\$(argon2(?:id|i|d))\$v=\d+\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/

const unpadded = (bytes: Uint8Array): string =>
  Buffer.from(bytes)
    .toString('base64')
    .replace(/={1,2}$/, '')

function tagOf(
  variant: string,
  parameters: Argon2Parameters,
  salt: string,
  password: string,
  secret: Uint8Array | undefined
): string {
  const { memoryCost, timeCost, parallelism } = parameters
  const hash = createHash('sha256')
  // Prefixes each input with its length, so that different inputs never give the same bytes.
  for (const part of [variant, `${memoryCost},${timeCost},${parallelism}`, salt, password, secret ?? '']) {
    const bytes = Buffer.from(part)
    hash.update(`${bytes.length}:`).update(bytes)
  }
  return unpadded(hash.digest())
}

/**
 * A hasher for tests: the strings look like argon2id's and contain the parameters, but the work is one SHA-256. NEVER
 * for real passwords. It can't verify real argon2 hashes (`false`), and salts are numbered, not random.
 */
export function fastHasher(): FastHasher {
  const calls = { hash: 0, verify: 0 }
  return {
    calls,
    async hash(password, parameters, secret) {
      calls.hash++
      const salt = unpadded(createHash('sha256').update(`salt ${calls.hash}`).digest().subarray(0, 16))
      const { memoryCost, timeCost, parallelism } = parameters
      const tag = tagOf('argon2id', parameters, salt, password, secret)
      return `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}$${salt}$${tag}`
    },
    async verify(encoded, password, secret) {
      calls.verify++
      const [, variant, m, t, p, salt, tag] = PHC.exec(encoded) ?? []
      if (variant === undefined || salt === undefined) throw new TypeError('Not an argon2 string.')
      return (
        tagOf(
          variant,
          { memoryCost: Number(m), timeCost: Number(t), parallelism: Number(p) },
          salt,
          password,
          secret
        ) === tag
      )
    }
  }
}
