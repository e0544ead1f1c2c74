import type { TotpFactor } from '../../ports/factor-store.ts'
import type { Sealer } from '../../ports/cryptography.ts'

/** Binds a sealed secret to its user and factor: copied into the row of another, it does not open. */
const contextOf = (issuer: string, userId: string, factorId: string): string =>
  JSON.stringify(['totp', issuer, userId, factorId])

export function sealTotpSecret(
  secret: Uint8Array,
  { issuer, userId, factorId }: { issuer: string; userId: string; factorId: string },
  sealer: Sealer
): string {
  return sealer.seal(Buffer.from(secret).toString('base64url'), contextOf(issuer, userId, factorId))
}

/** `null` where none of the values of the option `secret` opens it. */
export function openTotpSecret(
  { id, sealedSecret }: Pick<TotpFactor, 'id' | 'sealedSecret'>,
  { issuer, userId }: { issuer: string; userId: string },
  sealer: Sealer
): Buffer | null {
  const opened = sealer.open(sealedSecret, contextOf(issuer, userId, id))
  return opened === null ? null : Buffer.from(opened, 'base64url')
}
