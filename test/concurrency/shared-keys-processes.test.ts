/** The signing keys of ten processes over one Redis. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { extname } from 'node:path'
import t from '../support/tap.ts'
import { redisState } from '../../lib/index.ts'
import { buildProgram } from '../faults/support/program.ts'
import { ISSUER } from '../support/app.ts'
import { startRedis } from '../support/redis-server.ts'

const INSTANCES = 10
const SECRET = 'of all the instances, of 32 bytes at least'

t.test('creates one key per algorithm when ten processes start together on Redis', async (t) => {
  const server = await startRedis()
  t.teardown(server.stop)
  const program = await buildProgram(new URL(`support/key-instance${extname(import.meta.url)}`, import.meta.url))
  t.teardown(program.remove)
  // Without the loaders of this test: on standard output they would be read as test results.
  const children = Array.from({ length: INSTANCES }, (_, index) =>
    fork(program.path, [String(server.port), ISSUER, SECRET, String(index)], {
      execArgv: [],
      env: { ...process.env, NODE_OPTIONS: '' },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc']
    })
  )
  t.teardown(() => {
    for (const child of children) child.kill()
  })
  await Promise.all(children.map((child) => once(child, 'message')))

  const reports = await askAll<{ kids: string[]; token: string; error?: string }>(children, 'begin')
  t.strictSame(
    reports.filter(({ error }) => error !== undefined),
    []
  )
  const stored = await redisState(server.client()).keys.list()
  t.strictSame(stored.map(({ alg, sequence }) => `${alg} ${sequence}`).toSorted(), ['ES256 1', 'RS256 1'])
  for (const { kids } of reports) t.strictSame(kids.toSorted(), stored.map(({ kid }) => kid).toSorted())
  const verified = await askAll<{ good: number }>(
    children,
    reports.map(({ token }) => token)
  )
  t.strictSame(
    verified,
    children.map(() => ({ good: INSTANCES }))
  )
  await Promise.all(
    children.map(async (child) => {
      const exit = once(child, 'exit')
      child.send('end')
      t.equal((await exit)[0], 0)
    })
  )
})

async function askAll<Report>(children: readonly ChildProcess[], message: string | string[]): Promise<Report[]> {
  return await Promise.all(
    children.map(async (child) => {
      const report = once(child, 'message')
      child.send(message)
      const [answer] = (await report) as [Report]
      return answer
    })
  )
}
