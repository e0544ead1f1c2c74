/** A stream for the option `logger`, and the lines written to it. */
export function logLines(): { lines: Array<Record<string, unknown>>; stream: { write(line: string): void } } {
  const lines: Array<Record<string, unknown>> = []
  return {
    lines,
    stream: {
      write(line) {
        lines.push(JSON.parse(line) as Record<string, unknown>)
      }
    }
  }
}
