import t from '../support/tap.ts'
import { memoryState } from '../../lib/adapters/memory/record-store.ts'
import { memoryUserStore } from '../../lib/adapters/memory/user-store.ts'
import { partitionOf } from '../../lib/protocol/digest.ts'
import { runContract } from '../../lib/testing/contract.ts'
import { delayed } from '../../lib/testing/doubles.ts'
import { stateContract } from './suites/state-contract.ts'
import { userStoreContract } from '../../lib/testing/user-store-contract.ts'

const test = (prefix: string) => (name: string, run: () => Promise<void>) => t.test(`${prefix} ${name}`, run)

runContract(
  userStoreContract(async () => ({ store: memoryUserStore() })),
  test('memory user store')
)
runContract(
  userStoreContract(async () => ({ store: delayed(memoryUserStore()) })),
  test('delayed memory user store')
)
runContract(
  stateContract(async () => ({ state: memoryState() })),
  test('memory state')
)
runContract(
  stateContract(async () => ({ state: delayed(memoryState()) })),
  test('delayed memory state')
)

t.test('memoryUserStore copies the given users, and rejects duplicate usernames and ids', async (t) => {
  const alice = { id: 'a', username: 'alice', passwordHash: null, roles: ['admin'] }
  const store = memoryUserStore([alice])
  alice.roles.push('changed')
  t.same(await store.findByUsername('alice'), {
    id: 'a',
    username: 'alice',
    passwordHash: null,
    roles: ['admin'],
    version: 1
  })
  t.equal(await store.setPasswordHash('a', 'x', null), true, 'null is compared with')
  t.throws(() => memoryUserStore([alice, { ...alice, id: 'b' }]), { code: 'FST_AUTHORITY_USERNAME_TAKEN' })
  t.throws(() => memoryUserStore([alice, { ...alice, username: 'b' }]), TypeError)
})

t.test('memoryState B15 accepts only whole numbers from 1 to 1,000 as bounds', async (t) => {
  for (const max of [0, -1, 1.5, NaN, 1001]) {
    t.throws(() => memoryState({ maxFamiliesPerUser: max }), RangeError)
    t.throws(() => memoryState({ maxSessionsPerUser: max }), /maxSessionsPerUser/)
  }
})

t.test('memoryState sweeps all expired records in one call', async (t) => {
  const { oneTimeTokens, sweep } = memoryState()
  const tokens = Array.from({ length: 5000 }, (_, index) => ({
    purpose: 'verify_email' as const,
    digest: `${partitionOf(`u${index}`)}d`,
    userId: `u${index}`,
    expiresAt: index % 2 === 0 ? 10 : 20
  }))
  await Promise.all(tokens.map((token) => oneTimeTokens.put(token)))
  await sweep(10)
  const found = await Promise.all(tokens.map(({ digest }) => oneTimeTokens.find('verify_email', digest, 0)))
  t.same(
    found.filter((token) => token !== null),
    tokens.filter(({ expiresAt }) => expiresAt === 20)
  )
})
