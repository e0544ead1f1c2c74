import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from '../support/tap.ts'

const LIB = fileURLToPath(new URL('../../lib/', import.meta.url))
/** Refused requests at level `debug`, which need no action. docs/reference/errors.md mentions them. */
const WITHOUT_A_CODE = ["request.log.debug({ error: error.error, detail }, 'fastify-authority: request refused')"]

/** Each call of a logger's method whose arguments do not come from `logLine`, which requires a code. */
function uncoded(source: string): string[] {
  return [
    ...source.matchAll(
      /[\w.?]*\blog(?:ger)?\??(?:\.(?:info|warn|error|fatal|debug|trace)|\[[^\]]*\])\((?!\s*\.\.\.logLine\()\s*[^\n]*/g
    )
  ].map(([call]) => call.trim())
}

t.test('makes every log line with a code, except refusals of client requests', async (t) => {
  const files = readdirSync(LIB, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !/^client[\\/]/.test(file)
  )
  t.ok(files.length > 150)
  t.strictSame(
    files.flatMap((file) => uncoded(readFileSync(`${LIB}${file}`, 'utf8'))),
    WITHOUT_A_CODE
  )
})

t.test('detects a log line without a code', async (t) => {
  t.strictSame(
    uncoded(
      "log.warn(...logLine('FST_AUTHORITY_FAULT', 'x'))\n  host.log.warn({ err }, " +
        "'x')\nlog[level]('x')\nrequest.log?.error('x')"
    ),
    ["host.log.warn({ err }, 'x')", "log[level]('x')", "request.log?.error('x')"]
  )
})
