import { memoryRecords } from '../../../lib/adapters/memory/record-store.ts'
import { recordState } from '../../../lib/records/state.ts'
import { session } from '../../contract/suites/session-fixtures.ts'
import { family, named, T0 } from '../../contract/suites/token-fixtures.ts'
import t from '../../support/tap.ts'

const USER = 'user-19367'
const SID = named('one name')

t.test('keeps a session and a family with the same sid apart, and ends each separately', async (t) => {
  for (const order of ['family first', 'session first']) {
    const { tokens, browserSessions } = recordState(memoryRecords())
    const makes = [
      () => tokens.createFamily(family({ sid: SID })),
      () => browserSessions.createSession(session({ sid: SID }), 'digest')
    ]
    for (const make of order === 'family first' ? makes : makes.toReversed()) await make()
    const left = async (): Promise<number[]> => [
      (await tokens.listFamiliesOfUser(USER, T0)).length,
      (await browserSessions.listSessionsOfUser(USER, T0)).length
    ]
    t.strictSame(await left(), [1, 1], order)
    t.strictSame(await tokens.revokeFamiliesOfUser(USER), [SID], order)
    t.strictSame(await left(), [0, 1], order)
    await tokens.createFamily(family({ sid: SID }))
    t.match((await tokens.revokeSession(USER, SID)).session, { sid: SID }, order)
    t.strictSame(await left(), [1, 0], order)
    t.equal(await tokens.revokeFamily(SID, USER), true, order)
    t.strictSame(await left(), [0, 0], order)
  }
})
