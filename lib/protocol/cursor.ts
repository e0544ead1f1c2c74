import { OAuthError } from '../errors.ts'

const MAX_LENGTH = 2000

/**
 * The `next` of a page of a list, and `after` of the request for the page behind it. It needs no signature, because a
 * store binds its parts as values. `placeOf`: the place of these values, or `null` if they are none.
 */
export function cursorOf<Place>(valuesOf: (place: Place) => unknown[], placeOf: (values: unknown[]) => Place | null) {
  const write = (place: Place): string => Buffer.from(JSON.stringify(valuesOf(place))).toString('base64url')

  /** Reads exactly the texts that `write` makes. @throws OAuthError `invalid_request` */
  function read(text: unknown): Place {
    const place = typeof text === 'string' && text.length <= MAX_LENGTH ? placeOf(valuesIn(text)) : null
    if (place === null || write(place) !== text)
      throw new OAuthError('invalid_request', 'after: send the "next" of an answer, unchanged.', { field: 'after' })
    return place
  }
  return { write, read }
}

function valuesIn(text: string): unknown[] {
  try {
    const values: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    return Array.isArray(values) ? values : []
  } catch {
    return []
  }
}
