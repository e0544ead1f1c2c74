/** `npx fastify-authority import`: conflicts, interruptions, the forms of a file, and exit codes. */
import { execFile } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'libsql'
import t from '../support/tap.ts'
import { run } from '../../lib/cli/run.ts'
import { at, directory, exportOf, file, host, importing, rowsIn } from './support/import-host.ts'

const row = (id: string | number, username: string, more: object = {}): string =>
  JSON.stringify({ id, username, passwordHash: null, ...more })
let files = 0
const given = (rows: readonly string[], name = `given-${++files}.ndjson`): string => file(name, `${rows.join('\n')}\n`)

t.test('writes nothing when two users would have the same username', async (t) => {
  const { path, config } = host()
  await run(['migrate', '--config', config])
  const twice = given([row(1, 'ann'), row(2, 'ben'), row(3, 'ANN'), row(4, 'cleo')])
  for (const more of [[], ['--dry-run'], ['--yes']]) {
    const { code, report, text } = await importing(config, 'ndjson', twice, ...more)
    t.equal(code, 1)
    t.match(text, /^Nothing was written, .* Rename one/)
    const none = more[0] === '--dry-run' ? { wouldImport: 0, imported: undefined } : { imported: 0 }
    t.match(report, { ...none, problems: ['row 3: has the username of row 1 (id 3)'] })
    t.strictSame(rowsIn(path), [])
  }
  t.equal((await importing(config, 'ndjson', given([row(1, 'ann')]))).code, 0)
  const before = rowsIn(path)
  const taken = await importing(config, 'ndjson', given([row(8, 'dora'), row(9, 'Ann')]))
  t.match(taken, {
    code: 1,
    report: { imported: 0, problems: ['row 2: another user of the store has its username (id 9)'] }
  })
  t.strictSame(rowsIn(path), before)
  // The store has the id already, so this is no conflict.
  const renamed = await importing(config, 'ndjson', given([row(8, 'dora'), row(1, 'ann.smith')]))
  t.match(renamed, {
    code: 1,
    report: { imported: 1, problems: ['row 2: the store has its id with another username (id 1)'] }
  })
})

t.test('skips a user whose name is taken between the two passes, and imports the others', async (t) => {
  const { path, config } = host({
    wrap: `users = { ...stored, async importUsers(rows, options) {
      if (!options.dryRun) await stored.create({ username: 'ben', passwordHash: null })
      return await stored.importUsers(rows, options)
    } }`
  })
  const { code, report } = await importing(config, 'ndjson', given([row(1, 'ann'), row(2, 'ben'), row(3, 'cleo')]))
  t.match(
    { code, report },
    { code: 1, report: { imported: 2, problems: ['row 2: another user of the store has its username (id 2)'] } }
  )
  t.equal(rowsIn(path).length, 3)
})

t.test('leaves out a link that another user has, and reports it', async (t) => {
  const { path, config } = host()
  const link = { issuer: 'https://sso.acme.com', subject: 'a', connection: 'acme' }
  const linked = given([row(1, 'ann', { links: [link] }), row(2, 'ben', { links: [link, { ...link, subject: 'b' }] })])
  const { code, report } = await importing(config, 'ndjson', linked)
  t.match(
    { code, report },
    { code: 0, report: { imported: 2, links: 2, problems: ['row 2: links that another user has: 1 (id 2)'] } }
  )
  t.match(
    rowsIn(path).filter(({ issuer }) => issuer !== undefined),
    [
      { subject: 'a', user_id: '1' },
      { subject: 'b', user_id: '2' }
    ]
  )
})

t.test('continues an import that was killed, and writes each user once', async (t) => {
  const rows = Array.from({ length: 2500 }, (_, index) => row(`id-${index}`, `person-${index}`))
  const many = given(rows)
  const { path, config } = host({
    wrap: `users = { ...stored, async importUsers(rows, options) {
      if (!options.dryRun && ++calls === 2) process.kill(process.pid, 'SIGKILL')
      return await stored.importUsers(rows, options)
    } }`
  })
  const words = ['--import', at('scripts/typescript-loader.mjs'), fileURLToPath(at('lib/cli/index.ts')), 'import']
  const signal = await new Promise((done) => {
    execFile(process.execPath, [...words, 'ndjson', many, '--config', config], (error) => done(error?.signal))
  })
  t.equal(signal, 'SIGKILL')
  t.equal(rowsIn(path).length, 1000)
  const { report } = await importing(host({ path }).config, 'ndjson', many)
  t.match(report, { rows: 2500, imported: 1500, unchanged: 1000, skipped: 0 })
  t.equal(rowsIn(path).length, 2500)
})

