/** `npx fastify-authority import` into PostgreSQL: the same report as into SQLite, and two at once. */
import t from '../support/tap.ts'
import { postgresUserStore } from '../../lib/index.ts'
import { run } from '../../lib/cli/run.ts'
import { at, exportOf, file, importing } from './support/import-host.ts'
import { SOURCES } from './support/sources.ts'
import { sharedPostgres } from '../support/shared-postgres.ts'

const server = await sharedPostgres(t)

async function host() {
  const { url, pool } = await server.database()
  const config = file(
    `${new URL(url).pathname.slice(1)}.mjs`,
    `import * as lib from '${at('lib/index.ts')}'
import { Pool } from '${import.meta.resolve('pg')}'
export default () => {
  const db = new Pool({ connectionString: '${url}', max: 4 })
  db.on('error', () => {})
  return {
    options: { issuer: 'https://auth.example.com', secret: '${'s3cr3t-of-a-test-'.repeat(3)}', clients: [],
      users: lib.postgresUserStore(db), state: lib.postgresState(db) },
    close: () => db.end()
  }
}`
  )
  return { config, users: postgresUserStore(pool({ max: 2 })) }
}

for (const format of ['keycloak', 'supabase', 'ndjson'])
  t.test(`imports an export of ${format} into PostgreSQL once`, async (t) => {
    const source = SOURCES[format] as (typeof SOURCES)[string]
    const { config, users } = await host()
    const given = exportOf(source.export)
    t.match(await importing(config, format, given, '--dry-run'), { code: 1, text: /migrate first/ })
    await run(['migrate', '--config', config])
    const dry = await importing(config, format, given, '--dry-run')
    t.same(await users.list({ limit: 9 }), [])
    const { report } = await importing(config, format, given)
    t.match(report, source.report)
    const { imported, ...others } = report
    t.strictSame(dry.report, { ...others, wouldImport: imported })
    const { id } = source.first as { id: string }
    const first = await users.findById(id)
    t.match(first, source.first)
    t.match((await importing(config, format, given)).report, { imported: 0, unchanged: imported })
    t.strictSame(await users.findById(id), first)
  })

t.test('writes each user once when two imports run in parallel', async (t) => {
  const { config, users } = await host()
  await run(['migrate', '--config', config])
  const rows = Array.from({ length: 2500 }, (_, index) => JSON.stringify({ id: `id-${index}`, username: `u-${index}` }))
  const [forth, back] = [file('forth.ndjson', rows.join('\n')), file('back.ndjson', rows.toReversed().join('\n'))]
  const reports = await Promise.all([importing(config, 'ndjson', forth), importing(config, 'ndjson', back)])
  const sum = (name: 'imported' | 'unchanged') => reports.reduce((all, { report }) => all + report[name], 0)
  t.strictSame([sum('imported'), sum('unchanged')], [2500, 2500])
  t.ok(await users.findByUsername('u-2499'))
})
