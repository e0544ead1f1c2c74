/** The reference pages match the code. `UPDATE=1` writes them: see `AFRESH`. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import Fastify from 'fastify'
import { DECORATORS } from '../../lib/settings/sections/decorators.ts'
import t from '../support/tap.ts'
import { memoryUserStore } from '../../lib/adapters/memory/user-store.ts'
import { authPlugin } from '../../lib/plugin.ts'
import { OPTIONS_SCHEMA } from '../../lib/composition/compose.ts'
import { MOVABLE } from '../../lib/settings/paths.ts'
import { CLIENT_ENTRIES, CLIENT_ERRORS, clientApi } from '../../scripts/reference-client.ts'
import { endpoints } from '../../scripts/reference-endpoints.ts'
import { optionRows } from '../../scripts/reference-options.ts'
import { ERROR_MEANINGS, EVENT_MEANINGS, references, START_ERRORS } from '../../scripts/reference.ts'

const root = new URL('../../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')
const AFRESH = 'npm run docs:reference'
const update = process.env['UPDATE'] === '1'
const eventsSource = read('lib/events.ts')
const errorsSource = read('lib/errors.ts')
const clientSource = Object.fromEntries(
  readdirSync(new URL('lib/client/', root))
    .filter((file) => file.endsWith('.ts'))
    .map((file) => [file.slice(0, -3), read(`lib/client/${file}`)])
)

// covers ASVS-2.1.3 ASVS-7.1.1 ASVS-16.1.1
t.test('keeps the reference pages equal to those generated from the code', async (t) => {
  for (const [path, content] of Object.entries(await references(eventsSource, clientSource))) {
    if (update) writeFileSync(new URL(path, root), content)
    t.equal(read(path), content, `${path} is what the code says, or is written anew by ${AFRESH}`)
  }
})

t.test('lists every option of the schema with a description', async (t) => {
  const rows = optionRows()
  const paths = rows.map(({ path }) => path)
  t.equal(new Set(paths).size, paths.length)
  for (const name of Object.keys(OPTIONS_SCHEMA.properties)) t.ok(paths.includes(name), name)
  for (const path of [
    'refreshToken.reuseGraceSeconds',
    'password.maxQueue',
    'rateLimit.login.windowMs',
    'rateLimit.bypass',
    'rateLimit.apiKey.header',
    'clients.clientSecret',
    'clients.backchannelLogoutUri',
    'paths.token',
    'pages.render',
    'session.idleTimeout',
    'idToken.expiresIn',
    'authorizationCode.expiresIn',
    'decorators.authSession',
    'registration.fields'
  ])
    t.ok(paths.includes(path), path)
  t.strictSame(
    rows.filter(({ path, description }) => description === '' && !path.startsWith('paths.')).map(({ path }) => path),
    [],
    'each option has a comment'
  )
})

// covers ASVS-6.1.1
t.test('mentions every rate limit option in the guide', async (t) => {
  const guide = read('docs/guides/rate-limits.md')
  for (const { path } of optionRows()) {
    const [, key] = /^rateLimit\.(\w+)$/.exec(path) ?? []
    if (key !== undefined) t.ok(guide.includes(`\`${key}\``) || guide.includes(`\`rateLimit.${key}\``), key)
  }
})

t.test('describes every route', async (t) => {
  const all = await endpoints()
  t.strictSame(
    all.filter(({ what }) => what === '').map(({ method, url }) => `${method} ${url}`),
    [],
    'each endpoint says what it does'
  )
})

// covers ASVS-7.1.1 ASVS-7.1.3
t.test('states the default lifetimes in the sign-out guide', async (t) => {
  const words = (option: string): string => {
    const seconds = Number(
      optionRows()
        .find(({ path }) => path === option)
        ?.default.replaceAll('`', '')
    )
    const [unit, size] = (
      [
        ['days', 86_400],
        ['hours', 3600],
        ['minutes', 60]
      ] as const
    ).find(([, size]) => seconds % size === 0 && seconds >= size * 2) ?? ['seconds', 1]
    return `${seconds / size} ${unit}`
  }
  const expected: Record<string, [string, string]> = {
    session: [words('session.expiresIn'), words('session.idleTimeout')],
    refreshToken: [words('refreshToken.expiresIn'), words('refreshToken.idleTimeout')],
    accessToken: [words('accessToken.expiresIn'), ''],
    idToken: [words('idToken.expiresIn'), ''],
    authorizationCode: [words('authorizationCode.expiresIn'), '']
  }
  const rows = read('docs/guides/logout.md')
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter((cells) => /^`\w+`$/.test(cells[4] ?? ''))
  t.strictSame(
    Object.fromEntries(
      rows.map(([, , lives = '', idle, option = '']) => [option.replaceAll('`', ''), [lives.split(',')[0], idle]])
    ),
    expected
  )
})

t.test('moves a route with every name of the paths option', async (t) => {
  const moved = new Set((await endpoints()).map(({ pathName }) => pathName))
  t.strictSame(
    MOVABLE.filter((name) => !moved.has(name)),
    []
  )
})

t.test('explains every error code and every event', async (t) => {
  const codes = [...(/STATUS = \{([^}]*)\}/.exec(errorsSource)?.[1] ?? '').matchAll(/^ {2}(\w+): \d+/gm)].map(
    ([, code]) => code
  )
  t.ok(codes.length > 10)
  t.strictSame(Object.keys(ERROR_MEANINGS).sort(), codes.sort())
  t.strictSame(
    Object.keys(START_ERRORS).sort(),
    [...(/type StartErrorCode =((?:\s+\| '\w+')+)/.exec(errorsSource)?.[1] ?? '').matchAll(/FST_\w+/g)]
      .map(([code]) => code)
      .sort()
  )
  const events = [
    ...(/interface EventFacts \{([\s\S]*?)^\}/m.exec(eventsSource)?.[1] ?? '').matchAll(/^ {2}(\w+): /gm)
  ].map(([, name]) => name)
  t.strictSame(Object.keys(EVENT_MEANINGS).sort(), events.sort())
})

t.test('documents the entries of the browser client and exactly the errors that it throws', async (t) => {
  const { exports } = JSON.parse(read('package.json')) as { exports: Record<string, { default: string }> }
  const entries = Object.entries(exports).filter(([name]) => /^\.\/client(\/|$)/.test(name))
  t.strictSame(
    CLIENT_ENTRIES,
    Object.fromEntries(
      entries.map(([name, { default: file }]) => [`fastify-authority${name.slice(1)}`, /([\w-]+)\.js$/.exec(file)?.[1]])
    )
  )
  const api = clientApi(clientSource)
  t.strictSame(Object.keys(CLIENT_ERRORS).sort(), api.thrown())
  const told = [
    ...(/\/\*\*([^/]*?)\*\/\s+declare readonly error: /.exec(clientSource['errors'] ?? '')?.[1] ?? '').matchAll(
      /`(\w+)`/g
    )
  ].map(([, code]) => code)
  t.strictSame(told.sort(), api.thrown(), 'the comment of the type names them too')
  const page = read('docs/reference/client.md')
  const exported = Object.values(CLIENT_ENTRIES).flatMap((file) => api.exportsOf(file))
  t.ok(exported.length > 20)
  for (const name of exported) t.ok(page.includes(`### \`${name}\``), name)
})

t.test('detects a client export that the page lacks, and a member without a comment', async (t) => {
  const changed = (file: string, text: string): Record<string, string> => ({
    ...clientSource,
    [file]: `${clientSource[file] ?? ''}\n${text}`
  })
  const pageOf = async (source: Record<string, string>): Promise<string> =>
    (await references(eventsSource, source))['docs/reference/client.md'] ?? ''
  t.not(await pageOf(changed('popup', '/** More. */\nexport const more = 1')), read('docs/reference/client.md'))
  await t.rejects(pageOf(changed('popup', 'export const more = 1')), /more has no comment/)
  await t.rejects(pageOf(changed('silent', 'export interface More { more: string }')), /More\.more has no comment/)
  t.ok(clientApi(changed('silent', "throw new AuthClientError(x ? 'new_one' : y)")).thrown().includes('new_one'))
})

t.test('lists exactly the decorators of the app on the host page', async (t) => {
  const app = Fastify()
  t.teardown(async () => {
    await app.close()
  })
  await app.register(authPlugin, { issuer: 'http://localhost:3000', users: memoryUserStore() })
  const page = read('docs/reference/host.md')
  const hooks = Object.keys(DECORATORS).filter((name) => !['authority', 'auth', 'authSession'].includes(name))
  t.ok(hooks.includes('requireUser'))
  for (const name of hooks) t.ok(app.hasDecorator(name) && page.includes(`\`app.${name}`), name)
  const section = page.split(/^## app\.authority$/m)[1]?.split(/^## /m)[0] ?? ''
  const rows = section
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|')[1] ?? '')
  t.strictSame(
    rows.flatMap((cell) => [...cell.matchAll(/`(\w+)/g)].map(([, name]) => name)).sort(),
    Object.keys(app.authority).sort()
  )
})
