/** `npx fastify-authority import`: links, lockouts, and a store that returns invalid results. */
import t from '../support/tap.ts'
import { run } from '../../lib/cli/run.ts'
import { file, host, importing, rowsIn } from './support/import-host.ts'

const row = (id: number, username: string, more: object = {}): string => JSON.stringify({ id, username, ...more })
let files = 0
const given = (rows: readonly string[]): string => file(`rows-${++files}.ndjson`, `${rows.join('\n')}\n`)

t.test('imports a user whose row has a link twice, and refuses an address with a NUL', async (t) => {
  const { path, config } = host()
  const link = { issuer: 'https://sso.acme.com', subject: 'a', connection: 'acme' }
  const linked = given([
    row(1, 'ann', { links: [link, link, { ...link, subject: 'b' }] }),
    row(2, 'ben', { links: [{ ...link, subject: 'c', email: 'ben\0@example.com' }] }),
    row(3, 'cleo')
  ])
  const { code, report } = await importing(config, 'ndjson', linked)
  t.match({ code, report }, { code: 1, report: { imported: 2, links: 2, problems: [/^row 2: has a link with a NUL/] } })
  t.equal(rowsIn(path).length, 4)
})

t.test('skips a first row that is no JSON, and imports the others', async (t) => {
  const { path, config } = host()
  const lines = file(`broken-${++files}.json`, '{"id":"1",}\n{"id":"2","username":"ben"}\n')
  t.match(await importing(config, 'keycloak', lines), {
    code: 1,
    report: { imported: 1, problems: [/^row 1: is no JSON/] }
  })
  t.match(rowsIn(path), [{ username: 'ben' }])
})

for (const [what, lockout, disabled] of [
  ['the first time of .NET', '0001-01-01T00:00:00.0000000+00:00', 0],
  ['the first time of .NET without a zone', '0001-01-01 00:00:00.000000', 0],
  ['a negative number', '-62135596800000', 0],
  ['the zeros of MySQL', '0000-00-00 00:00:00', 0],
  ['nothing', '', 0],
  ['the last time of .NET', '9999-12-31T23:59:59.9999999+00:00', 1],
  ['a text that is no time', 'infinity', 1]
] as const)
  t.test(`imports a user as ${disabled === 0 ? 'enabled' : 'disabled'} for a lockout until ${what}`, async (t) => {
    const { path, config } = host()
    const table = file(`lockout-${++files}.csv`, `Id,UserName,LockoutEnd\n1,ann,${lockout}\n`)
    t.match(await importing(config, 'aspnet', table), { code: 0 })
    t.match(rowsIn(path), [{ username: 'ann', disabled }])
  })

for (const [what, answer, says] of [
  ['nothing', 'undefined', /users\.importUsers.*an array/],
  ['too few outcomes', '[]', /users\.importUsers.*an array/],
  ['an unknown outcome', "[{ outcome: 'done', links: 0 }]", /users\.importUsers.*one of imported/],
  ['no number of links', "[{ outcome: 'imported' }]", /users\.importUsers.*links/],
  ['null for a user', '[null]', /users\.importUsers/]
] as const)
  t.test(`names users.importUsers in the error when it returns ${what}`, async (t) => {
    const { config } = host({ wrap: `users = { ...stored, importUsers: async () => (${answer}) }` })
    const { code, problem } = await run(['import', 'ndjson', given([row(1, 'ann')]), '--config', config])
    t.equal(code, 1)
    t.match(problem, says)
  })
