/** The facts of a JSON text besides its value. */
export interface JsonRead {
  value: unknown
  /** Levels of objects and arrays. */
  depth: number
  /** The decoded keys of the outermost object, with repetitions. */
  outermostKeys: string[]
  /** True if an object has a key `__proto__`, or `constructor` with a `prototype` in it. */
  pollutes: boolean
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const STRING = /"(?:[ -!#-[\]-\u{10ffff}]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*"/uy
const LITERALS = { true: true, false: false, null: null } as const

/** Reads by the grammar of RFC 8259. `null`: invalid JSON. */
export function readJson(text: string): JsonRead | null {
  let at = 0
  let depth = 0
  let pollutes = false
  const outermostKeys: string[] = []

  const token = (expression: RegExp): string | null => {
    expression.lastIndex = at
    const found = expression.exec(text)?.[0] ?? null
    at += found?.length ?? 0
    return found
  }
  const skipSpace = (): void => {
    while (at < text.length && ' \t\n\r'.includes(text.charAt(at))) at += 1
  }
  const take = (character: string): boolean => {
    skipSpace()
    if (text[at] !== character) return false
    at += 1
    return true
  }
  const need = (character: string): void => {
    if (!take(character)) throw new SyntaxError(`${character} at ${at}`)
  }

  const string = (): string => {
    const found = token(STRING)
    if (found === null) throw new SyntaxError(`a string at ${at}`)
    return JSON.parse(found) as string
  }
  const listed = (end: string, readOne: () => void): void => {
    if (take(end)) return
    do readOne()
    while (take(','))
    need(end)
  }
  const value = (level: number): unknown => {
    skipSpace()
    if (take('{')) {
      depth = Math.max(depth, level)
      const entries: Array<[string, unknown]> = []
      listed('}', () => {
        skipSpace()
        const key = string()
        need(':')
        if (level === 1) outermostKeys.push(key)
        const inner = value(level + 1)
        if (
          key === '__proto__' ||
          (key === 'constructor' && typeof inner === 'object' && inner !== null && Object.hasOwn(inner, 'prototype'))
        )
          pollutes = true
        entries.push([key, inner])
      })
      return Object.fromEntries(entries)
    }
    if (take('[')) {
      depth = Math.max(depth, level)
      const items: unknown[] = []
      listed(']', () => {
        items.push(value(level + 1))
      })
      return items
    }
    if (text[at] === '"') return string()
    for (const [word, meant] of Object.entries(LITERALS)) {
      if (!text.startsWith(word, at)) continue
      at += word.length
      return meant
    }
    const number = token(NUMBER)
    if (number === null) throw new SyntaxError(`a value at ${at}`)
    return Number(number)
  }

  try {
    const read = value(1)
    skipSpace()
    return at === text.length ? { value: read, depth, outermostKeys, pollutes } : null
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}
