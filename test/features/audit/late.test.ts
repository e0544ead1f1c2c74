import t from '../../support/tap.ts'
import { type AuditEntry, memoryAudit } from '../../../lib/index.ts'
import { allOf, audited } from './world.ts'

t.test('goes on after an entry that was given up has been written late', async (t) => {
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