for (const [name, text] of Object.entries({
  'list.json': `\n [\n${row(1, 'ann')} ,\n${row(2, 'ben')}]\n`,
  'empty-list.json': '[]',
  'one-line.json': `[${row(1, 'ann')},${row(2, 'ben')}]`,
  'lines.json': `${row(1, 'ann')}\n\n${row(2, 'ben')}`,
  'lines.jsonl': `\ufeff${row(1, 'ann')}\r\n${row(2, 'ben')}\r\n`,
  'table.csv': 'id,username,passwordHash\n1,ann,\n2,ben,NULL\n',
  'no-name': '\ufeff"id","username"\r\n"1","ann"\r\n\r\n"2","ben"',
  'empty.csv': '',
  'no-rows.csv': 'id,username\n'
}))
  t.test(`imports the file ${name}`, async (t) => {
    const { path, config } = host()
    const { code, report } = await importing(config, 'ndjson', file(name, text))
    const expected = /empty|no-rows/.test(name) ? [] : ['1 ann', '2 ben']
    t.match({ code, report }, { code: 0, report: { rows: expected.length, imported: expected.length, problems: [] } })
    t.strictSame(
      rowsIn(path).map(({ id, username }) => `${String(id)} ${String(username)}`),
      expected
    )
  })

t.test('counts skipped links by provider, also for names such as constructor and __proto__', async (t) => {
  const { config } = host()
  const names = ['constructor', '__proto__', 'toString', 'toString']
  const identities = names.map((provider, index) => ({ provider, provider_id: String(index) }))
  const given = file('names.json', JSON.stringify([{ id: '1', email: 'ann@example.com', identities }]))
  const { code, report } = await importing(config, 'supabase', given)
  t.equal(code, 0)
  t.strictSame(Object.entries(report['linksLeftOut'] as object), [
    ['constructor', 1],
    ['__proto__', 1],
    ['toString', 2]
  ])
})

t.test('skips a row that is nested too deep, and imports the others', async (t) => {
  for (const depth of [100, 200_000]) {
    const { path, config } = host()
    const deep = `{"id":"2","username":"ben","x":${'['.repeat(depth)}${']'.repeat(depth)}}`
    const { code, report } = await importing(config, 'ndjson', given([row(1, 'ann'), deep, row(3, 'cleo')]))
    t.match({ code, report }, { code: 1, report: { imported: 2, skipped: 1, problems: [/^row 2: .*nested too deep/] } })
    t.equal(rowsIn(path).length, 2)
  }
})

const KEYCLOAK = { id: 'a', username: 'ann' }
for (const [name, format, text, problems] of [
  [
    'long.ndjson',
    'ndjson',
    `${row(1, 'a'.repeat(1_000_001))}\n${row(2, 'ben')}`,
    ['row 1: is longer than a million characters']
  ],
  ['quote.csv', 'ndjson', `id,username\n1,ann\n2,"ben\n${'x,y\n'.repeat(9)}`, [/^row 3: .* a quote is not closed/]],
  ['latin1.csv', 'ndjson', Buffer.from('id,username\n1,ann\n2,J\u00f6rg\n', 'latin1'), ['row 3: is not in UTF-8']],
  ['latin1.ndjson', 'ndjson', Buffer.from(row(1, 'J\u00f6rg'), 'latin1'), ['row 1: is not in UTF-8']],
  [
    'cut.json',
    'keycloak',
    JSON.stringify({ users: [KEYCLOAK, KEYCLOAK] }, null, 1).slice(0, -20),
    [/row 2: .*cut off/]
  ],
  ['none.json', 'keycloak', '{\n"realm": "shop"\n}', [/row 1: .*no list users/]],
  [
    'one-line-document.json',
    'keycloak',
    JSON.stringify({ realm: 'shop', users: [KEYCLOAK, { id: 'b' }] }),
    [/row 2: has neither/]
  ],
  ['user-lines.json', 'keycloak', `${JSON.stringify(KEYCLOAK)}\n{"id":"b"}`, [/row 2: has neither/]],
  ['wrong.csv', 'wordpress', 'id,name\n1,ann\n', ['row 2: has no id']]
] as Array<[string, string, string | Buffer, Array<string | RegExp>]>)
  t.test(`reports the invalid rows of ${name}`, async (t) => {
    const { config } = host()
    const path = join(directory, name)
    writeFileSync(path, text)
    const { code, report } = await importing(config, format, path)
    t.match({ code, report }, { code: 1, report: { skipped: problems.length, problems } })
    t.equal(report.problems.length, problems.length)
  })

