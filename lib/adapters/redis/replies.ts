/** What scripts answer, read without trust: whatever is not as it was written is an outage, never "there is none". */
const unreadable = (): TypeError => new TypeError('Redis holds a record of another form.')

export function list(reply: unknown): unknown[] {
  if (!Array.isArray(reply)) throw unreadable()
  return reply
}

export function text(reply: unknown): string {
  if (typeof reply !== 'string') throw unreadable()
  return reply
}

export const texts = (reply: unknown): string[] => list(reply).map(text)

export function json(reply: unknown): unknown {
  return JSON.parse(text(reply))
}

/** A string that was written as JSON, so that `null` is none and no two strings look alike. */
export function jsonText(reply: unknown): string {
  return text(json(reply))
}

export function jsonTextOrNull(reply: unknown): string | null {
  const value = json(reply)
  return value === null ? null : text(value)
}

/** What a JSON array holds must be read one by one. */
export function jsonList(reply: unknown): unknown[] {
  return list(json(reply))
}

export function whole(value: unknown): number {
  if (!Number.isSafeInteger(value)) throw unreadable()
  return Number(value)
}

export const textOrNull = (value: unknown): string | null => (value === null ? null : text(value))

/** `1` or `0` of a script. */
export const isOne = (reply: unknown): boolean => whole(reply) === 1
