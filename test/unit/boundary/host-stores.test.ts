import t from '../../support/tap.ts'
import { IdentityTakenError, MisfitError, UsernameTakenError } from '../../../lib/errors.ts'
import type { Client } from '../../../lib/ports/client-store.ts'
import type { Identity, LinkedIdentity, NewUser, User, UserPatch, UserStore } from '../../../lib/ports/user-store.ts'
import { hostClientStore, hostUserStore } from '../../../lib/boundary/host-stores.ts'
import { steppedClock } from '../../../lib/testing/doubles.ts'
import { countingClock } from './counting-clock.ts'

const ANN: User = { id: '1', username: 'ann', passwordHash: null }

const KEY: Identity = { issuer: 'https://op.example', subject: '1' }
const LINK: LinkedIdentity = { ...KEY, connection: 'op', linkedAt: 1, lastUsedAt: 2 }

/** A host's store as a class, with state that its methods reach by `this`. */
class HostStore implements UserStore {
  readonly calls: unknown[][] = []
  async findById(...args: unknown[]): Promise<User | null> {
    this.calls.push(['findById', ...args])
    return ANN
  }
  async findByUsername(...args: unknown[]): Promise<User | null> {
    this.calls.push(['findByUsername', ...args])
    return null
  }
  async create(user: NewUser): Promise<User> {
    this.calls.push(['create', user])
    throw new UsernameTakenError()
  }
  async setPasswordHash(...args: unknown[]): Promise<boolean> {
    this.calls.push(['setPasswordHash', ...args])
    return true
  }
  async setEmailVerified(...args: unknown[]): Promise<void> {
    this.calls.push(['setEmailVerified', ...args])
  }
  async update(...args: unknown[]): Promise<User | null> {
    this.calls.push(['update', ...args])
    return ANN
  }
  async remove(...args: unknown[]): Promise<void> {
    this.calls.push(['remove', ...args])
  }
  async findByIdentity(...args: unknown[]): Promise<User | null> {
    this.calls.push(['findByIdentity', ...args])
    return ANN
  }
  async createWithIdentity(...args: unknown[]): Promise<User> {
    this.calls.push(['createWithIdentity', ...args])
    throw new IdentityTakenError()
  }
  async linkIdentity(...args: unknown[]): Promise<'taken'> {
    this.calls.push(['linkIdentity', ...args])
    return 'taken'
  }
  async unlinkIdentity(...args: unknown[]): Promise<'unlinked'> {
    this.calls.push(['unlinkIdentity', ...args])
    return 'unlinked'
  }
  async listIdentities(...args: unknown[]): Promise<LinkedIdentity[]> {
    this.calls.push(['listIdentities', ...args])
    return [LINK]
  }
  async useIdentity(...args: unknown[]): Promise<void> {
    this.calls.push(['useIdentity', ...args])
  }
}

t.test('passes each call with its arguments to the store, and returns the answer', async (t) => {
  const host = new HostStore()
  const users = hostUserStore(host, steppedClock())
  t.equal(await users.findById('1'), ANN)
  t.equal(await users.findByUsername('bob'), null)
  await t.rejects(async () => await users.create?.({ username: 'ann', passwordHash: 'x' }), UsernameTakenError)
  t.equal(await users.setPasswordHash?.('1', 'next'), true)
  t.equal(await users.setPasswordHash?.('1', 'next', null), true)
  await users.setEmailVerified?.('1')
  await users.setEmailVerified?.('1', 'ann@example.com')
  t.equal(await users.update?.('1', { email: null }), ANN)
  t.equal(await users.update?.('1', { emailVerified: true }, 7), ANN)
  t.equal(await users.remove?.('1'), undefined)
  t.equal(await users.findByIdentity?.(KEY), ANN)
  await t.rejects(
    async () => await users.createWithIdentity?.({ username: 'ann', passwordHash: null }, LINK),
    IdentityTakenError
  )
  t.equal(await users.linkIdentity?.('1', LINK), 'taken')
  t.equal(await users.unlinkIdentity?.('1', KEY, false), 'unlinked')
  t.strictSame(await users.listIdentities?.('1'), [LINK])
  await users.useIdentity?.(KEY, 5)
  await users.useIdentity?.(KEY, 5, 'ann@example.com')
  t.strictSame(host.calls, [
    ['findById', '1'],
    ['findByUsername', 'bob'],
    ['create', { username: 'ann', passwordHash: 'x' }],
    ['setPasswordHash', '1', 'next'],
    ['setPasswordHash', '1', 'next', null],
    ['setEmailVerified', '1'],
    ['setEmailVerified', '1', 'ann@example.com'],
    ['update', '1', { email: null }],
    ['update', '1', { emailVerified: true }, 7],
    ['remove', '1'],
    ['findByIdentity', KEY],
    ['createWithIdentity', { username: 'ann', passwordHash: null }, LINK],
    ['linkIdentity', '1', LINK],
    ['unlinkIdentity', '1', KEY, false],
    ['listIdentities', '1'],
    ['useIdentity', KEY, 5],
    ['useIdentity', KEY, 5, 'ann@example.com']
  ])
})

