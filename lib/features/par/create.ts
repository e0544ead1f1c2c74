import type { PushedRequests } from '../../authorize/deps.ts'
import { OAuthError } from '../../errors.ts'
import type { Kernel, Parts } from '../../feature.ts'
import { type AuthorizationParams, fitsAddress, MAX_SERIALIZED } from '../../protocol/authorization-params.ts'
import { digest } from '../../protocol/digest.ts'
import { readParams } from '../../protocol/request-params.ts'
import { pushRequest } from './endpoints.ts'

const BEGINS_WITHIN_MS = 90_000
/** The time for the sign-in after the browser has opened the request. Long enough to sign up and wait for an email. */
const ENDS_WITHIN_MS = 3_600_000
/** @see RFC 9126 §2.2 */
const URN = 'urn:ietf:params:oauth:request_uri:'

/** The parameters that a browser sends, with their maximum lengths in bytes. */
const SENT = { request_uri: MAX_SERIALIZED, client_id: MAX_SERIALIZED }

/**
 * The sealed content of a `request_uri`. `at` and `openedAt` are milliseconds since the epoch. `openedAt`: the time at
 * which a browser first sent it (`null`: not yet). After that, the pages use a new `request_uri` with this time.
 */
type Sealed = [id: string, at: number, openedAt: number | null, params: AuthorizationParams]

/**
 * Stores no pushed requests: the `request_uri` itself contains the encrypted request. The state remembers only the ids
 * of used requests.
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
