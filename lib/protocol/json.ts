/** True for an object of JSON: no `null` and no array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json(?:\s*;|$)/i

/** True for the `Content-Type` of JSON. */
export const isJsonType = (type: string): boolean => JSON_TYPE.test(type)

/** The object of JSON in a part of a token; `null` if there is none. */
export function objectIn(base64url: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(base64url, 'base64url').toString('utf8'))
    return isObject(value) ? value : null
  } catch {
    return null
  }
}
