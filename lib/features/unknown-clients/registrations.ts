/** Clients that register themselves. Nothing is stored: the id contains the checked metadata and a MAC. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { OAuthError } from '../../errors.ts'
import type { ClientSource } from '../../ports/client-store.ts'
import { CLIENT_PARAMS } from '../../protocol/client-authentication.ts'
import { objectIn } from '../../protocol/json.ts'
import { type Described, described, type MetadataRules, unknownClient } from './metadata.ts'

/** Maximum size of the metadata in bytes of JSON. */
const MAX_METADATA = 2048
const ID = /^dcr\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{43})$/

/** The answer to a registration. @see RFC 7591 §3.2.1 */
type Registered = Described & { client_id: string; client_id_issued_at: number }

export interface Registrations extends ClientSource {
  /** @throws OAuthError `invalid_redirect_uri`, `invalid_client_metadata` */
  register(members: unknown, now: number): Registered
}

/**
 * `keys`: the first key signs ids, and every key verifies them. Equal metadata gets the same id until the first key
 * changes.
 */
export function registrations(
  keys: readonly [Uint8Array, ...Uint8Array[]],
  { redirectSchemes, takenNames }: Pick<MetadataRules, 'redirectSchemes' | 'takenNames'>
): Registrations {
  const rules: MetadataRules = { from: 'registration', redirectSchemes, takenNames }
  const macOf = (key: Uint8Array, content: string): Buffer => createHmac('sha256', key).update(content).digest()
  return {
    register(members, now) {
      const { metadata } = described(members, rules)
      const json = JSON.stringify(metadata)
      const content = Buffer.from(json).toString('base64url')
      const clientId = `dcr.${content}.${macOf(keys[0], content).toString('base64url')}`
      if (Buffer.byteLength(json) > MAX_METADATA || clientId.length > CLIENT_PARAMS.client_id)
        throw new OAuthError('invalid_client_metadata', 'The metadata is too long.')
      return { client_id: clientId, client_id_issued_at: Math.floor(now / 1000), ...metadata }
    },
    takes: (clientId) => clientId.startsWith('dcr.'),
    async find(clientId) {
      const [, content, sent] = clientId.length > CLIENT_PARAMS.client_id ? [] : (ID.exec(clientId) ?? [])
      if (content === undefined || sent === undefined) return null
      const mac = Buffer.from(sent, 'base64url')
      if (!keys.some((key) => timingSafeEqual(macOf(key, content), mac))) return null
      try {
        return unknownClient(clientId, described(objectIn(content), rules), {
          host: null,
          isTrusted: false,
          redirectSchemes
        })
      } catch (error) {
        // The options have changed since the registration and no longer accept this client.
        if (error instanceof OAuthError) return null
        throw error
      }
    }
  }
}
