import type { Passkeys } from '../accounts/factors/passkeys.ts'
import type { Random } from '../ports/cryptography.ts'
import type { Settings } from '../settings/settings.ts'
import { anySecrets, deriveKey } from './keys.ts'

/** Loads nothing of passkeys if they are off. Without a secret, a challenge is valid as long as this process lives. */
export async function passkeysOf(
  { issuer, secrets, factors }: Pick<Settings, 'issuer' | 'secrets' | 'factors'>,
  random: Random
): Promise<Passkeys | null> {
  const settings = factors?.passkeys ?? null
  if (settings === null) return null
  const { createPasskeys } = await import('../accounts/factors/create-passkeys.ts')
  const [first, ...former] = anySecrets(secrets, random)
  const keyOf = (secret: string): Uint8Array => deriveKey(secret, 'passkey challenges')
  return createPasskeys({
    ...settings,
    origins: [new URL(issuer).origin, ...settings.relatedOrigins],
    challengeKeys: [keyOf(first), ...former.map(keyOf)]
  })
}
