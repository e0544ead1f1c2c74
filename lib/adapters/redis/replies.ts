/** Replies of scripts, read without trust: a reply of another form is an error, never "there is none". */
const unreadable = (): TypeError => new TypeError('Redis holds a record of another form.')

export function list(reply: unknown): unknown[] {
  if (!Array.isArray(reply)) throw unreadable()
  return reply
}

function text(reply: unknown): string {
  if (typeof reply !== 'string') throw unreadable()
  return reply
}

export const texts = (reply: unknown): string[] => list(reply).map(text)

export const textOrNull = (value: unknown): string | null => (value === null ? null : text(value))
