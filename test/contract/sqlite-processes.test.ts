import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'libsql'
import t from '../support/tap.ts'
import { sqliteState } from '../../lib/adapters/sqlite/record-store.ts'
import { partitionOf } from '../../lib/protocol/digest.ts'

const NOW = Date.UTC(2026, 0, 1)

t.test('sqlite: lets one of two processes win each round of parallel writes', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'authority-sqlite-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const file = join(directory, 'shared.db')
  const rounds = 40
  const writer = fileURLToPath(new URL('support/sqlite-writer.ts', import.meta.url))
  const children = ['one', 'two'].map((name) => fork(writer, [file, name]))
  t.teardown(() => {
    for (const child of children) child.kill()
  })
  await Promise.all(children.map((child) => once(child, 'message')))
  const outcomes: string[] = []
  // Runs in rounds, so that both processes use the same records at the same time and neither starves.
  for (let round = 0; round < rounds; round++) {
    const reports = await Promise.all(
      children.map(async (child) => {
        const report = once(child, 'message')
        child.send(round)
        const [message]: unknown[] = await report
        return message
      })
    )
    for (const report of reports) {
      if (typeof report !== 'object' || report === null || !('outcomes' in report) || !Array.isArray(report.outcomes))
        throw new Error(JSON.stringify(report))
      outcomes.push(...report.outcomes.map(String))
    }
  }
  // A commit that a process has reported outlives it, however it ends.
  await Promise.all(
    children.map(async (child) => {
      const exit = once(child, 'exit')
      child.kill('SIGKILL')
      await exit
    })
  )
  const expected = Array.from({ length: rounds }, (_, round) => [
    `create ${round} created`,
    `create ${round} FST_AUTHORITY_USERNAME_TAKEN`,
    `key ${round} true`,
    `key ${round} false`,
    `rotate ${round} rotated`,
    `rotate ${round} repeated`,
    `redeem ${round} redeemed`,
    `redeem ${round} replayed`,
    `renew ${round} true`,
    `renew ${round} false`
  ]).flat()
  t.same(outcomes.toSorted(), expected.toSorted())

  const db = new Database(file)
  t.teardown(() => db.close())
  const { tokens, browserSessions, consents } = sqliteState(db)
  const digests = ['first', 'of one', 'of two']
  for (let round = 0; round < rounds; round++) {
    const found = await Promise.all(
      digests.map((digest) => browserSessions.findSession(`${partitionOf('u')}sid-${round}`, digest, NOW))
    )
    const winner = found[1] === null ? 'two' : 'one'
    t.same(
      digests.filter((_, index) => found[index] !== null),
      ['first', `of ${winner}`],
      'one renewal wins, and the secret that it replaced answers for ten seconds more'
    )
    t.same(found[0]?.clientIds, [winner], 'the other uses nothing')
    t.same(
      (await consents.findConsent(`user-${round}`, 'c', NOW))?.scopes.toSorted(),
      ['one', 'two'],
      'no scope is lost'
    )
    t.equal(
      await tokens.findFamily(`${partitionOf('u')}code-${round}`, NOW),
      null,
      'a code that was used twice leaves nothing'
    )
  }
})
