/** `npx fastify-authority doctor`: notes, and hashes that a missing package verifies. */
import { run } from '../../lib/cli/run.ts'
import t from '../support/tap.ts'
import { cli, file, head } from './support/command-line.ts'

let number = 0
/** A configuration without a fault, with other options. Each command closes the database of its file. */
const config = (options = ''): string =>
  file(
    `choices-${++number}.mjs`,
    `${head} users: lib.sqliteUserStore(db), state: lib.sqliteState(db), ${options} }\n` +
      "export default { options, fastify: { trustProxy: '127.0.0.1' }, close: () => db.close() }"
  )

t.test('notes state in memory and rateLimit false without reporting a fault', async (t) => {
  t.equal((await run(['migrate', '--config', config()])).code, 0)
  const { code, text } = await run(['doctor', '--json', '--config', config('state: undefined, rateLimit: false')])
  const report = JSON.parse(text) as Record<'faults' | 'notes', unknown>
  t.strictSame([code, report.faults], [0, []], text)
  t.match(report.notes, [
    { check: 'memory', problem: /state is in memory/ },
    { check: 'limits', problem: /rateLimit is false/ }
  ])
  const { text: said } = await run(['doctor', '--config', config()])
  t.match(said, /^Found no fault\.\n\nfaults: none\n/)
})

/** Makes the package of bcrypt missing. */
const NO_BCRYPT = file(
  'no-bcrypt.mjs',
  `import { register } from 'node:module'
register('data:text/javascript,' + encodeURIComponent(\`export async function resolve(name, context, next) {
  if (name === '@node-rs/bcrypt') throw Object.assign(new Error('none'), { code: 'ERR_MODULE_NOT_FOUND' })
  return await next(name, context)
}\`))`
)

t.test('reports bcrypt hashes whose package is missing, in doctor and in import', async (t) => {
  const env = { NODE_OPTIONS: `--import ${NO_BCRYPT}` }
  const row = { id: 'b', username: 'bcrypt@example.com', passwordHash: `$2b$10$${'a'.repeat(53)}` }
  const users = file('bcrypt.ndjson', JSON.stringify(row))
  const words = ['import', 'ndjson', users, '--json', '--config']
  const imported = await cli([...words, config()], '', env)
  t.match(imported, { code: 0, stdout: /"problems":\["There are hashes of bcrypt.*npm install @node-rs/ })
  const found = await cli(['doctor', '--json', '--config', config()], '', env)
  t.match(found, { code: 1, stdout: /"check":"hashes","problem":"There are hashes of bcrypt/ })
  t.match(await run([...words, config()]), { code: 0, text: /"problems":\[\]/ })
  t.equal((await run(['doctor', '--config', config()])).code, 0)
})
