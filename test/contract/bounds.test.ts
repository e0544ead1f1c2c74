import Database from 'libsql'
import t from '../support/tap.ts'
import { memoryState, type MemoryStateOptions } from '../../lib/adapters/memory/record-store.ts'
import { postgresState } from '../../lib/adapters/postgres/record-store.ts'
import { sqliteState } from '../../lib/adapters/sqlite/record-store.ts'
import type { State } from '../../lib/ports/state.ts'
import type { NewAuthorizationCode, NewRefreshTokenFamily } from '../../lib/ports/token-store.ts'
import { PARTITION_LENGTH, partitionOf } from '../../lib/protocol/digest.ts'
import { sharedPostgres } from '../support/shared-postgres.ts'

const END = 1000

const server = await sharedPostgres(t)
const pool = (await server.database()).pool()
let schemas = 0

const named = (name: string, userId = 'user-19367'): string => partitionOf(userId) + name

const family = (name: string, fields: Partial<NewRefreshTokenFamily> = {}): NewRefreshTokenFamily => ({
  sid: named(name, fields.userId),
  userId: 'user-19367',
  clientId: 'c',
  scope: '',
  authenticatedAt: 0,
  acr: 'password',
  amr: ['pwd'],
  createdAt: 0,
  lastUsedAt: 0,
  expiresAt: END,
  idleExpiresAt: END,
  userAgent: null,
  sessionSid: null,
  offline: true,
  authorization: null,
  tokenDigest: 'd',
  ...fields
})
const code = (name: string, fields: Partial<NewAuthorizationCode> = {}): NewAuthorizationCode => ({
  sid: named(name, fields.userId),
  userId: 'user-19367',
  clientId: 'c',
  scope: '',
  authenticatedAt: 0,
  acr: 'password',
  amr: ['pwd'],
  createdAt: 0,
  sessionSid: 's',
  offline: true,
  authorization: '{}',
  codeDigest: 'd',
  codeExpiresAt: END,
  ...fields
})

const engines: Array<[name: string, stateOf: (options?: MemoryStateOptions) => State]> = [
  ['memoryState', memoryState],
  [
    'sqliteState',
    (options) => {
      const db = new Database(':memory:')
      t.teardown(() => db.close())
      return sqliteState(db, options)
    }
  ],
  ['postgresState', (options) => postgresState(pool, { ...options, schema: `bounds_${++schemas}` })]
]

