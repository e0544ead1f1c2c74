import t from 'tap'
import { memoryState } from '../../lib/adapters/memory/state.ts'
import { memoryUserStore } from '../../lib/adapters/memory/user-store.ts'
import { runContract } from '../../lib/testing/contract.ts'
import { delayed } from '../../lib/testing/delayed.ts'
import { stateContract } from '../../lib/testing/state-contract.ts'
import { userStoreContract } from '../../lib/testing/user-store-contract.ts'

const test = (prefix: string) => (name: string, run: () => Promise<void>) => t.test(`${prefix} ${name}`, run)

runContract(userStoreContract(async () => ({ store: memoryUserStore() })), test('memory user store'))
runContract(userStoreContract(async () => ({ store: delayed(memoryUserStore()) })), test('delayed memory user store'))
runContract(stateContract(async () => ({ state: memoryState() })), test('memory state'))
runContract(stateContract(async () => ({ state: delayed(memoryState()) })), test('delayed memory state'))

t.test('memoryUserStore starts with copies of the users given', async (t) => {
  const alice = { id: 'a', username: 'alice', passwordHash: null, roles: ['admin'] }
  const store = memoryUserStore([alice])
  alice.roles.push('changed')
  t.same(await store.findByUsername('alice'), { id: 'a', username: 'alice', passwordHash: null, roles: ['admin'] })
  t.equal(await store.setPasswordHash('a', 'x', null), true, 'null is compared with')
  t.throws(() => memoryUserStore([alice, { ...alice, id: 'b' }]), { code: 'FST_AUTHORITY_USERNAME_TAKEN' })
  t.throws(() => memoryUserStore([alice, { ...alice, username: 'b' }]), TypeError)
})

t.test('DOS memoryState keeps at most maxFamiliesPerUser families of a user and ends the first created', async (t) => {
  for (const [max, options] of [[100, {}], [3, { maxFamiliesPerUser: 3 }], [1, { maxFamiliesPerUser: 1 }]] as const) {
    const { tokens } = memoryState(options)
    const create = (sid: string, userId: string, createdAt: number): Promise<void> => tokens.createFamily({
      sid, userId, clientId: null, scope: '', authenticatedAt: 0, createdAt, lastUsedAt: 0, expiresAt: 1000, idleExpiresAt: 1000, userAgent: null, tokenDigest: 'd'
    })
    await create('other', 'user-2', 0)
    for (let index = 0; index < max + 2; index++) await create(`sid-${index}`, 'user-1', index)
    const sids = (await tokens.listFamiliesOfUser('user-1', 500)).map(({ sid }) => sid)
    t.same(sids, Array.from({ length: max }, (_, index) => `sid-${max + 1 - index}`))
    t.equal(await tokens.findFamily('sid-1', 500), null)
    t.ok(await tokens.findFamily('other', 500))
  }
  for (const maxFamiliesPerUser of [0, -1, 1.5, NaN]) t.throws(() => memoryState({ maxFamiliesPerUser }), RangeError)
})

t.test('memoryState sweeps more than a slice at once', async (t) => {
  const { oneTimeTokens, sweep } = memoryState()
  for (let index = 0; index < 2500; index++) {
    await oneTimeTokens.put({ purpose: 'verify_email', digest: `d${index}`, userId: `u${index}`, expiresAt: index % 2 === 0 ? 10 : 20 })
  }
  await sweep(10)
  let left = 0
  for (let index = 0; index < 2500; index++) {
    if (await oneTimeTokens.find('verify_email', `d${index}`, 0) !== null) left++
  }
  t.equal(left, 1250)
})
