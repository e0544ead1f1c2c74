import t from '../../support/tap.ts'
import { allOf, entry, SUBJECTS } from './world.ts'

for (const [kind, make] of Object.entries(SUBJECTS)) {
  t.test(`${kind} keeps audit entries as given, and lists them in pages`, async (t) => {
    const { log } = await make(t)
    t.same(await log.list({ limit: 5 }), { entries: [], next: null })
    t.equal(await log.head('one'), null)
    const entries = Array.from({ length: 20 }, (_, index) =>
      entry({
        chain: index % 2 === 0 ? 'one' : 'two',
        seq: Math.floor(index / 2) + 1,
        // Several entries share one time.
        at: 1000 + Math.floor(index / 6),
        ip: index === 3 ? '192.0.2.1' : null,
        actor: index === 4 ? { type: 'user', id: 'admin' } : { type: 'system', id: null },
        target: index === 5 ? { type: 'client', id: 'u2' } : index === 6 ? { type: 'user', id: 'u2' } : null,
        action: index === 7 ? 'other' : 'some',
        mac: `m${index}`
      })
    )
    for (const one of entries) await log.append(one)
    const found = await allOf(log)
    t.same(found.toSorted(byMac), entries.toSorted(byMac), 'each once, and whole')
    t.same(
      found.map(({ at }) => at),
      entries.map(({ at }) => at).toSorted((one, other) => one - other)
    )
    for (const chain of ['one', 'two'])
      t.same(
        found.filter((one) => one.chain === chain).map(({ seq }) => seq),
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
      )
    t.same(await log.head('two'), { seq: 10, mac: 'm19' })
    const rows: Array<[object, string[]]> = [
      [{ user: 'u2' }, ['m6']],
      [{ actor: 'admin' }, ['m4']],
      [{ action: 'other' }, ['m7']],
      [{ since: 1003 }, ['m18', 'm19']],
      [{ until: 1001, action: 'some', actor: 'admin' }, ['m4']],
      [{ actor: "' OR 1=1 --" }, []],
      [{ user: 'u1' }, []]
    ]
    for (const [query, macs] of rows)
      t.same(
        (await log.list({ limit: 50, ...query })).entries.map(({ mac }) => mac).toSorted(),
        macs.toSorted(),
        JSON.stringify(query)
      )
  })

  t.test(`${kind} refuses a second audit entry with the same number, and keeps the first`, async (t) => {
    const { log } = await make(t)
    await log.append(entry())
    await t.rejects(log.append(entry({ mac: 'other' })))
    const results = await Promise.allSettled(
      Array.from({ length: 50 }, async (_, index) => {
        await log.append(entry({ seq: 2, mac: `m${index}` }))
      })
    )
    t.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
    t.same(
      (await allOf(log)).map(({ seq }) => seq),
      [1, 2]
    )
    t.equal((await allOf(log))[0]?.mac, 'm')
  })

  t.test(`${kind} rejects a malformed cursor in a list of audit entries`, async (t) => {
    const { log } = await make(t)
    const text = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    for (const after of [
      '',
      'x',
      text(null),
      text([1, 'one']),
      text([1, 'one', 1, 1]),
      text([1.5, 'one', 1]),
      text(['1', 'one', 1]),
      text([1, "'; DROP TABLE authority_audit; --", 1]),
      text([1, { a: 1 }, 1]),
      `${text([1, 'one', 1])}=`,
      'A'.repeat(10_000)
    ])
      await t.rejects(
        log.list({ limit: 1, after }),
        { name: 'OAuthError', error: 'invalid_request' },
        after.slice(0, 40)
      )
  })

  t.test(`${kind} prunes audit entries and their IP addresses by age, to the millisecond`, async (t) => {
    const { log } = await make(t)
    for (const [chain, times] of Object.entries({ one: [10, 20, 30], two: [5, 20], three: [30] }))
      for (const [index, at] of times.entries())
        await log.append(entry({ chain, seq: index + 1, at, ip: '192.0.2.1', mac: `${chain}${at}` }))
    t.equal(await log.prune(5, 100, 5), 0)
    const drain = async (before: number, addressesBefore: number): Promise<void> => {
      for (let rounds = 0; (await log.prune(before, 1, addressesBefore)) > 0;) t.ok(++rounds < 20)
    }
    await drain(21, 30)
    const left = await allOf(log)
    t.same(left.map(({ chain, seq, action, ip, mac }) => [chain, seq, action, ip, mac]).toSorted(), [
      ['one', 2, 'audit_pruned', null, 'one20'],
      ['one', 3, 'user_disabled', '192.0.2.1', 'one30'],
      ['three', 1, 'user_disabled', '192.0.2.1', 'three30'],
      ['two', 2, 'audit_pruned', null, 'two20']
    ])
    t.same(left.find(({ mac }) => mac === 'one20')?.details, {})
    t.equal(left.find(({ mac }) => mac === 'one20')?.target, null)
    await drain(21, 31)
    t.ok((await allOf(log)).every(({ ip }) => ip === null))
    t.same(await log.head('one'), { seq: 3, mac: 'one30' })
  })

  t.test(`${kind} prunes a long audit log in slices of at most 1000 entries`, async (t) => {
    const { log, steps } = await make(t)
    for (let seq = 1; seq <= 3000; seq++) await log.append(entry({ seq, at: seq, mac: `m${seq}` }))
    const plan = await steps?.('SELECT chain, seq FROM authority_audit WHERE ip IS NOT NULL AND at < 2000 LIMIT 1000')
    if (plan !== undefined) t.match(plan, /authority_audit_ip/)
    t.equal(await log.prune(2001, 1000, 0), 1000)
    t.equal(await log.prune(2001, 1000, 0), 1000)
    t.equal(await log.prune(2001, 1000, 0), 0)
    t.equal((await log.list({ limit: 5000 })).entries.length, 1001)
  })

  if (kind !== 'memory')
    t.test(`${kind} rejects UPDATE statements on an entry, except to remove its IP address`, async (t) => {
      const { log, sql } = await make(t)
      await log.append(entry({ ip: '192.0.2.1' }))
      for (const change of [
        "action = 'x'",
        "outcome = 'failed'",
        "mac = 'x'",
        'at = 1',
        "actor_id = 'x'",
        "entry = '{}'",
        "action = 'audit_pruned', mac = 'x'"
      ])
        await t.rejects(async () => await sql?.(`UPDATE authority_audit SET ${change}`), change)
      await t.rejects(async () => await sql?.("UPDATE authority_audit SET ip = '192.0.2.2'"), 'another address')
      await sql?.('UPDATE authority_audit SET ip = NULL')
      t.same((await allOf(log))[0], entry())
    })
}

const byMac = (one: { mac: string }, other: { mac: string }): number => (one.mac < other.mac ? -1 : 1)
