/**
 * The documents of many configurations, checked by the validators that people run, and compared with the routes and the
 * reference.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Type } from '@sinclair/typebox'
import t from '../support/tap.ts'
import { AT_NIGHT } from '../support/at-night.ts'
import {
  type AuthorityOptions,
  memoryApiKeyStore,
  memoryAudit,
  memoryFactorStore,
  memoryUserStore
} from '../../lib/index.ts'
import { github } from '../../lib/connections/index.ts'
import { OAuthError } from '../../lib/errors.ts'
import { ERROR_MEANINGS } from '../../scripts/reference.ts'
import { endpoints } from '../../scripts/reference-endpoints.ts'
import { type Document, documented } from './support/openapi.ts'

interface Problem {
  ruleId: string
  severity: string
  message: string
  location: Array<{ source: { ref: string }; pointer?: string }>
}

const EVERYTHING: Partial<AuthorityOptions> = {
  registration: {
    verifyEmail: true,
    fields: Type.Object({
      city: Type.Optional(Type.String()),
      plan: Type.Union([Type.Literal('free'), Type.Literal('paid')]),
      born: Type.Optional(Type.Union([Type.String({ format: 'date' }), Type.Null()]))
    })
  },
  refreshToken: { rotate: 'always' },
  secret: 'a secret of this test, long enough for it',
  connections: [github({ clientId: 'app', clientSecret: 'secret' })],
  factors: memoryFactorStore(),
  passkeys: { relatedOrigins: ['https://app.example.com'] },
  emailSignIn: {},
  par: true,
  apiKeys: memoryApiKeyStore(),
  audit: memoryAudit(),
  admin: { allow: () => [] },
  dpop: { requireNonce: true },
  deviceGrant: true,
  clientIdMetadata: true,
  clientRegistration: true,
  scopes: ['openid', 'profile', 'email', 'offline_access', 'orders:read']
}
const { create: _create, ...closedUsers } = memoryUserStore()
const CONFIGURATIONS: Record<string, Partial<AuthorityOptions>> = {
  'memory only': { clients: [], sendMessage: undefined, registration: undefined },
  everything: EVERYTHING,
  'another prefix': { ...EVERYTHING, prefix: '/identity' },
  'other paths': {
    paths: {
      token: '/oauth/token',
      revoke: '/oauth/revoke',
      login: '/sign-in',
      authorize: '/oauth/authorize',
      jwks: '/keys'
    }
  },
  'other names': {
    decorators: { authenticate: 'requireToken', requireScope: 'needs', authority: 'accounts', auth: 'claims' }
  },
  'no pages': { pages: false, clients: [] },
  'a shared secret': {
    keys: { secret: 'a secret of this test, long enough for it' },
    clients: [],
    passwordGrant: 'first-party'
  },
  'a closed user store': { users: closedUsers, passwordGrant: false, registration: undefined }
}
const INFO = { title: 'test', version: '1.0.0', license: { name: 'MIT', url: 'https://app.example/license' } }
const SERVERS = [{ url: 'https://app.example' }]
const VERSIONS: Record<string, object> = {
  '3.0': { openapi: { openapi: '3.0.3', info: INFO, servers: SERVERS } },
  '3.1': { openapi: { openapi: '3.1.0', info: INFO, servers: SERVERS } },
  '2.0': { swagger: { info: INFO, host: 'app.example', schemes: ['https'] } }
}

const documents = new Map<string, Document>()
t.before(async () => {
  for (const [configuration, options] of Object.entries(CONFIGURATIONS)) {
    for (const [version, settings] of Object.entries(VERSIONS)) {
      // The versions differ only in syntax, so one configuration is enough for the older two.
      if (version !== '3.1' && configuration !== 'everything') continue
      const { document } = await documented(t, options, settings)
      documents.set(`${configuration}, ${version}`, JSON.parse(JSON.stringify(document)) as Document)
    }
  }
})

/** The findings of Redocly's recommended rules on each document, by its name. */
async function linted(given: ReadonlyMap<string, Document>): Promise<Array<[string, Problem]>> {
  const folder = mkdtempSync(join(tmpdir(), 'openapi-'))
  try {
    const names = [...given.keys()]
    names.forEach((name, index) => {
      writeFileSync(join(folder, `${index}.json`), JSON.stringify(given.get(name)))
    })
    const cli = join(dirname(createRequire(import.meta.url).resolve('@redocly/cli/package.json')), 'bin/cli.js')
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [
        cli,
        'lint',
        '--extends',
        'recommended',
        '--format',
        'json',
        '--max-problems',
        '1000',
        ...names.map((_name, index) => `${index}.json`)
      ],
      {
        cwd: folder,
        maxBuffer: 1e8,
        env: { ...process.env, NODE_V8_COVERAGE: '', REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
      }
    ).catch((error: unknown) => error as { stdout: string })
    // Redocly prints one JSON object per file without a separator.
    const reports = JSON.parse(
      `[${stdout.slice(stdout.indexOf('{'), stdout.lastIndexOf('}') + 1).replaceAll(/^\}\{$/gm, '},{')}]`
    ) as Array<{ problems: Problem[] }>
    return reports
      .flatMap(({ problems }) => problems)
      .map((problem) => [names[Number.parseInt(problem.location[0]?.source.ref ?? '', 10)] ?? '', problem])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

// covers H9
// Runs only at night, because Redocly is slow and mainly checks style.
if (AT_NIGHT)
  t.test('passes Redocly for every document, and fails for a broken one', async (t) => {
    const broken = structuredClone(documents.get('everything, 3.1')) as Document
    for (const operation of Object.values(broken.paths['/auth/token'] ?? {})) operation.operationId = 'postAuthRefresh'
    const found = await linted(new Map([...documents, ['broken', broken]]))
    t.equal(documents.size, 10)
    t.strictSame(
      found
        .filter(([name, { severity }]) => name !== 'broken' && severity === 'error')
        .map(([name, { ruleId, message }]) => [name, ruleId, message]),
      []
    )
    // The key set, the metadata and the challenge of passkeys reject nobody, and `/.well-known/change-password` only
    // redirects.
    t.strictSame(
      [
        ...new Set(
          found
            .filter(([name, { severity }]) => name !== 'broken' && severity === 'warn')
            .map(
              ([, { ruleId, location }]) =>
                `${ruleId} ` +
                `${location[0]?.pointer?.includes('well-known') === true || location[0]?.pointer?.includes('~1keys/') === true || location[0]?.pointer?.includes('passkey-challenge') === true}`
            )
        )
      ],
      ['operation-4xx-response true', 'operation-2xx-response true']
    )
    t.ok(found.some(([name, { ruleId }]) => name === 'broken' && ruleId === 'operation-operationId-unique'))
  })

// covers H9
t.test('passes @readme/openapi-parser for each version, and fails for a response without a description', async (t) => {
  const name = '@readme/openapi-parser'
  const { validate } = (await import(name)) as { validate(document: object): Promise<{ valid: boolean }> }
  for (const version of Object.keys(VERSIONS))
    t.equal((await validate(structuredClone(documents.get(`everything, ${version}`)) as Document)).valid, true, version)
  const broken = structuredClone(documents.get('everything, 3.0')) as Document
  for (const operation of Object.values(broken.paths['/auth/token'] ?? {}))
    operation.responses = { 200: {} as { description: string } }
  t.equal((await validate(broken)).valid, false)
})

t.test('documents registration fields whose names are words of JSON Schema, in Swagger 2.0', async (t) => {
  const names = ['content', 'anyOf', 'properties']
  const fields = Type.Object(
    Object.fromEntries(
      ['const', ...names].map((name) => [name, Type.Optional(Type.Union([Type.Literal('x'), Type.Null()]))])
    )
  )
  const { document } = await documented(t, { registration: { fields } }, VERSIONS['2.0'])
  const { parameters } = document.paths['/auth/register']?.post ?? {}
  const { properties = {} } = parameters?.find((one) => one.in === 'body')?.schema ?? {}
  // @fastify/swagger itself takes the name `const` for a keyword, so that field is not compared.
  for (const name of names) t.match(properties[name], { type: 'string', enum: ['x'], 'x-nullable': true }, name)
  t.notOk('type' in properties)
  t.match(document.paths['/auth/login']?.get?.responses['200'], { schema: { type: 'string' } }, 'a page is a text')
})

t.test('documents every route except the assets of pages', async (t) => {
  for (const [name, options] of Object.entries(CONFIGURATIONS)) {
    const { operations, routes } = await documented(t, options)
    const listed = operations.map(
      ({ method, path }) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`
    )
    t.strictSame(
      listed.sort(),
      routes.filter((route) => !/\/(?:pages\.css|pages\.js|passkeys\.js)$/.test(route)).sort(),
      name
    )
  }
})

const STATUS = new OAuthError('invalid_request', '').statusCode
/** `400 invalid_request` in a sentence about failures that names both; sentences on redirects name no status. */
function failuresOf(sentence: string): string[] {
  return sentence
    .replaceAll(/\([^)]*\)/g, '')
    .split(/[;.:]/)
    .flatMap((part) => {
      const statuses = part.match(/\b[45]\d\d\b/g) ?? []
      const codes = [...part.matchAll(/`(\w+)`/g)].flatMap(([, code = '']) => (code in ERROR_MEANINGS ? [code] : []))
      return statuses.flatMap((status) => codes.map((code) => `${status} ${code}`))
    })
}

t.test('lists the same operations, ids and errors in the reference and the document', async (t) => {
  t.equal(STATUS, 400)
  const { operations } = await documented(t, EVERYTHING)
  const page = readFileSync(new URL('../../docs/reference/endpoints.md', import.meta.url), 'utf8')
  const ids = [...page.matchAll(/^## `(\w+ [^`]+)`$(?:(?!^## )[^])*?Operation id: `(\w+)`/gm)].map(
    ([, route = '', id = '']) => `${route} ${id}`
  )
  t.strictSame(
    operations
      .map(
        ({ method, path, operationId }) =>
          `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')} ${operationId}`
      )
      .sort(),
    ids.sort()
  )
  const sentences = new Map((await endpoints()).map(({ method, url, failures }) => [`${method} ${url}`, failures]))
  let compared = 0
  for (const { method, path, responses } of operations) {
    const route = `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`
    const listed = Object.entries(responses).flatMap(([status, { description }]) =>
      [...description.matchAll(/`(\w+)`/g)].map(([, code]) => `${status} ${code}`)
    )
    const sentence = sentences.get(route) ?? ''
    const told = failuresOf(sentence)
    t.strictSame(
      told.filter((failure) => !listed.includes(failure)),
      [],
      `${route}: what the reference tells is in the document`
    )
    compared += told.length
    // Skips sentences that depend on others, such as "as with GET", and failures that every operation has.
    if (/\bas (?:with|at)\b|to the redirect URI/.test(sentence)) continue
    const everywhere = [
      '400 invalid_request',
      '400 invalid_client',
      '403 access_denied',
      '413 invalid_request',
      '415 invalid_request',
      '500 server_error',
      '503 temporarily_unavailable'
    ]
    t.strictSame(
      listed.filter((failure) => !told.includes(failure) && !everywhere.includes(failure)),
      [],
      `${route}: what the document lists is in the reference`
    )
  }
  t.ok(compared > 150, String(compared))
})
