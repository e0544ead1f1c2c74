/** `npx fastify-authority audit`. */
import Database from 'libsql'
import { sqliteAudit } from '../../lib/index.ts'
import type { AuditEntry } from '../../lib/ports/audit-log.ts'
import t from '../support/tap.ts'
import { cli, database, sqliteConfig } from './support/command-line.ts'

const config = sqliteConfig('without.mjs')
const audit = sqliteConfig('audit.mjs', 'audit: lib.sqliteAudit(db)')

t.test('verifies the audit log, and names the place of a change', async (t) => {
  t.equal((await cli(['user', 'create', 'eve@example.com', '--config', audit])).code, 0)
  t.match(await cli(['audit', 'verify', '--config', audit]), { code: 0, stdout: /^entries: \d+\n$/ })
  const db = new Database(database)
  db.exec("DROP TRIGGER authority_audit_stays; UPDATE authority_audit SET at = at - 1 WHERE action = 'user_created'")
  db.close()
  t.match(await cli(['audit', 'verify', '--config', audit]), { code: 1, stdout: '', stderr: /^changed: entry \d+ of / })
  t.match(await cli(['audit', 'verify', '--config', config]), { code: 1, stderr: /without the option audit/ })
})

t.test('exports a log of several pages as one object a line, and shows its end', async (t) => {
  const db = new Database(database)
  const log = sqliteAudit(db)
  for (let seq = 1; seq <= 1100; seq++) {
    const entry: AuditEntry = {
      chain: 'made',
      seq,
      at: Date.UTC(2026, 0, 1) + seq,
      action: 'signed_in',
      outcome: 'done',
      actor: { type: 'user', id: 'ann' },
      target: null,
      clientId: null,
      sid: null,
      requestId: null,
      ip: null,
      ipMac: null,
      details: {},
      mac: 'm'
    }
    await log.append(entry)
  }
  db.close()
  const { code, stdout, stderr } = await cli(['audit', 'export', '--config', audit])
  t.equal(code, 0, stderr)
  const entries = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  t.strictSame(
    entries.filter(({ chain }) => chain === 'made').map(({ seq }) => seq),
    Array.from({ length: 1100 }, (_, index) => 1100 - index),
    'each once, the newest first'
  )
  t.match(entries.at(-1), { at: '2026-01-01T00:00:00.001Z', actor: { type: 'user', id: 'ann' } })
  const tail = JSON.parse((await cli(['audit', 'tail', '--json', '--config', audit])).stdout) as Array<{ at: string }>
  t.equal(tail.length, 20)
  const times = tail.map(({ at }) => at)
  t.strictSame(times, times.toSorted())
  t.ok(times[0] !== undefined && times[0] >= String(entries[30]?.['at']), 'the newest ones')
  for (const command of ['tail', 'export'])
    t.match(await cli(['audit', command, '--config', config]), {
      code: 1,
      stdout: '',
      stderr: /without the option audit/
    })
})