t.test('leaves optional methods that the store lacks undefined', async (t) => {
  const users = hostUserStore({ findById: async () => null, findByUsername: async () => null }, steppedClock())
  t.strictSame(Object.keys(users), ['findById', 'findByUsername'])
})

t.test('rejects after five seconds when a store hangs, and leaves no timer', async (t) => {
  const clock = countingClock()
  const never = async <T>(): Promise<T> => await new Promise<T>(() => {})
  const users = hostUserStore(
    {
      findById: never<User | null>,
      findByUsername: never<User | null>,
      create: never<User>,
      setPasswordHash: never<boolean>,
      setEmailVerified: never<void>,
      update: never<User | null>,
      remove: never<void>,
      findByIdentity: never<User | null>,
      createWithIdentity: never<User>,
      linkIdentity: never<'linked'>,
      unlinkIdentity: never<'unknown'>,
      listIdentities: never<LinkedIdentity[]>,
      useIdentity: never<void>
    },
    clock
  )
  const clients = hostClientStore(
    { findById: never<Client | null> },
    { clock, read: (row) => row as Client, onMisfit() {} }
  )
  const results = Promise.allSettled([
    users.findById('1'),
    users.findByUsername('a'),
    users.create?.({ username: 'a', passwordHash: 'x' }),
    users.setPasswordHash?.('1', 'x'),
    users.setEmailVerified?.('1'),
    users.update?.('1', {}),
    users.remove?.('1'),
    users.findByIdentity?.(KEY),
    users.createWithIdentity?.({ username: 'a', passwordHash: null }, LINK),
    users.linkIdentity?.('1', LINK),
    users.unlinkIdentity?.('1', KEY, true),
    users.listIdentities?.('1'),
    users.useIdentity?.(KEY, 1),
    clients.findById('c')
  ])
  clock.step(4999)
  t.equal(clock.waiting(), 14)
  clock.step(1)
  t.ok((await results).every(({ status }) => status === 'rejected'))
  t.equal(clock.waiting(), 0)
})

// covers A4
t.test('rejects a malformed answer of `update`, and returns null for a missing one', async (t) => {
  for (const [answer, field] of [
    [{ ...ANN, id: '2' }, 'id'],
    [{ ...ANN, id: 1 }, 'id'],
    [[ANN], null],
    [1, null],
    [true, null],
    [{ rowCount: 1 }, 'id'],
    [{ ...ANN, version: 1n }, 'version'],
    [{ ...ANN, version: NaN }, 'version'],
    [{ ...ANN, version: new Date(0) }, 'version'],
    [{ ...ANN, emailVerified: 'false' }, 'emailVerified']
  ] as const) {
    const users = hostUserStore(
      { findById: async () => ANN, findByUsername: async () => ANN, update: async () => answer as never },
      steppedClock()
    )
    await t.rejects(async () => await users.update?.('1', {}), {
      code: 'FST_AUTHORITY_STORE_MISFIT',
      source: 'users.update',
      field
    })
  }
  for (const answer of [undefined, null]) {
    const users = hostUserStore(
      {
        findById: async () => ANN,
        findByUsername: async () => ANN,
        update: async (_id: string, _patch: UserPatch) => answer as never
      },
      steppedClock()
    )
    t.equal(await users.update?.('1', {}), null)
  }
  for (const version of [0, -1.5, '', 'a', null, undefined]) {
    const users = hostUserStore(
      {
        findById: async () => ({ ...ANN, version }) as User,
        findByUsername: async () => ANN,
        remove: async () => 5 as never
      },
      steppedClock()
    )
    t.match(await users.findById('1'), { id: '1' })
    t.equal(await users.remove?.('1'), undefined, 'what a removal answers says nothing')
  }
})

t.test('accepts only an array of users from findByEmail', async (t) => {
  const storeWith = (answer: unknown) =>
    hostUserStore(
      { findById: async () => ANN, findByUsername: async () => ANN, findByEmail: async () => answer as never },
      steppedClock()
    )
  for (const answer of [ANN, true, [null], [{ ...ANN, id: 1 }]])
    await t.rejects(async () => await storeWith(answer).findByEmail?.('a@example.com'), {
      code: 'FST_AUTHORITY_STORE_MISFIT',
      source: 'users.findByEmail'
    })
  for (const answer of [undefined, null, []]) t.strictSame(await storeWith(answer).findByEmail?.('a@example.com'), [])
  t.match(await storeWith([ANN]).findByEmail?.('a@example.com'), [{ id: ANN.id }])
})