const { config: usual } = host()
const some = given([row(1, 'ann')])
for (const [title, words, code, says, config] of [
  ['no format', ['import'], 2, /Usage: .*import <format> <file>/, usual],
  ['no file', ['import', 'auth0'], 2, /Usage/, usual],
  ['an unknown format', ['import', 'okta', some], 2, /no format okta.*auth0/, usual],
  ['a format named like a property of Object', ['import', 'constructor', some], 2, /no format constructor/, usual],
  ['a file that is not there', ['import', 'ndjson', 'none.ndjson'], 2, /no file none.ndjson/, usual],
  ['a folder', ['import', 'ndjson', directory], 2, /no file/, usual],
  ['--dry-run of another command', ['user', 'list', '--dry-run'], 2, /Usage/, usual],
  ['Firebase without its key', ['import', 'firebase', exportOf('firebase.json')], 1, /password\.firebase/, usual],
  [
    'a store without importUsers',
    ['import', 'ndjson', some],
    1,
    /importUsers/,
    host({ wrap: 'users = { ...stored, importUsers: undefined }' }).config
  ],
  [
    'a store that is out of reach',
    ['import', 'ndjson', some],
    3,
    /out of reach/,
    host({
      wrap: `users = { ...stored, async importUsers() {
        throw Object.assign(new Error('out of reach'), { isOutage: true })
      } }`
    }).config
  ]
] as Array<[string, string[], number, RegExp, string]>)
  t.test(`exits with ${code} for ${title}`, async (t) => {
    const { code: exit, text, problem } = await run([...words, '--config', config])
    t.equal(exit, code, problem)
    t.equal(text, '')
    t.match(problem, says)
  })

t.test('creates no table and writes nothing in a dry run', async (t) => {
  const { path, config } = host()
  const refused = await importing(config, 'ndjson', some, '--dry-run')
  t.match(refused, { code: 1, text: /run npx fastify-authority migrate first/ })
  t.equal(statSync(path).size, 0, 'only the host has opened it')
  await run(['migrate', '--config', config])
  const before = readFileSync(path)
  t.match(await importing(config, 'ndjson', some, '--dry-run'), { code: 0, report: { wouldImport: 1 } })
  t.ok(readFileSync(path).equals(before))
})

t.test('writes an audit entry before and after an import, and imports nothing without the first', async (t) => {
  const audit = 'options.audit = lib.sqliteAudit(db)'
  const { path, config } = host({ audit })
  t.equal((await importing(config, 'ndjson', some)).code, 0)
  const db = new Database(path)
  t.teardown(() => db.close())
  const entries = db
    .prepare("SELECT outcome, entry FROM authority_audit WHERE action = 'users_imported' ORDER BY seq")
    .all()
  t.match(entries, [
    { outcome: 'attempted', entry: /"type":"cli"/ },
    { outcome: 'done', entry: /"type":"cli"/ }
  ])
  const down = host({ audit: `${audit}; options.audit.append = async () => { throw new Error('full') }` })
  const { code, problem } = await run(['import', 'ndjson', some, '--config', down.config])
  t.equal(code, 3, problem)
  t.same(rowsIn(down.path), [])
})

t.test('prints a readable report with one problem per line', async (t) => {
  const { config } = host()
  const { code, text, problem } = await run([
    'import',
    'ndjson',
    given([row(1, 'ann'), row(2, 'a b')]),
    '--config',
    config
  ])
  t.equal(code, 1)
  t.equal(
    problem,
    'Skipped rows: 1. Mend them in the file and run the command again. It does not change users who are there.'
  )
  t.match(text, /^imported: 1$/m)
  t.match(text, /^problems:\s+\n  row 2: has a username/m)
})
