import t from '../../support/tap.ts'
import { isOutage, refusesWrites } from '../../../lib/ports/outage.ts'
import { patient } from '../../../lib/adapters/sqlite/database.ts'

const rejection = async (marks: object): Promise<unknown> =>
  await patient(async () => {
    throw Object.assign(new Error('database or disk is full'), marks)
  }).catch((error: unknown) => error)

t.test('reports a full or read-only file as a write outage for each driver', async (t) => {
  for (const marks of [
    { code: 'SQLITE_FULL' },
    { code: 'SQLITE_READONLY' },
    { code: 'SQLITE_READONLY_DBMOVED' },
    { code: 'ERR_SQLITE_ERROR', errcode: 13 },
    { code: 'ERR_SQLITE_ERROR', errcode: 8 },
    { code: 'ERR_SQLITE_ERROR', errcode: 1032 }
  ]) {
    const error = await rejection(marks)
    t.strictSame([isOutage(error), refusesWrites(error)], [true, true], JSON.stringify(marks))
  }
})

t.test('passes other errors through unchanged', async (t) => {
  for (const marks of [{}, { code: 'SQLITE_CONSTRAINT' }, { errcode: 1 }, { errcode: '13' }])
    t.match(await rejection(marks), { message: 'database or disk is full', ...marks })
})
