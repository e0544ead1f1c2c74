/** The store of the guide compiles, passes the printed suite, and distinguishes an outage from a mistake. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createPool, type Pool } from 'mysql2/promise'
import t from '../support/tap.ts'
import type { RecordStore } from '../../lib/ports/record-store.ts'
import { recordStoreContract } from '../../lib/testing/record-store-contract.ts'
import { type MariadbServer, startMariadb } from '../support/mariadb-server.ts'
import { messagesOf, openWorkshop, type Project } from './support/guide-files.ts'

const ROOT = new URL('../../', import.meta.url)
const GUIDE = 'docs/guides/own-state-store.md'
const PARTITION = 'p'.repeat(16)
const uncounted = async (): Promise<never> => {
  throw new Error('only counted')
}
const CASES = recordStoreContract(uncounted).length

const workshop = openWorkshop()
t.teardown(() => {
  workshop.remove()
})
const printed = workshop.project(GUIDE)
/** Uses longer time limits than the guide, for a busy machine. */
const patient = workshop.project(GUIDE, {
  change: (text) => text.replace('timeout: 2000', 'timeout: 60_000').replace('WAIT 1', 'WAIT 60')
})

t.test('compiles the printed files of the guide', async (t) => {
  t.strictSame(messagesOf([printed]), [])
})

t.test('prints the interfaces of a record store as the library declares them', (t) => {
  const bare = (path: string, name: string): string => {
    const [found = ''] =
      new RegExp(`^export interface ${name} [^]*?^}`, 'm').exec(readFileSync(new URL(path, ROOT), 'utf8')) ?? []
    return found.replaceAll(/\/\*\*[^]*?\*\//g, '').replaceAll(/\s+/g, ' ')
  }
  for (const name of ['RecordStore', 'StoredRecord', 'RecordWrite', 'NewRecord']) {
    t.ok(bare(GUIDE, name).length > 40, name)
    t.equal(bare(GUIDE, name), bare('lib/ports/record-store.ts', name), name)
  }
  t.end()
})

t.test('prints a store of fewer than 110 lines', async (t) => {
  t.ok(printed.text('mariadb-records.ts').split('\n').length < 110)
})

t.test('runs the printed store on MariaDB', async (t) => {
  const server = await startMariadb()
  t.teardown(() => server.stop())
  const suite = runPrintedSuite(patient, server)
  t.test('passes the printed suite on MariaDB', async (t) => {
    t.same(await suite, { passed: CASES, failed: [], code: 0 })
  })
  t.test('reports an outage while the server hangs, and recovers afterwards', async (t) => {
    const pool = createPool({ uri: server.url, connectTimeout: 1500 })
    t.teardown(() => pool.end())
    const store = await storeOf(printed, pool)
    await store.prepare?.()
    t.same(await store.read(PARTITION, ['k']), [null])
    await server.pause()
    t.match(await rejectionOf(store.read(PARTITION, ['k'])), { isOutage: true, message: /^MariaDB: [A-Z_]+$/ })
    server.resume()
    t.same(await store.read(PARTITION, ['k']), [null])
  })
  t.test('reports a rejected write as no outage, without quoting a value', async (t) => {
    const pool = createPool({ uri: server.url })
    t.teardown(() => pool.end())
    const store = await storeOf(printed, pool)
    const change = { value: '1', version: 'v'.repeat(14), kind: 'k'.repeat(50), userId: 'secret', expiresAt: 1 }
    const rejection = await rejectionOf(store.commit(PARTITION, [{ key: 'k', expect: null, change }], 0))
    t.match(rejection, { isOutage: false, message: 'MariaDB: ER_DATA_TOO_LONG' })
    t.notMatch(JSON.stringify([rejection, String(rejection)]), 'secret')
  })
  t.test('returns the time of the server', async (t) => {
    const pool = createPool({ uri: server.url })
    t.teardown(() => pool.end())
    const time = await (await storeOf(printed, pool)).time?.()
    t.ok(Math.abs((time ?? 0) - Date.now()) < 60_000)
  })
})

async function storeOf(project: Project, pool: Pool): Promise<RecordStore> {
  const { mariadbRecords } = (await import(project.module('mariadb-records.ts'))) as {
    mariadbRecords(pool: Pool): RecordStore
  }
  return mariadbRecords(pool)
}

const rejectionOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'resolved',
    (error: unknown) => error
  )

/** Runs the suite of the guide in a separate process. */
async function runPrintedSuite(project: Project, { url }: MariadbServer) {
  const child = fork(new URL(project.module('mariadb-records.test.ts')), {
    execArgv: ['--test-reporter=tap'],
    env: { ...process.env, TEST_DATABASE_URL: url },
    silent: true,
    cwd: project.directory
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  const [code] = (await once(child, 'close')) as [number | null]
  return {
    passed: output.match(/^ok \d+/gm)?.length ?? 0,
    failed: output.match(/^not ok .*(?:\n .*)*/gm) ?? (code === 0 ? [] : [output]),
    code
  }
}
