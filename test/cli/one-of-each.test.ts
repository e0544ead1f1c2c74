/** Runs commands once over the stores, in this process. Other tests run them as processes. */
import Database from 'libsql'
import { run } from '../../lib/cli/run.ts'
import t from '../support/tap.ts'
import { database, file, head } from './support/command-line.ts'

let number = 0
/** Each command closes the database of its file. */
const config = (): string =>
  file(
    `one-of-each-${++number}.mjs`,
    `${head} users: lib.sqliteUserStore(db), state: lib.sqliteState(db), audit: lib.sqliteAudit(db),
      sendMessage: async () => {} }\nexport default { options, close: () => db.close() }`
  )
const printed: string[] = []
const answerTo = async (...words: string[]) =>
  await run(
    [...words, '--json', '--config', config()],
    async (text) => {
      printed.push(text)
    },
    () => {}
  )
async function done<Answer>(...words: string[]): Promise<Answer> {
  const { code, text, problem } = await answerTo(...words)
  t.equal(code, 0, `${words.join(' ')}: ${problem}`)
  return JSON.parse(text === '' ? 'null' : text) as Answer
}
const ANN = 'ann@example.com'

t.test('creates, shows, lists, disables, enables, invites and resets a user', async (t) => {
  await done('migrate')
  const { id } = await done<{ id: string }>('user', 'create', ANN, '--invite')
  t.match(await done('user', 'show', ANN), { id, disabled: false })
  t.match(await done('user', 'list'), [{ id }])
  t.match(await done('user', 'disable', id, '--yes', '--reason', 'Ticket 7'), { disabled: true })
  t.match(await done('user', 'enable', ANN), { disabled: false })
  t.match(await done('user', 'invite', ANN), { id })
  t.match(await done('user', 'reset', ANN, '--yes'), { id, hasPassword: false })
  t.strictSame(await done('user', 'sessions', ANN), [])
  t.match(await answerTo('user', 'show', 'nobody'), { code: 1, problem: /no user with the id or username nobody/ })
})

t.test('announces a new key, and retires the first one', async (t) => {
  const [first] = await done<Array<{ kid: string }>>('keys', 'list')
  const [next] = await done<Array<{ kid: string }>>('keys', 'rotate')
  t.strictSame(
    (await done<Array<{ kid: string }>>('keys', 'list')).map(({ kid }) => kid).toSorted(),
    [first?.kid, next?.kid].toSorted()
  )
  const left = await done<Array<{ kid: string }>>('keys', 'retire', first?.kid ?? '', '--yes')
  t.notOk(left.some(({ kid }) => kid === first?.kid))
  t.match(await answerTo('keys', 'retire', 'none', '--yes'), { code: 1, problem: /There is no key none/ })
})

t.test('prints, verifies and exports the audit log, and detects a changed entry', async (t) => {
  t.match(await done('audit', 'tail', '--action', 'user_disabled'), [{ outcome: 'attempted' }, { outcome: 'done' }])
  const { entries } = await done<{ entries: number }>('audit', 'verify')
  await done('audit', 'export')
  t.equal(printed.join('').trim().split('\n').length, entries)
  await done('user', 'remove', ANN, '--yes')
  const db = new Database(database)
  db.exec("DROP TRIGGER authority_audit_stays; UPDATE authority_audit SET at = at - 1 WHERE action = 'user_created'")
  db.close()
  t.match(await answerTo('audit', 'verify'), { code: 1, problem: /entry \d+ of/ })
})
