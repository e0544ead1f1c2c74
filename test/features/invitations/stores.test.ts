/** Invitations over the databases of this package. */
import Database from 'libsql'
import t, { type Test } from '../../support/tap.ts'
import {
  type AuthorityOptions,
  postgresState,
  postgresUserStore,
  type SqliteDatabase,
  sqliteState,
  sqliteUserStore
} from '../../../lib/index.ts'
import { signIn } from '../../support/app.ts'
import { sharedPostgres } from '../../support/shared-postgres.ts'
import { BOB, namesOf, PASSWORD, withInvited } from './support.ts'

const STORES: Record<string, (t: Test) => Promise<Pick<AuthorityOptions, 'users' | 'state' | 'secret'>>> = {
  async SQLite() {
    const db = new Database(':memory:') as unknown as SqliteDatabase
    return { users: sqliteUserStore(db), state: sqliteState(db) }
  },
  async PostgreSQL(t) {
    const pool = (await (await sharedPostgres(t)).database()).pool({ max: 20 })
    return { users: postgresUserStore(pool), state: postgresState(pool) }
  }
}

for (const [name, make] of Object.entries(STORES))
  t.test(`accepts one of 50 parallel invitations on ${name}, and rejects replaced and expired links`, async (t) => {
    const stores = { secret: 'a secret of the tests with 32 bytes or more', ...(await make(t)) }
    const test = await withInvited(t, stores)
    await test.users.invite(test.id)
    const { token } = await test.messages.next('invitation')
    t.equal((await test.open(test.token)).statusCode, 400, 'replaced')
    await test.app.authority.startPasswordReset(test.id)
    t.equal((await test.accept((await test.messages.next('password_reset')).token)).statusCode, 400)
    const replies = await Promise.all(
      Array.from({ length: 50 }, async (_none, index) => await test.visit().accept(token, `${PASSWORD} ${index}`))
    )
    const codes = replies.map(({ statusCode }) => statusCode)
    t.strictSame(codes.toSorted(), [303, ...Array.from({ length: 49 }, () => 409)])
    await signIn(test.app, BOB, `${PASSWORD} ${codes.indexOf(303)}`)
    t.match(await test.users.get(test.id), { hasPassword: true, emailVerified: true })
    t.equal(namesOf(test).filter((one) => one === 'invitation_accepted').length, 1)

    const late = await test.users.create({ username: 'late@example.com', email: 'late@example.com', invite: true })
    const { token: lost } = await test.messages.next('invitation')
    await test.users.disable(late.id)
    await test.users.enable(late.id)
    t.equal((await test.accept(lost)).statusCode, 400, 'disabled meanwhile')
    await test.users.invite(late.id)
    const { token: last } = await test.messages.next('invitation')
    test.clock.step(7 * 86_400_000)
    t.equal((await test.accept(last)).statusCode, 400, 'expired')
  })
