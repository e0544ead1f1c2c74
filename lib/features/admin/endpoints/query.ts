import type { FastifyRequest } from 'fastify'
import { OAuthError } from '../../../errors.ts'
import { isStorable } from '../../../protocol/bounds.ts'

/**
 * The parameters of a query, each at most once, not empty, and no others than these.
 * @throws OAuthError `invalid_request`
 */
export function queryOf<Name extends string>(
  { query }: FastifyRequest,
  names: readonly Name[]
): Partial<Record<Name, string>> {
  const given = Object.entries(query as Record<string, unknown>)
  for (const [name, value] of given) {
    if (!(names as readonly string[]).includes(name)) throw refused(name, 'there is no such condition.')
    if (typeof value !== 'string' || value === '' || !isStorable(value))
      throw refused(name, 'it must be there once, as a text that is not empty.')
  }
  return Object.fromEntries(given) as Partial<Record<Name, string>>
}

/** @throws OAuthError `invalid_request` for a text that is no whole number */
export function numberIn(value: string | undefined, name: string): number | undefined {
  if (value === undefined) return undefined
  if (!/^\d{1,9}$/.test(value)) throw refused(name, 'it must be a whole number.')
  return Number(value)
}

export const refused = (name: string, problem: string): OAuthError =>
  new OAuthError('invalid_request', `${name}: ${problem}`, { field: name })
