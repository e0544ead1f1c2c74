import t from '../../support/tap.ts'
import { type AuditEntry, type AuditLog, memoryAudit } from '../../../lib/index.ts'
import { PASSWORD } from '../../support/app.ts'
import { logLines } from '../../support/log-lines.ts'
import { allOf, audited } from './world.ts'

/** A log that fails on demand: before the write, or by losing the answer. */
function failing() {
  const inner = memoryAudit()
  const state = { mode: 'up' as 'up' | 'down' | 'loses answers' | 'hangs', appends: 0 }
  const log: AuditLog = {
    ...inner,
    async append(entry) {
      state.appends++
      if (state.mode === 'down') throw new Error('down for ann@example.com')
      if (state.mode === 'hangs') await new Promise(() => {})
      await inner.append(entry)
      if (state.mode === 'loses answers') throw new Error('the answer was lost')
    },
    async head(chain) {
      if (state.mode === 'down') throw new Error('down')
      return await inner.head(chain)
    }
  }
  return { log, inner, state }
}

/** Lets work after replies continue. */
async function turns(count = 200): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Waits for this many entries. */
async function entriesOf(log: AuditLog, count: number): Promise<AuditEntry[]> {
  for (;;) {
    const entries = await allOf(log)
    if (entries.length >= count) return entries
    await turns(1)
  }
}

const said = (entries: readonly AuditEntry[]) => entries.map(({ action, outcome }) => `${action} ${outcome}`)

t.test('writes an entry before and another after each change by an administrator', async (t) => {
  const { log } = failing()
  const { app, users, ann } = await audited(t, log, { audit: { log, events: 'admin' } })
  const by = { type: 'user', id: 'admin-1' } as const
  await users.disable(ann.sub, { by, reason: 'They asked for it.' })
  await t.rejects(users.disable('nobody', { by }), { name: 'OAuthError', error: 'not_found' })
  const made = await users.create({ username: 'bob@example.com' }, { by })
  await users.remove(made.id, { by })
  const entries = (await entriesOf(log, 9)).slice(1)
  t.same(said(entries), [
    'user_disabled attempted',
    'user_disabled done',
    'user_disabled attempted',
    'user_disabled refused',
    'user_created attempted',
    'user_created done',
    'account_removed attempted',
    'account_removed done'
  ])
  t.match(entries[1], { actor: by, target: { type: 'user', id: ann.sub }, details: { of: 2 } })
  t.match(entries[0], { details: { reason: 'They asked for it.' } })
  t.match(entries[3], { target: { type: 'user', id: 'nobody' }, details: { error: 'not_found' } })
  t.equal(entries[4]?.target, null)
  t.match(entries[5], { target: { type: 'user', id: made.id } })
  t.same((await app.authority.verifyAudit()).faults, [])
  await t.rejects(users.disable(ann.sub, { by: { type: 'admin' as 'user', id: 'x' } }), TypeError)
})

t.test('refuses changes of users while the audit log is down, but not sign-ins', async (t) => {
  const { log, state } = failing()
  const { app, users, ann, events, clock } = await audited(t, log)
  await turns()
  state.mode = 'down'
  for (let tries = 0; tries < 3; tries++)
    await t.rejects(users.disable(ann.sub), { name: 'OAuthError', error: 'temporarily_unavailable', statusCode: 503 })
  t.equal((await users.get(ann.sub))?.disabled, false)
  const signIn = async () =>
    await app.inject({
      method: 'POST',
      url: '/auth/token',
      payload: { grant_type: 'password', username: 'ann@example.com', password: PASSWORD }
    })
  for (let count = 0; count < 3; count++) t.equal((await signIn()).statusCode, 200)
  await turns()
  t.equal(events.filter(({ name }) => name === 'audit_degraded').length, 1)
  state.mode = 'up'
  await users.disable(ann.sub)
  let entries: AuditEntry[] = []
  const named = (name: string) => entries.filter(({ action }) => action === name)
  while (named('authenticated').length < 3 || named('audit_gap').length === 0) {
    clock.step(1001)
    await turns(10)
    entries = await allOf(log)
  }
  t.match(named('audit_gap'), [{ outcome: 'done', details: { lost: 0 } }], 'the entries before it are late')
  t.same(said(entries.filter(({ action }) => action.startsWith('user_'))), [
    'user_disabled attempted',
    'user_disabled done'
  ])
  t.same((await app.authority.verifyAudit()).faults, [])
})