// covers A4
t.test('rejects a malformed answer of an identity method', async (t) => {
  const answering = (answer: unknown): UserStore => {
    const said = async (): Promise<never> => answer as never
    return hostUserStore(
      {
        findById: said,
        findByUsername: said,
        findByIdentity: said,
        createWithIdentity: said,
        linkIdentity: said,
        unlinkIdentity: said,
        listIdentities: said,
        useIdentity: said
      },
      steppedClock()
    )
  }
  const refused = async (
    source: string,
    answer: unknown,
    field: string | null,
    call: (users: UserStore) => Promise<unknown> | undefined
  ): Promise<void> => {
    await t.rejects(
      async () => await call(answering(answer)),
      { code: 'FST_AUTHORITY_STORE_MISFIT', source: `users.${source}`, field },
      `${source} ${field}`
    )
  }
  for (const answer of [undefined, null]) {
    t.equal(await answering(answer).findByIdentity?.(KEY), null)
    t.strictSame(await answering(answer).listIdentities?.('1'), [])
    await refused('createWithIdentity', answer, null, (users) =>
      users.createWithIdentity?.({ username: 'a', passwordHash: null }, LINK)
    )
  }
  for (const answer of [[ANN], 1, true])
    await refused('findByIdentity', answer, null, (users) => users.findByIdentity?.(KEY))
  await refused('findByIdentity', { ...ANN, id: 1 }, 'id', (users) => users.findByIdentity?.(KEY))
  await refused('createWithIdentity', { ...ANN, disabled: 'no' }, 'disabled', (users) =>
    users.createWithIdentity?.({ username: 'a', passwordHash: null }, LINK)
  )
  for (const answer of [undefined, null, true, 1, '', 'unlinked', 'LINKED', ['linked'], { outcome: 'linked' }])
    await refused('linkIdentity', answer, null, (users) => users.linkIdentity?.('1', LINK))
  for (const answer of [undefined, null, true, 1, '', 'linked', ['unlinked']])
    await refused('unlinkIdentity', answer, null, (users) => users.unlinkIdentity?.('1', KEY, false))
  for (const answer of [{}, 'links', 1, { rows: [LINK] }, [[LINK]], [null], ['a']])
    await refused('listIdentities', answer, null, (users) => users.listIdentities?.('1'))
  for (const [field, values] of Object.entries({
    issuer: [undefined, null, '', 1],
    subject: [undefined, '', 7],
    connection: [undefined, null, ''],
    linkedAt: [undefined, null, '5', 5n, 0.5, NaN, new Date(NaN)],
    lastUsedAt: [undefined, '5'],
    email: [1, {}],
    sealed: [1, Buffer.from('a')],
    provisional: ['false', 2]
  })) {
    for (const value of values)
      await refused('listIdentities', [LINK, { ...LINK, [field]: value }], field, (users) =>
        users.listIdentities?.('1')
      )
  }
  const row = { ...LINK, linkedAt: new Date(1), email: null, sealed: null, provisional: 0, password_hash: 'secret' }
  t.strictSame(
    await answering([row, { ...row, provisional: 1, email: 'a@op.example' }]).listIdentities?.('1'),
    [LINK, { ...LINK, email: 'a@op.example', provisional: true }],
    'the fields of the port alone, as it has them'
  )
  t.equal(await answering(7).useIdentity?.(KEY, 1), undefined, 'what it answers says nothing')
})

t.test('treats a client id that no database can store as unknown, without a query', async (t) => {
  const asked: string[] = []
  const clients = hostClientStore(
    {
      findById: async (clientId) => {
        asked.push(clientId)
        throw new Error('invalid byte sequence')
      }
    },
    { clock: steppedClock(), read: (row) => row as Client, onMisfit() {} }
  )
  for (const id of ['', '\0', 'a\0b', '\ud800', 'a\udc00', 'x'.repeat(513)]) t.equal(await clients.findById(id), null)
  t.strictSame(asked, [])
  for (const id of ['app', 'x'.repeat(512), 'ä 👩', 'https://client.example/']) await t.rejects(clients.findById(id))
  t.equal(asked.length, 4)
})

// covers A4
t.test('treats a client with a malformed record as unknown, and reports the record once a minute', async (t) => {
  const clock = steppedClock()
  const told: string[] = []
  const clients = hostClientStore(
    { findById: async (clientId) => ({ clientId }) },
    {
      clock,
      read() {
        throw new MisfitError('store', { source: 'clients.findById', field: 'firstParty', problem: 'a number' })
      },
      onMisfit(_error, clientId) {
        told.push(clientId)
      }
    }
  )
  for (const id of ['a', 'a', 'b', 'a']) t.equal(await clients.findById(id), null)
  t.same(told, ['a', 'b'])
  clock.step(60_000)
  t.equal(await clients.findById('a'), null)
  t.same(told, ['a', 'b', 'a'])
})
