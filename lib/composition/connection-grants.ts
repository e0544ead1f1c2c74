import { aesSealer } from '../adapters/node/sealer.ts'
import type { Connection, Upstream } from '../ports/upstream.ts'
import type { ConnectionSettings } from '../settings/sections/connections.ts'
import { deriveKey } from './secrets.ts'

/** Seals the refresh token of a link, under keys of its own, if the provider is known to revoke it. */
export function connectionGrants(
  { id, provider }: Pick<ConnectionSettings, 'id' | 'provider'>,
  upstream: Upstream,
  [secret, ...former]: readonly string[]
): Pick<Connection, 'keep' | 'withdraw'> {
  if (secret === undefined || provider.endpoints?.revocation === undefined)
    return { keep: () => undefined, withdraw: async () => {} }
  const keyOf = (one: string): string => deriveKey(one, 'connection grants').toString('base64url')
  const sealer = aesSealer([keyOf(secret), ...former.map(keyOf)])
  const context = JSON.stringify(['connection grant', id])
  return {
    keep: ({ refreshToken }) => (refreshToken === undefined ? undefined : sealer.seal(refreshToken, context)),
    async withdraw(sealed) {
      const token = sealer.open(sealed, context)
      if (token !== null) await upstream.revoke(token)
    }
  }
}