t.test('records how many entries were lost when more than ten thousand waited for the log', async (t) => {
  const { log, state } = failing()
  const { app, clock } = await audited(t, log, { audit: { log, events: 'security' } })
  await turns()
  state.mode = 'down'
  for (let count = 0; count < 10_005; count++)
    await app.authority.verifyPassword('ann@example.com', 'wrong').catch(() => {})
  state.mode = 'up'
  let gap: AuditEntry | undefined
  let entries: AuditEntry[] = []
  while (gap === undefined) {
    clock.step(1001)
    await turns(1000)
    entries = (await log.list({ limit: 20_000 })).entries
    gap = entries.find(({ action }) => action === 'audit_gap')
  }
  t.ok(Number(gap.details['lost']) > 0)
  t.equal(
    entries.filter(({ action }) => action === 'login_failed').length + Number(gap.details['lost']),
    10_005,
    'each failure is there or counted'
  )
})

t.test('writes each audit entry once if the answers of the log are lost', async (t) => {
  const { log, state } = failing()
  const { app, users, ann } = await audited(t, log, { audit: { log, events: 'admin' } })
  await entriesOf(log, 1)
  state.mode = 'loses answers'
  await users.disable(ann.sub)
  await users.enable(ann.sub)
  t.same(said((await entriesOf(log, 5)).slice(1)), [
    'user_disabled attempted',
    'user_disabled done',
    'user_enabled attempted',
    'user_enabled done'
  ])
  t.same((await app.authority.verifyAudit()).faults, [])
})

t.test('refuses a user change while the audit log hangs, and continues the chain afterwards', async (t) => {
  const { log, state } = failing()
  const { app, users, ann, clock } = await audited(t, log, { audit: { log, events: 'admin' } })
  await entriesOf(log, 1)
  state.mode = 'hangs'
  const refused = t.rejects(users.disable(ann.sub), { name: 'OAuthError', error: 'temporarily_unavailable' })
  let isDone = false
  void refused.then(() => {
    isDone = true
  })
  while (!isDone) {
    await turns(20)
    clock.step(250)
  }
  t.equal((await users.get(ann.sub))?.disabled, false)
  state.mode = 'up'
  await users.disable(ann.sub)
  await entriesOf(log, 3)
  t.same((await app.authority.verifyAudit()).faults, [])
})

t.test('refuses user changes after another process wrote to the chain', async (t) => {
  const { log, inner } = failing()
  const { users, ann } = await audited(t, log, { audit: { log, events: 'admin' } })
  const [started] = await entriesOf(log, 1)
  await inner.append({ ...(started as AuditEntry), seq: 2 })
  for (let tries = 0; tries < 3; tries++)
    await t.rejects(users.disable(ann.sub), { name: 'OAuthError', error: 'temporarily_unavailable' })
})

t.test('keeps the audit chain intact under 200 parallel user changes', async (t) => {
  const { log } = failing()
  const { app, users, ann } = await audited(t, log, { audit: { log, events: 'admin' } })
  await Promise.all(
    Array.from({ length: 200 }, async (_, index) => {
      await (index % 2 === 0 ? users.disable(ann.sub) : users.enable(ann.sub))
    })
  )
  await entriesOf(log, 401)
  t.same(await app.authority.verifyAudit(), { entries: 401, faults: [] })
})

t.test('writes the waiting audit entry of a user change before the app closes', async (t) => {
  const { log } = failing()
  const { app, users, ann } = await audited(t, log, { audit: { log, events: 'admin' } })
  await users.disable(ann.sub)
  await app.close()
  t.equal(said(await allOf(log)).at(-1), 'user_disabled done')
})

