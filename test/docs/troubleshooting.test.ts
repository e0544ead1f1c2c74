/** docs/troubleshooting.md has every code that a reader may search for, and every warning in the words of the log. */
import { readdirSync, readFileSync } from 'node:fs'
import Fastify, { type FastifyServerOptions } from 'fastify'
import t from '../support/tap.ts'
import authPlugin, { memoryFactorStore, memoryState, memoryUserStore } from '../../lib/index.ts'
import { LOG_CODES } from '../../lib/ports/log.ts'
import { ERROR_MEANINGS, START_ERRORS } from '../../scripts/reference.ts'
import { fastHasher } from '../../lib/testing/index.ts'

const root = new URL('../../', import.meta.url)
const page = readFileSync(new URL('docs/troubleshooting.md', root), 'utf8')
const headings = new Set([...page.matchAll(/^### (.*)$/gm)].map(([, heading = '']) => heading))
const warnings = [
  ...(page.split('### FST_AUTHORITY_UNSAFE')[1]?.split('\n### ')[0] ?? '').matchAll(/^\| `([^`]+)`/gm)
].map(([, text = '']) => text)

t.test('has a heading for every start error, log code and protocol error', async (t) => {
  for (const code of [...Object.keys(START_ERRORS), ...Object.keys(LOG_CODES), ...Object.keys(ERROR_MEANINGS)])
    t.ok(headings.has(code), code)
})

t.test('has no heading for an unknown code', async (t) => {
  const known = new Set([...Object.keys(START_ERRORS), ...Object.keys(LOG_CODES), ...Object.keys(ERROR_MEANINGS)])
  t.strictSame(
    [...headings].filter((heading) => !heading.includes(' ') && !known.has(heading)),
    []
  )
})

t.test('mentions every code that the source names', async (t) => {
  const lib = new URL('lib/', root)
  for (const file of readdirSync(lib, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))) {
    for (const [code] of readFileSync(new URL(file, lib), 'utf8').matchAll(/\bFST_AUTHORITY_[A-Z_]+[A-Z]\b/g))
      t.ok(page.includes(code), `${file}: ${code}`)
  }
})

/** The settings that cause the log line `FST_AUTHORITY_UNSAFE`. */
async function warningsOf(options: object, server: FastifyServerOptions = {}, prefix = ''): Promise<string[]> {
  const lines: Array<{ code?: string; msg: string }> = []
  const app = Fastify({
    ...server,
    logger: {
      level: 'warn',
      stream: {
        write: (line: string) => {
          lines.push(JSON.parse(line) as { msg: string })
        }
      }
    }
  })
  await app.register(
    async (child) => {
      await child.register(authPlugin, {
        issuer: 'http://localhost:3000',
        users: memoryUserStore(),
        secret: 'a secret of this test, long enough',
        password: { hasher: fastHasher() },
        ...options
      })
    },
    { prefix }
  )
  await app.inject({ url: `${prefix}/auth/sessions`, headers: { 'x-forwarded-for': '192.0.2.1' } })
  await app.close()
  return lines
    .filter(({ code }) => code === 'FST_AUTHORITY_UNSAFE')
    .map(({ msg }) => msg.replace('fastify-authority: ', ''))
}

/** True if the page quotes this warning. The page has `…` for a value. */
const isOn = (said: string): boolean =>
  warnings.some((text) =>
    new RegExp(
      `^${text
        .split('…')
        .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
        .join('.*')}`
    ).test(said)
  )

t.test('quotes every warning of an unsafe configuration as it is logged', async (t) => {
  const said = [
    ...(await warningsOf({ secret: undefined }, { trustProxy: true })),
    // The types of Fastify do not allow a number here.
    ...(await warningsOf({}, { trustProxy: 1 } as unknown as FastifyServerOptions)),
    ...(await warningsOf({ allowInsecureIssuer: true, issuer: 'http://192.0.2.1:3000' })),
    ...(await warningsOf({
      factors: memoryFactorStore(),
      state: { ...memoryState(), kind: 'a server', shared: true }
    })),
    ...(await warningsOf({ secret: 'changeme-changeme-changeme-changeme' })),
    ...(await warningsOf({
      clients: [{ clientId: 'spa', redirectUris: ['http://localhost:3000/'], scopes: ['profile'] }]
    })),
    ...(await warningsOf({ clients: [{ clientId: 'spa', redirectUris: ['http://localhost:3000/'] }] }, {}, '/api'))
  ]
  for (const line of said) t.ok(isOn(line), line)
  // One warning is missing, because the process of a test cannot become a cluster worker.
  t.equal(
    new Set(said.map((line) => warnings.findIndex((text) => line.startsWith(text.split('…')[0] ?? '')))).size,
    warnings.length - 1
  )
})

t.test('lists as many warnings as the source contains', async (t) => {
  const lib = new URL('lib/', root)
  const source = readdirSync(lib, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(new URL(name, lib), 'utf8'))
    .filter((text) => text.includes("logLine('FST_AUTHORITY_UNSAFE'"))
    .join('\n')
  t.equal([...source.matchAll(/\bwarn\(\s*['`]/g)].length, warnings.length)
})