for (const [name, stateOf] of engines) {
  const listed = async ({ tokens }: State, userId = 'user-19367'): Promise<string[]> =>
    (await tokens.listFamiliesOfUser(userId, 500)).map(({ sid }) => sid.slice(PARTITION_LENGTH))
  const redeem = async ({ tokens }: State, name: string, userId?: string): Promise<string> =>
    (
      await tokens.redeemCode({
        sid: named(name, userId),
        digest: 'd',
        clientId: 'c',
        now: 500,
        tokenDigest: 't',
        expiresAt: END,
        idleExpiresAt: END,
        onlineExpiresAt: END,
        userAgent: null
      })
    ).outcome

  t.test(`DOS ${name} keeps at most maxFamiliesPerUser families of a user, and ends the oldest`, async (t) => {
    for (const [max, options] of [
      [100, {}],
      [3, { maxFamiliesPerUser: 3 }],
      [1, { maxFamiliesPerUser: 1 }]
    ] as const) {
      const state = stateOf(options)
      await state.tokens.createFamily(family('other', { userId: 'user-104981' }))
      for (let index = 0; index < max + 2; index++)
        await state.tokens.createFamily(family(`sid-${index}`, { createdAt: index }))
      t.same(
        await listed(state),
        Array.from({ length: max }, (_, index) => `sid-${max + 1 - index}`)
      )
      t.equal(await state.tokens.findFamily(named('sid-1'), 500), null)
      t.same(await listed(state, 'user-104981'), ['other'])
    }
  })

  t.test(`DOS ${name} ends expired families and sessions before live ones`, async (t) => {
    const state = stateOf({ maxFamiliesPerUser: 3, maxSessionsPerUser: 2 })
    await state.tokens.createFamily(family('phone', { createdAt: 0 }))
    for (const index of [1, 2])
      await state.tokens.createFamily(family(`short-${index}`, { createdAt: index, idleExpiresAt: 10 }))
    await state.tokens.createFamily(family('laptop', { createdAt: 10 }))
    t.same(await listed(state), ['laptop', 'phone'])
    const session = {
      userId: 'user-19367',
      authenticatedAt: 0,
      methods: [],
      lastUsedAt: 0,
      userAgent: null,
      clientIds: []
    }
    for (const [sid, createdAt, expiresAt] of [
      ['a', 0, END],
      ['b', 1, 10],
      ['c', 10, END]
    ] as const) {
      await state.browserSessions.createSession(
        { ...session, sid: named(sid), createdAt, expiresAt, idleExpiresAt: END },
        'd'
      )
    }
    t.same(
      (await state.browserSessions.listSessionsOfUser('user-19367', 0)).map(({ sid }) => sid.slice(PARTITION_LENGTH)),
      ['c', 'a']
    )
  })

  t.test(`DOS ${name} keeps at most maxFamiliesPerUser codes of a user without ending a family for them`, async (t) => {
    const state = stateOf({ maxFamiliesPerUser: 3 })
    for (const index of [0, 1, 2]) await state.tokens.createFamily(family(`family-${index}`, { createdAt: index }))
    await state.tokens.createCode(code('other', { userId: 'user-104981' }))
    for (let index = 0; index < 50; index++)
      await state.tokens.createCode(code(`code-${index}`, { createdAt: 100 + index }))
    t.same(await listed(state), ['family-2', 'family-1', 'family-0'])
    await state.tokens.createFamily(family('family-3', { createdAt: 3 }))
    t.same(await listed(state), ['family-3', 'family-2', 'family-1'], 'and families push out no code')
    t.same(await Promise.all(['code-46', 'code-47', 'code-49'].map((name) => redeem(state, name))), [
      'unknown',
      'redeemed',
      'redeemed'
    ])
    t.equal(await redeem(state, 'other', 'user-104981'), 'redeemed')
    t.same(await listed(state), ['code-49', 'code-47', 'family-3'], 'what comes of a code counts')
  })

  t.test(`DOS ${name}: keeps a family with offline access when families without it exceed the bound`, async (t) => {
    const state = stateOf({ maxFamiliesPerUser: 2 })
    await state.tokens.createFamily(family('phone'))
    for (let index = 0; index < 5; index++) {
      await state.tokens.createCode(code(`code-${index}`, { createdAt: 100 + index, offline: false }))
      t.equal(await redeem(state, `code-${index}`), 'redeemed')
    }
    t.same(await listed(state), ['code-4', 'code-3', 'phone'])
  })

  // covers ASVS-7.1.2
  t.test(`DOS ${name} keeps at most maxSessionsPerUser sessions of a user, and ends the oldest`, async (t) => {
    for (const [max, options] of [
      [100, {}],
      [3, { maxSessionsPerUser: 3 }],
      [1, { maxSessionsPerUser: 1 }]
    ] as const) {
      const { browserSessions } = stateOf(options)
      const create = (sid: string, userId: string, createdAt: number): Promise<void> =>
        browserSessions.createSession(
          {
            sid: named(sid, userId),
            userId,
            authenticatedAt: 0,
            methods: [{ method: 'password', at: 0 }],
            createdAt,
            lastUsedAt: 0,
            expiresAt: END,
            idleExpiresAt: END,
            userAgent: null,
            clientIds: []
          },
          'd'
        )
      await create('other', 'user-104981', 0)
      for (let index = 0; index < max + 2; index++) await create(`sid-${index}`, 'user-19367', index)
      const sids = (await browserSessions.listSessionsOfUser('user-19367', 500)).map(({ sid }) =>
        sid.slice(PARTITION_LENGTH)
      )
      t.same(
        sids,
        Array.from({ length: max }, (_, index) => `sid-${max + 1 - index}`)
      )
      t.equal(await browserSessions.findSession(named('sid-1'), 'd', 500), null)
      t.ok(await browserSessions.findSession(named('other', 'user-104981'), 'd', 500))
    }
  })
}
