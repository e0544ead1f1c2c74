import t from '../../support/tap.ts'
import { type AuditFault, type AuditLog } from '../../../lib/index.ts'
import { macOf, NO_MAC, verifyAudit } from '../../../lib/features/audit/chain.ts'
import { allOf, audited, entry, SUBJECTS } from './world.ts'

const { sqlite, postgres } = SUBJECTS

interface Place {
  chain: string
}
/** The statements of an attacker on the table, and the faults that verifyAudit must report. */
const ATTACKS: Record<string, [(place: Place) => string[], Array<Omit<AuditFault, 'chain'>>]> = {
  'changes an action': [
    ({ chain }) => [`UPDATE authority_audit SET action = 'x' WHERE chain = '${chain}' AND seq = 3`],
    [{ seq: 3, fault: 'changed' }]
  ],
  'changes the facts of an entry': [
    ({ chain }) => [
      `UPDATE authority_audit SET entry = replace(entry, '"host"', '"user"') WHERE chain = '${chain}' AND seq = 4`
    ],
    [{ seq: 4, fault: 'changed' }]
  ],
  'changes a time': [
    ({ chain }) => [`UPDATE authority_audit SET at = at - 1 WHERE chain = '${chain}' AND seq = 1`],
    [{ seq: 1, fault: 'changed' }]
  ],
  'changes a time to the largest integer': [
    ({ chain }) => [`UPDATE authority_audit SET at = 9007199254740991 WHERE chain = '${chain}' AND seq = 1`],
    [
      { seq: 1, fault: 'changed' },
      { seq: 2, fault: 'missing' }
    ]
  ],
  'changes a MAC': [
    ({ chain }) => [`UPDATE authority_audit SET mac = 'x' WHERE chain = '${chain}' AND seq = 3`],
    [
      { seq: 4, fault: 'changed' },
      { seq: 3, fault: 'changed' }
    ]
  ],
  'removes an entry': [
    ({ chain }) => [`DELETE FROM authority_audit WHERE chain = '${chain}' AND seq = 3`],
    [{ seq: 4, fault: 'missing' }]
  ],
  'removes the first entry': [
    ({ chain }) => [`DELETE FROM authority_audit WHERE chain = '${chain}' AND seq = 1`],
    [{ seq: 2, fault: 'missing' }]
  ],
  'swaps two entries': [
    ({ chain }) => [
      `UPDATE authority_audit SET seq = 99 WHERE chain = '${chain}' AND seq = 3`,
      `UPDATE authority_audit SET seq = 3 WHERE chain = '${chain}' AND seq = 4`,
      `UPDATE authority_audit SET seq = 4 WHERE chain = '${chain}' AND seq = 99`
    ],
    [
      { seq: 5, fault: 'changed' },
      { seq: 4, fault: 'changed' },
      { seq: 3, fault: 'changed' }
    ]
  ],
  'marks an entry in the middle as pruned': [
    ({ chain }) => [`UPDATE authority_audit SET action = 'audit_pruned' WHERE chain = '${chain}' AND seq = 3`],
    [{ seq: 3, fault: 'changed' }]
  ],
  'moves an entry to another chain': [
    ({ chain }) => [`UPDATE authority_audit SET chain = 'else' WHERE chain = '${chain}' AND seq = 3`],
    [
      { seq: 4, fault: 'missing' },
      { seq: 3, fault: 'missing' }
    ]
  ],
  'marks an entry as pruned and empties its JSON': [
    ({ chain }) => [
      `UPDATE authority_audit SET action = 'audit_pruned', entry = '{}' WHERE chain = '${chain}' AND seq = 3`
    ],
    [{ seq: 3, fault: 'changed' }]
  ],
  'replaces the JSON of an entry with plain text': [
    ({ chain }) => [
      `UPDATE authority_audit SET action = 'audit_pruned', entry = 'x' WHERE chain = '${chain}' AND seq = 3`
    ],
    [{ seq: 3, fault: 'changed' }]
  ],
  'replaces the JSON of an entry with fields of wrong types': [
    ({ chain }) => [
      `UPDATE authority_audit SET action = 'audit_pruned', entry = '{"actor":1,"target":[],"details":"x","sid":{}}'
       WHERE chain = '${chain}' AND seq = 3`
    ],
    [{ seq: 3, fault: 'changed' }]
  ],
  'changes the column of the actor': [
    ({ chain }) => [`UPDATE authority_audit SET actor_id = 'x' WHERE chain = '${chain}' AND seq = 3`],
    [{ seq: 3, fault: 'changed' }]
  ],
  'changes the column of the user': [
    ({ chain }) => [`UPDATE authority_audit SET user_id = NULL WHERE chain = '${chain}' AND seq = 3`],
    [{ seq: 3, fault: 'changed' }]
  ],
  'adds an IP address': [
    ({ chain }) => [`UPDATE authority_audit SET ip = '192.0.2.9' WHERE chain = '${chain}' AND seq = 3`],
    [{ seq: 3, fault: 'changed' }]
  ],
  'removes the IP addresses': [({ chain }) => [`UPDATE authority_audit SET ip = NULL WHERE chain = '${chain}'`], []]
}

