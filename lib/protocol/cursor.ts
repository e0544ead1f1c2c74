import { OAuthError } from '../errors.ts'

const MAX_LENGTH = 2000

/**
 * Writes and reads the `next` of a page of a list, which the request for the following page sends as `after`. The text
 * needs no signature, because a store uses its parts only as values in a comparison. `placeOf` returns `null` if the
 * values are not a place.
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
