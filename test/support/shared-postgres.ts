import { type PostgresDatabase, type PostgresServer, startPostgres } from './postgres-server.ts'
import { rootOf, type Test } from './tap.ts'

/** The shared ones of each process, by the root test of the process. */
const shared = new WeakMap<object, Promise<PostgresServer>>()

/**
 * A PostgreSQL server that the files of a process share, because a start takes as long as a hundred tests on it. The
 * databases that `t` makes are dropped at its end. A file that stops or changes the server has one of its own.
 */
export async function sharedPostgres(t: Test): Promise<Pick<PostgresServer, 'database' | 'hasStatements'>> {
  const all = rootOf(t)
  const started = shared.get(all) ?? stoppedAfter(all)
  shared.set(all, started)
  const server = await started
  const databases: PostgresDatabase[] = []
  t.teardown(async () => {
    for (const database of databases) await database.drop()
  })
  return {
    hasStatements: server.hasStatements,
    async database() {
      const database = await server.database()
      databases.push(database)
      return database
    }
  }
}

async function stoppedAfter(t: Pick<Test, 'teardown'>): Promise<PostgresServer> {
  const server = await startPostgres()
  t.teardown(async () => {
    await server.stop()
  })
  return server
}
