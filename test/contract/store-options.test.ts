/**
 * The options of the store factories. A misspelt option must not be ignored, because tables or keys would be in the
 * wrong place.
 */
import Database from 'libsql'
import t from '../support/tap.ts'
import * as authority from '../../lib/index.ts'

const database = { query: async () => ({ rows: [] }) }
const client = { status: 'ready', evalsha() {}, eval() {}, pipeline() {}, on() {}, off() {}, connect() {} }

type Factory = (given: unknown, options?: object) => unknown
const {
  memoryState,
  sqliteState,
  sqliteUserStore,
  sqliteFactorStore,
  postgresState,
  postgresUserStore,
  postgresFactorStore,
  redisState,
  redisFactorStore
} = authority as unknown as Record<string, Factory>

const FACTORIES: Array<[name: string, factory: Factory | undefined, given: () => unknown, known: object]> = [
  [
    'memoryState',
    memoryState && ((_, options) => memoryState(options)),
    () => null,
    { maxFamiliesPerUser: 3, maxSessionsPerUser: 3 }
  ],
  ['sqliteState', sqliteState, () => new Database(':memory:'), { maxFamiliesPerUser: 3, maxSessionsPerUser: 3 }],
  ['sqliteUserStore', sqliteUserStore, () => new Database(':memory:'), { table: 'people' }],
  [
    'postgresState',
    postgresState,
    () => database,
    { maxFamiliesPerUser: 3, maxSessionsPerUser: 3, schema: 'auth', namedStatements: false }
  ],
  ['postgresUserStore', postgresUserStore, () => database, { table: 'people', namedStatements: false }],
  ['postgresFactorStore', postgresFactorStore, () => database, { schema: 'auth', namedStatements: false }],
  ['redisState', redisState, () => client, { prefix: 'auth:', maxFamiliesPerUser: 3, maxSessionsPerUser: 3 }],
  ['redisFactorStore', redisFactorStore, () => client, { prefix: 'auth:' }]
]

t.test('accepts the options of each store, and rejects unknown ones', async (t) => {
  for (const [name, factory, given, known] of FACTORIES) {
    t.ok(factory?.(given(), known), name)
    t.ok(factory?.(given()), `${name}, without any`)
    t.ok(
      factory?.(given(), Object.fromEntries(Object.keys(known).map((option) => [option, undefined]))),
      `${name}, of which nothing is said`
    )
    t.throws(() => factory?.(given(), { ...known, shema: 'auth' }), {
      name: 'TypeError',
      message: `${name} takes no option "shema".`
    })
  }
})

t.test('rejects a value that is neither a database nor a client, and names its type', async (t) => {
  for (const [factories, message] of [
    [[sqliteState, sqliteUserStore, sqliteFactorStore], /takes an open database/],
    [[postgresState, postgresUserStore, postgresFactorStore], /query\(text, params\)/],
    [[redisState, redisFactorStore], /takes an ioredis client/]
  ] as const) {
    for (const factory of factories)
      for (const given of [undefined, null, {}, 'auth.db', 7, true])
        t.throws(() => factory?.(given), { name: 'TypeError', message })
    for (const factory of factories) {
      t.throws(() => factory?.('auth.db'), { message: /It got a string: (?:open the file|connect) first, as new / })
      t.throws(() => factory?.(undefined), { message: /It got nothing\.$/ })
    }
  }
})