for (const [kind, make] of Object.entries({ sqlite, postgres }))
  for (const [attack, [statements, faults]] of Object.entries(ATTACKS))
    t.test(`${kind}: verifyAudit reports exactly the broken entries if an attacker ${attack}`, async (t) => {
      const { log, tamper } = await make(t)
      const { app, users, ann } = await audited(t, log, { audit: { log, events: 'admin' } })
      for (const act of ['disable', 'enable', 'disable'] as const) await users[act](ann.sub)
      const entries = await settled(log, 7)
      t.same(await app.authority.verifyAudit(), { entries: entries.length, faults: [] })
      const chain = entries[0]?.chain ?? ''
      for (const statement of statements({ chain })) await tamper?.(statement)
      const { faults: found } = await app.authority.verifyAudit()
      t.same(
        found.map(({ seq, fault }) => ({ seq, fault })),
        faults
      )
    })

t.test('detects entries that were removed before the end of retainDays only with a checkpoint', async (t) => {
  const { log, tamper } = await sqlite(t)
  const { app, users, ann, clock } = await audited(t, log, { audit: { log, events: 'admin' } })
  await users.disable(ann.sub)
  const [last] = (await settled(log, 3)).toReversed()
  const checkpoint = { chain: last?.chain ?? '', seq: last?.seq ?? 0, mac: last?.mac ?? '', at: last?.at ?? 0 }
  await users.enable(ann.sub)
  await settled(log, 5)
  t.same((await app.authority.verifyAudit([checkpoint])).faults, [])
  t.same((await app.authority.verifyAudit([{ ...checkpoint, mac: 'x' }])).faults, [
    { chain: checkpoint.chain, seq: 3, fault: 'changed' }
  ])
  await tamper?.("UPDATE authority_audit SET action = 'audit_pruned' WHERE seq = 3")
  await tamper?.('DELETE FROM authority_audit WHERE seq < 3')
  t.same((await app.authority.verifyAudit()).faults, [], 'as if it were old')
  t.same((await app.authority.verifyAudit([checkpoint])).faults, [
    { chain: checkpoint.chain, seq: 3, fault: 'missing' }
  ])
  clock.setWall(clock.now() + 401 * 86_400_000)
  t.same((await app.authority.verifyAudit([checkpoint])).faults, [], 'it is old')
})

t.test('detects a cut end and a removed chain of the audit log only with a checkpoint', async (t) => {
  const { log, tamper } = await sqlite(t)
  const { app, users, ann } = await audited(t, log, { audit: { log, events: 'admin' } })
  await users.disable(ann.sub)
  const [last] = (await settled(log, 3)).toReversed()
  const checkpoint = { chain: last?.chain ?? '', seq: last?.seq ?? 0, mac: last?.mac ?? '', at: last?.at ?? 0 }
  await tamper?.('DELETE FROM authority_audit WHERE seq > 2')
  t.same((await app.authority.verifyAudit()).faults, [])
  t.same((await app.authority.verifyAudit([checkpoint])).faults, [{ chain: checkpoint.chain, seq: 3, fault: 'cut' }])
  await tamper?.('DELETE FROM authority_audit')
  t.equal((await app.authority.verifyAudit([checkpoint])).faults.length, 1, 'the whole chain')
})

