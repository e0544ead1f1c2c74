import { digest } from './digest.ts'
import { PARTITION_LENGTH, partitionIn, partitionOf } from './partition.ts'

/**
 * The token of a message: the user's partition, 256 bits, and what it is bound to. Only its digest is kept, under the
 * same partition: with any part of it changed it is a token that nobody knows.
 */
interface MintedOneTimeToken {
  token: string
  digest: string
}

/** A partition, and what `Random.secret` makes (32 bytes in base64url). */
const SECRET_LENGTH = PARTITION_LENGTH + 43
const BINDING_LENGTH = 16
/** The longest content of a token with two bindings: an address of 254 characters and a session id, in base64url. */
const FORMAT = /^[A-Za-z0-9_-]{59}(?:[A-Za-z0-9_-]{16}){0,2}$|^[A-Za-z0-9_-]{91}[A-Za-z0-9_-]{2,512}$/
const CARRIED_FROM = SECRET_LENGTH + 2 * BINDING_LENGTH

/**
 * `secret` is from `Random.secret`, and for one token only. `boundTo`: values that must be the same when the token is
 * used. `carried`: a text that the holder of the token may read and can't change; only with two bindings.
 */
export function oneTimeToken(
  userId: string,
  secret: string,
  boundTo: readonly string[] = [],
  carried = ''
): MintedOneTimeToken {
  const head = partitionOf(userId) + secret
  const token =
    head + boundTo.map((value) => bindingOf(head, value)).join('') + Buffer.from(carried).toString('base64url')
  return { token, digest: partitionIn(token) + digest(token) }
}

/** The digest under which a token is kept; `null` for what can't be one. */
export function digestOfOneTimeToken(token: string): string | null {
  return FORMAT.test(token) ? partitionIn(token) + digest(token) : null
}

/** True if a token that was found by its digest was made with this value at that index of `boundTo`. */
export function isBoundTo(token: string, index: number, value: string): boolean {
  const from = SECRET_LENGTH + index * BINDING_LENGTH
  return token.slice(from, from + BINDING_LENGTH) === bindingOf(token.slice(0, SECRET_LENGTH), value)
}

/** The text that a token found by its digest carries. `null`: none. */
export function carriedIn(token: string): string | null {
  return token.length <= CARRIED_FROM ? null : Buffer.from(token.slice(CARRIED_FROM), 'base64url').toString()
}

/** Made with the token's own secret, so that it reveals nothing of the value without the token. */
function bindingOf(head: string, value: string): string {
  return digest(`${head}\0${value}`).slice(0, BINDING_LENGTH)
}