t.test('logs at close how many entries are lost if the audit log is still down', async (t) => {
  const { log, state } = failing()
  const { lines, stream } = logLines()
  const test = await audited(t, log, { audit: { log, events: 'security' } }, { logger: { level: 'error', stream } })
  await turns()
  state.mode = 'down'
  for (let count = 0; count < 3; count++)
    await test.app.authority.verifyPassword('ann@example.com', 'wrong').catch(() => {})
  await test.app.close()
  t.equal(lines.filter(({ msg }) => String(msg).includes('3 audit entries are lost')).length, 1)
})

t.test('logs a checkpoint after a thousand audit entries and after ten minutes', async (t) => {
  const { log } = failing()
  const { lines, test } = await withLog(t, log)
  const checkpoints = () => lines.filter((line) => line['code'] === 'FST_AUTHORITY_AUDIT_CHECKPOINT')
  for (let count = 0; count < 500; count++) await test.users.enable(test.ann.sub)
  await entriesOf(log, 1001)
  t.equal(checkpoints().length, 1)
  t.match(checkpoints()[0], { checkpoint: { seq: 1000 } })
  while (checkpoints().length < 2) {
    test.clock.step(660_000)
    await turns(20)
  }
  await test.app.authority.verifyAudit(checkpoints().map((line) => line['checkpoint'] as never)).then(({ faults }) => {
    t.same(faults, [])
  })
})

async function withLog(t: Parameters<typeof audited>[0], log: AuditLog) {
  const { lines, stream } = logLines()
  const test = await audited(t, log, { audit: { log, events: 'admin' } }, { logger: { level: 'info', stream } })
  return { lines, test }
}

t.test('continues the audit chain after an entry that was written but not confirmed', async (t) => {
  const { log, inner, state } = failing()
  const { app, users, ann } = await audited(t, log, { audit: { log, events: 'admin' } })
  await entriesOf(log, 1)
  state.mode = 'loses answers'
  const head = log.head
  log.head = async () => await Promise.reject(new Error('down'))
  await t.rejects(users.disable(ann.sub), { name: 'OAuthError', error: 'temporarily_unavailable' })
  t.equal((await allOf(inner)).length, 2, 'it was written, and nobody knew')
  log.head = head
  state.mode = 'up'
  await users.enable(ann.sub)
  await entriesOf(log, 4)
  t.same((await app.authority.verifyAudit()).faults, [])
})

t.test('keeps the order of the audit chain if the clock goes back', async (t) => {
  const { log } = failing()
  const { app, users, ann, clock } = await audited(t, log, { audit: { log, events: 'admin' } })
  await users.disable(ann.sub)
  await entriesOf(log, 3)
  clock.setWall(clock.now() - 60_000)
  await users.enable(ann.sub)
  const entries = await entriesOf(log, 5)
  t.same(
    entries.map(({ seq }) => seq),
    [1, 2, 3, 4, 5]
  )
  t.same((await app.authority.verifyAudit()).faults, [])
})

t.test('records a removal by an administrator once as attempted and once as done', async (t) => {
  const { log } = failing()
  const { users, ann } = await audited(t, log, { audit: { log, events: 'security' } })
  await users.remove(ann.sub)
  for (;;) {
    const found = (await allOf(log)).filter(({ action }) => action === 'account_removed')
    if (found.some(({ outcome }) => outcome === 'done')) {
      await turns()
      t.same(said((await allOf(log)).filter(({ action }) => action === 'account_removed')), [
        'account_removed attempted',
        'account_removed done'
      ])
      return
    }
    await turns(1)
  }
})

t.test('records the host as the actor of a removal and a password change by app.authority', async (t) => {
  for (const [options, id] of [
    [undefined, 'app'],
    [{ by: 'root' }, 'root']
  ] as const) {
    const { log } = failing()
    const { app, ann } = await audited(t, log, { audit: { log, events: 'security' } })
    await app.authority.changePassword(ann.sub, 'another horse battery')
    await app.authority.deleteUser(ann.sub, options)
    await turns()
    const by = (await allOf(log))
      .filter(({ action }) => ['password_changed', 'account_removed'].includes(action))
      .map(({ action, outcome, actor }) => `${action} ${outcome} ${actor.type} ${actor.id}`)
      .toReversed()
    t.same(by.toSorted(), [
      `account_removed attempted host ${id}`,
      `account_removed done host ${id}`,
      'password_changed done host null'
    ])
  }
})