t.test('verifies audit chains of former secrets, and reports chains of an unknown secret', async (t) => {
  const { log } = await sqlite(t)
  const [first, second] = ['a first secret of more than 32 bytes', 'a second secret of more than 32 bytes']
  await audited(t, log, { secret: first })
  await settled(log, 2)
  const both = await audited(t, log, { secret: [second, first] })
  await settled(log, 4)
  t.same((await both.app.authority.verifyAudit()).faults, [])
  const alone = await audited(t, log, { secret: second })
  t.ok((await alone.app.authority.verifyAudit()).faults.length > 0)
})

t.test('verifies an audit log whose old entries were pruned', async (t) => {
  const { log } = await sqlite(t)
  const { app, users, ann, clock } = await audited(t, log, { audit: { log, events: 'admin', retainDays: 1 } })
  await users.disable(ann.sub)
  await settled(log, 3)
  clock.step(86_400_001)
  await users.enable(ann.sub)
  while ((await allOf(log)).filter(({ action }) => action === 'user_enabled').length < 2)
    await new Promise((resolve) => setImmediate(resolve))
  await log.prune(clock.now() - 86_400_000, 1000, 0)
  t.same(
    (await allOf(log)).map(({ action }) => action),
    ['audit_pruned', 'user_enabled', 'user_enabled']
  )
  t.same((await app.authority.verifyAudit()).faults, [])
})

for (const [kind, make] of Object.entries({ sqlite, postgres })) {
  t.test(
    `${kind}: verifyAudit reports no fault after a process stopped between two statements of a prune`,
    async (t) => {
      const { log, another } = await make(t)
      await chained(log, 20)
      let left = Infinity
      const stopping = another?.(() => {
        if (left-- <= 0) throw new Error('The process has stopped.')
      })
      await stopping?.prepare?.()
      for (let statements = 0; statements < 7; statements++) {
        left = statements
        await stopping?.prune(1000, 3, 0).catch(() => {})
        t.same((await verifyAudit(log, [KEY])).faults, [], `${statements} statements`)
      }
      t.equal((await log.head('one'))?.seq, 20)
      t.equal((await allOf(log))[0]?.action, 'audit_pruned')
    }
  )

  t.test(`${kind}: verifyAudit reports no fault while three instances prune in parallel`, async (t) => {
    const { log, another } = await make(t)
    await chained(log, 100)
    const logs = Array.from({ length: 3 }, () => another?.(() => {}))
    let pruning = true
    const pruned = Promise.all(
      logs.map(async (one, index) => {
        while (((await one?.prune(91 + index, 5 + index, 0)) ?? 0) > 0);
      })
    ).finally(() => (pruning = false))
    while (pruning) t.same((await verifyAudit(log, [KEY])).faults, [])
    await pruned
    t.same(
      (await allOf(log)).map(({ seq }) => seq),
      [92, 93, 94, 95, 96, 97, 98, 99, 100]
    )
  })
}

const KEY = new Uint8Array(32)

/** Appends a chain of `count` entries, which are 1 ms apart. */
async function chained(log: AuditLog, count: number): Promise<void> {
  let mac = NO_MAC
  for (let seq = 1; seq <= count; seq++) {
    const one = entry({ seq, at: seq })
    mac = macOf(KEY, one, mac)
    await log.append({ ...one, mac })
  }
}

/** Waits for `count` entries, because the last entry of an act is written after its reply. */
async function settled(log: Parameters<typeof allOf>[0], count: number) {
  for (;;) {
    const entries = await allOf(log)
    if (entries.length >= count) return entries
    await new Promise((resolve) => setImmediate(resolve))
  }
}
