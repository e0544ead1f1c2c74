import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ManagedUser } from '../../../accounts/managed-users.ts'
import { refused } from './query.ts'

/** Writes the version of a user to the header `ETag`. A store without versions has none. */
export function tagOf({ version }: ManagedUser, reply: FastifyReply): void {
  if (version !== null) reply.header('etag', `"${textOfVersion(version)}"`)
}

/** A version as tags and forms have it. */
export const textOfVersion = (version: NonNullable<ManagedUser['version']>): string =>
  Buffer.from(JSON.stringify(version)).toString('base64url')

/**
 * The version that a change needs; `*`: any.
 * @throws OAuthError `invalid_request` without the header, or for one that no answer had
 */
export function ifMatch({ headers }: FastifyRequest): { version?: number | string } {
  const { 'if-match': given } = headers
  if (given === undefined) throw refused('If-Match', 'it must have the ETag of the user, or *.')
  if (given === '*') return {}
  const [, text = ''] = /^"([^"]*)"$/.exec(given) ?? []
  const version = versionIn(text)
  if (version === null) throw refused('If-Match', 'it is no ETag of an answer.')
  return { version }
}

/** Reads what `textOfVersion` writes. `null` for any other text. */
export function versionIn(text: string): number | string | null {
  if (!/^[A-Za-z0-9_-]{1,400}$/.test(text)) return null
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    return typeof value === 'number' || typeof value === 'string' ? value : null
  } catch {
    return null
  }
}
