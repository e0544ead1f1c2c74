import type { TotpFactor } from '../../ports/factor-store.ts'
import type { Sealer } from '../../ports/sealer.ts'

/** Opens for this user and this factor alone: moved to the row of another it is nothing. */
const contextOf = (issuer: string, userId: string, factorId: string): string => JSON.stringify(['totp', issuer, userId, factorId])

export function sealTotpSecret (secret: Uint8Array, { issuer, userId, factorId }: { issuer: string, userId: string, factorId: string }, sealer: Sealer): string {
  return sealer.seal(Buffer.from(secret).toString('base64url'), contextOf(issuer, userId, factorId))
}

/** `null`: no secret of now opens it. */
export function openTotpSecret ({ id, sealedSecret }: Pick<TotpFactor, 'id' | 'sealedSecret'>, { issuer, userId }: { issuer: string, userId: string }, sealer: Sealer): Buffer | null {
  const opened = sealer.open(sealedSecret, contextOf(issuer, userId, id))
  return opened === null ? null : Buffer.from(opened, 'base64url')
}
