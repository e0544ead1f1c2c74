/** `npx fastify-authority import`: imports an export of each source twice, and signs its users in. */
import Fastify from 'fastify'
import Database from 'libsql'
import t from '../support/tap.ts'
import { run } from '../../lib/cli/run.ts'
import authPlugin, { sqliteUserStore } from '../../lib/index.ts'
import { exportOf, file, host, importing, rowsIn } from './support/import-host.ts'
import { FIREBASE, PASSWORD, SOURCES } from './support/sources.ts'

/** Parts of the hashes and of the broken rows of the exports, which no report may contain. */
const HASHES = /\$2|\$argon|scrypt\$|pbkdf2_|\$P\$|AQAA|5f4dcc/

for (const [format, source] of Object.entries(SOURCES)) {
  t.test(`imports an export of ${format} once, and signs its users in`, async (t) => {
    const { path, config } = host({ options: source.options })
    const given = exportOf(source.export)
    t.equal((await run(['migrate', '--config', config])).code, 0)
    const dry = await importing(config, format, given, '--dry-run')
    t.equal(dry.code, 1, 'rows were skipped')
    t.same(rowsIn(path), [], 'the dry run wrote nothing')
    const { code, report, text } = await importing(config, format, given)
    t.equal(code, 1)
    t.ok(report, text)
    const { problems, ...counts } = report
    t.strictSame(counts, source.report)
    const { imported, ...others } = report
    t.strictSame(dry.report, { ...others, wouldImport: imported })
    t.notMatch(text, HASHES)
    t.equal(new Set(problems).size, problems.length)

    const written = rowsIn(path)
    t.equal(written.filter(({ username }) => username !== undefined).length, report.imported)
    const again = await importing(config, format, given)
    t.match(again.report, { imported: 0, unchanged: report.imported, problems: { length: problems.length }, links: 0 })
    t.strictSame(rowsIn(path), written, 'the second import changed nothing')
    t.match(
      written.filter(({ issuer }) => issuer !== undefined),
      source.links
    )

    const db = new Database(path)
    t.teardown(() => db.close())
    const users = sqliteUserStore(db)
    t.match(await users.findById((source.first as { id: string }).id), source.first)
    const app = Fastify()
    t.teardown(async () => {
      await app.close()
    })
    const password = { firebase: FIREBASE }
    await app.register(authPlugin, { issuer: 'http://localhost:3000', users, rateLimit: false, password })
    const signIn = async (username: string, typed: string) => {
      const payload = { grant_type: 'password', username, password: typed }
      const { statusCode, body, headers } = await app.inject({ method: 'POST', url: '/auth/token', payload })
      return { statusCode, body, headers: { ...headers, date: '' } }
    }
    const refusal = await signIn('nobody-of-this-name', PASSWORD)
    for (const [username, right] of Object.entries(source.opens)) {
      t.strictSame(await signIn(username, `${right}x`), refusal, `${username}: as for an unknown user`)
      t.equal((await signIn(username, right)).statusCode, 200, username)
    }
    for (const username of source.closed) {
      const { disabled, passwordHash } = (await users.findByUsername(username)) ?? {}
      t.ok(disabled === true || passwordHash === null, `${username}: is disabled, or has no hash that could run`)
      t.strictSame(await signIn(username, PASSWORD), refusal, username)
    }
    // Waits for the new hashes, which the service stores after its replies.
    await app.close()
    for (const username of Object.keys(source.opens))
      t.match(
        (await users.findByUsername(username.replace('b\u00fccher', 'xn--bcher-kva')))?.passwordHash,
        /^\$argon2id\$/
      )

    const replaced = rowsIn(path)
    await importing(config, format, given)
    t.strictSame(rowsIn(path), replaced, 'a replaced hash stays')
  })
}

const row = (id: string | number, username: string, more: object = {}): string =>
  JSON.stringify({ id, username, passwordHash: null, ...more })

t.test('names the id of a skipped row, cut at 100 characters, and skips rows with an invalid time', async (t) => {
  const { config } = host()
  const long = 'x'.repeat(101)
  const rows = [
    row(long, 'ann', { disabled: 'perhaps' }),
    row('\u202eben', 'b,n'),
    row(3, 'cleo', { createdAt: 'yesterday' }),
    row(4, 'dora', { createdAt: -1 }),
    row(5, 'eve', { createdAt: {} }),
    row(6, 'finn', { createdAt: '0000-00-00 00:00:00' }),
    row(7, 'gil', { createdAt: { $date: '2026-01-01T00:00:00Z' } })
  ]
  const { code, report, text } = await importing(config, 'ndjson', file('rows.ndjson', rows.join('\n')))
  t.match({ code, report }, { code: 1, report: { imported: 2, skipped: 5 } })
  t.match(report.problems, [
    `row 1: disabled is neither true nor false (id ${'x'.repeat(100)}…)`,
    /^row 2: has a username .* \(id \u202eben\)$/,
    'row 3: createdAt is no time since 1970 (id 3)',
    'row 4: createdAt is no time since 1970 (id 4)',
    'row 5: createdAt is no time since 1970 (id 5)'
  ])
  t.notOk(text.includes('\u202e'))
  t.match(text, /Skipped rows: 5\. Mend them/)
})
