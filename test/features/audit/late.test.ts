import t from '../../support/tap.ts'
import { type AuditEntry, memoryAudit } from '../../../lib/index.ts'
import { allOf, audited } from './world.ts'

t.test('continues the audit chain after the late write of an entry that had failed', async (t) => {
  const inner = memoryAudit()
  let held: AuditEntry | null = null
  let holds = false
  const log = {
    ...inner,
    async append(entry: AuditEntry) {
      if (!holds) return await inner.append(entry)
      held = entry
      throw new Error('no answer')
    }
  }
  const { app, users, ann } = await audited(t, log, { audit: { log, events: 'admin' } })
  await users.enable(ann.sub)
  holds = true
  await t.rejects(users.disable(ann.sub), { name: 'OAuthError', error: 'temporarily_unavailable' })
  t.equal((await users.get(ann.sub))?.disabled, false)
  holds = false
  if (held !== null) await inner.append(held)
  for (let count = 0; count < 3; count++) await users.disable(ann.sub)
  for (;;) {
    const entries = await allOf(inner)
    if (entries.filter(({ outcome }) => outcome === 'done').length >= 5) break
    await new Promise((resolve) => setImmediate(resolve))
  }
  t.same((await app.authority.verifyAudit()).faults, [])
})

t.test('rejects twenty parallel user changes within four seconds while the audit log hangs', async (t) => {
  const inner = memoryAudit()
  let hangs = false
  const log = {
    ...inner,
    async append(entry: AuditEntry) {
      if (hangs) await new Promise(() => {})
      await inner.append(entry)
    }
  }
  const { app, users, ann, clock } = await audited(t, log, { audit: { log, events: 'admin' } })
  await users.enable(ann.sub)
  hangs = true
  const began = clock.monotonic()
  let left = 20
  const acts = Array.from({ length: left }, async () => {
    await t.rejects(users.disable(ann.sub), { name: 'OAuthError', error: 'temporarily_unavailable' })
    left--
  })
  while (left > 0) {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    if (left > 0) clock.step(100)
  }
  await Promise.all(acts)
  t.ok(clock.monotonic() - began < 4000, `${clock.monotonic() - began} ms`)
  t.equal((await users.get(ann.sub))?.disabled, false)
  hangs = false
  let isDone = false
  const later = users.disable(ann.sub).then(() => {
    isDone = true
  })
  while (!isDone) {
    clock.step(100)
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
  await later
  const attempted = (await allOf(inner)).filter(({ outcome }) => outcome === 'attempted')
  t.same(
    attempted.map(({ action }) => action),
    ['user_enabled', 'user_disabled'],
    'no refused act is written afterwards'
  )
  t.same((await app.authority.verifyAudit()).faults, [])
})
