/** True for a JSON object: neither `null` nor an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json(?:\s*;|$)/i

/** True for a `Content-Type` of JSON, with or without a `+json` suffix. */
export const isJsonType = (type: string): boolean => JSON_TYPE.test(type)

/** Reads a base64url part of a token as a JSON object. `null` if the part is not a JSON object. */
export function objectIn(base64url: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(base64url, 'base64url').toString('utf8'))
    return isObject(value) ? value : null
  } catch {
    return null
  }
}
