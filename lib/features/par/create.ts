import type { PushedRequests } from '../../authorize/deps.ts'
import { OAuthError } from '../../errors.ts'
import type { Kernel, Parts } from '../../feature.ts'
import { type AuthorizationParams, fitsAddress, MAX_SERIALIZED } from '../../protocol/authorization-params.ts'
import { digest } from '../../protocol/digest.ts'
import { readParams } from '../../protocol/request-params.ts'
import { pushRequest } from './endpoints.ts'

const BEGINS_WITHIN_MS = 90_000
/** A person may sign up, wait for a message, and sign in meanwhile. */
const ENDS_WITHIN_MS = 3_600_000
/** @see RFC 9126 §2.2 */
const URN = 'urn:ietf:params:oauth:request_uri:'

/** The parameters that a browser brings, in bytes. */
const SENT = { request_uri: MAX_SERIALIZED, client_id: MAX_SERIALIZED }

/** `openedAt`: when a browser first brought it. The pages that follow have an address of their own. */
type Sealed = [id: string, at: number, openedAt: number | null, params: AuthorizationParams]

/**
 * Nothing is stored before a code is issued: the `request_uri` contains the request, sealed, and the state remembers
 * only the ids of used ones.
 */
export function create({ isRequired }: { isRequired: boolean }, kernel: Kernel): Parts {
  const { accounts, assertions } = kernel
  const { clock, random } = accounts
  const sealer = kernel.sealerFor('pushed authorization requests')
  const uriOf = (...sealed: Sealed): string => `${URN}${sealer.seal(JSON.stringify(sealed))}`

  const pushed: PushedRequests = {
    isRequired,
    expiresInSeconds: BEGINS_WITHIN_MS / 1000,
    push(params) {
      const [id, at] = [random.id(), clock.now()]
      const request = { ...params, pushed: { uri: uriOf(id, at, null, params), id, at } }
      if (!fitsAddress(request)) throw new OAuthError('invalid_request', 'The authorization request is too long.')
      return request
    },
    open(raw) {
      const { request_uri: uri, client_id: clientId } = readParams(raw, SENT)
      if (uri === undefined) return null
      const text = uri.startsWith(URN) ? sealer.open(uri.slice(URN.length)) : null
      if (text === null) throw refused('unknown')
      const [id, at, openedAt, params] = JSON.parse(text) as Sealed
      if (params.client_id !== clientId) throw refused('of another client')
      const now = clock.now()
      if (now >= (openedAt === null ? at + BEGINS_WITHIN_MS : openedAt + ENDS_WITHIN_MS)) throw refused('expired')
      return { ...params, pushed: { uri: openedAt === null ? uriOf(id, at, now, params) : uri, id, at } }
    },
    async use({ id, at }) {
      const until = at + BEGINS_WITHIN_MS + ENDS_WITHIN_MS
      if ((await assertions?.claim(digest(`pushed request ${id}`), until)) !== 'fresh') throw refused('used before')
    }
  }
  return { pushed, endpoints: [pushRequest(pushed)] }
}

const refused = (detail: string): OAuthError =>
  new OAuthError('invalid_request_uri', 'The request_uri is unknown, has expired, or was used before.', { detail })
