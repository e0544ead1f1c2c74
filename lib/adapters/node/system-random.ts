import { randomFillSync } from 'node:crypto'
import type { Random } from '../../ports/random.ts'

const POOL_BYTES = 8192

/**
 * The system's CSPRNG through a pool: one call fills many values. Values are wiped from the pool as they are handed
 * out.
 */
export function systemRandom(): Random {
  const pool = Buffer.allocUnsafeSlow(POOL_BYTES)
  let used = POOL_BYTES
  function take(bytes: number): string {
    if (used + bytes > POOL_BYTES) {
      randomFillSync(pool)
      used = 0
    }
    const end = used + bytes
    const value = pool.toString('base64url', used, end)
    pool.fill(0, used, end)
    used = end
    return value
  }
  return { id: () => take(16), secret: () => take(32) }
}
