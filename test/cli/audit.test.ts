/** `npx fastify-authority audit`. */
import Database from 'libsql'
import { sqliteAudit } from '../../lib/index.ts'
import type { AuditEntry } from '../../lib/ports/audit-log.ts'
import t from '../support/tap.ts'
import { cli, database, file, sqliteConfig } from './support/command-line.ts'

const config = sqliteConfig('without.mjs')
const rowsOf = (sql: string): Array<Record<string, unknown>> => {
  const db = new Database(database)
  try {
    return db.prepare(sql).all() as Array<Record<string, unknown>>
  } finally {
    db.close()
  }
}
const audit = sqliteConfig('audit.mjs', 'audit: lib.sqliteAudit(db)')

t.test('writes no entry for a read-only command, and entries with the reason for other commands', async (t) => {
  const ann = ['ann@example.com', '--config', audit]
  t.equal((await cli(['user', 'create', ...ann, '--reason', 'Ticket 7'])).code, 0)
  // The first start makes a key.
  t.equal((await cli(['keys', 'list', '--config', audit])).code, 0)
  const before = rowsOf('SELECT * FROM authority_audit')
  for (const words of [
    ['user', 'list'],
    ['user', 'show', 'ann@example.com'],
    ['keys', 'list'],
    ['audit', 'verify'],
    ['audit', 'tail'],
    ['audit', 'export']
  ])
    t.equal((await cli([...words, '--config', audit])).code, 0, words.join(' '))
  t.match(await cli(['user', 'disable', ...ann, '--yes', '--reason', 'x'.repeat(501)]), {
    code: 2,
    stderr: /--reason has 501 characters/
  })
  t.strictSame(rowsOf('SELECT * FROM authority_audit'), before)
  t.equal((await cli(['user', 'disable', ...ann, '--yes', '--reason', 'Ticket 8'])).code, 0)
  t.equal((await cli(['user', 'enable', ...ann])).code, 0)
  const tail = async (...words: string[]): Promise<AuditEntry[]> => {
    const { code, stdout, stderr } = await cli(['audit', 'tail', '--json', ...words, '--config', audit])
    t.equal(code, 0, stderr)
    return JSON.parse(stdout) as AuditEntry[]
  }
  t.match(await tail('--action', 'user_disabled'), [
    { action: 'user_disabled', outcome: 'attempted', details: { reason: 'Ticket 8' } },
    { action: 'user_disabled', outcome: 'done' }
  ])
  const [user] = rowsOf('SELECT id FROM authority_users')
  t.strictSame(
    (await tail('--user', String(user?.['id']))).map(({ action, outcome }) => `${action} ${outcome}`),
    [
      'user_created done',
      'user_disabled attempted',
      'user_disabled done',
      'user_enabled attempted',
      'user_enabled done'
    ]
  )
  t.same(await tail('--user', 'nobody'), [])
  t.match(await cli(['audit', 'verify', '--json', '--config', audit]), { code: 0, stdout: /^\{"entries":\d+\}\n$/ })
  t.strictSame(
    rowsOf('SELECT chain FROM authority_audit WHERE seq = 1').length,
    rowsOf("SELECT chain FROM authority_audit WHERE action = 'started'").length,
    'each chain begins with the start'
  )
})

t.test('prints a checkpoint to stderr after a command that changes something, and none after others', async (t) => {
  const acted = await cli(['user', 'create', 'zoe@example.com', '--config', audit])
  t.match(acted, { code: 0, stderr: /^\{.*"code":"FST_AUTHORITY_AUDIT_CHECKPOINT".*\}\n$/ })
  const log = file('act.log', acted.stderr)
  t.match(await cli(['audit', 'verify', '--checkpoints', log, '--config', audit]), {
    code: 0,
    stdout: /with 1 checkpoint\.\n$/,
    stderr: ''
  })
  t.match(await cli(['user', 'list', '--config', audit]), { code: 0, stderr: '' })
})

t.test('detects a cut audit log by the checkpoints in a log file of the service, and rejects bad files', async (t) => {
  const verify = async (...words: string[]) => await cli(['audit', 'verify', ...words, '--config', audit])
  const [last] = rowsOf('SELECT chain, seq, mac, at FROM authority_audit ORDER BY at DESC, seq DESC LIMIT 1')
  const line = (checkpoint: unknown): string =>
    `${JSON.stringify({ level: 30, code: 'FST_AUTHORITY_AUDIT_CHECKPOINT', checkpoint })}\n`
  const lines = file('service.log', `no JSON FST_AUTHORITY_AUDIT_CHECKPOINT\n{"code":1}\nnull\n\n${line(last)}`)
  t.match(await verify('--checkpoints', lines), {
    code: 0,
    stdout: /^No fault in \d+ entries with 1 checkpoint\.\n$/
  })
  const db = new Database(database)
  db.prepare('DELETE FROM authority_audit WHERE chain = ? AND seq = ?').run(last?.['chain'], last?.['seq'])
  db.close()
  t.match(await verify(), { code: 0 })
  t.match(await verify('--checkpoints', lines), { code: 1, stdout: '', stderr: /^cut: entry \d+ of / })
  for (const [name, text, says] of [
    ['other.log', '{"level":30,"msg":"hello"}\n', /no line with the code/],
    ['half.log', line({ chain: 'a', seq: 1 }), /Line 1 of .* no whole checkpoint/],
    ['null.log', line(null), /Line 1 of .* no whole checkpoint/]
  ] as const)
    t.match(await verify('--checkpoints', file(name, text)), { code: 2, stdout: '', stderr: says })
  t.match(await verify('--checkpoints', 'none.log'), { code: 2, stderr: /no file none\.log/ })
})

t.test('verifies the audit log, and names the entry that was changed', async (t) => {
  t.equal((await cli(['user', 'create', 'eve@example.com', '--config', audit])).code, 0)
  t.match(await cli(['audit', 'verify', '--config', audit]), { code: 0, stdout: /^No fault in \d+ entries\.\n$/ })
  const db = new Database(database)
  db.exec("DROP TRIGGER authority_audit_stays; UPDATE authority_audit SET at = at - 1 WHERE action = 'user_created'")
  db.close()
  t.match(await cli(['audit', 'verify', '--config', audit]), { code: 1, stdout: '', stderr: /^changed: entry \d+ of / })
  const { code, stdout } = await cli(['audit', 'verify', '--json', '--config', audit])
  t.equal(code, 1)
  t.match(JSON.parse(stdout), { entries: Number, faults: [{ fault: 'changed', seq: Number, chain: String }] })
  t.match(await cli(['audit', 'verify', '--config', config]), { code: 1, stderr: /without the option audit/ })
})

t.test('exports a long audit log as one object per line, and prints the newest entries with tail', async (t) => {
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
