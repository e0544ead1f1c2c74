import t from '../../support/tap.ts'
import { memoryUserStore } from '../../../lib/index.ts'
import { bearer } from '../../support/app.ts'
import { ALL, routed } from './world.ts'

t.test('does not read a user again to show admin.fields', async (t) => {
  const users = memoryUserStore()
  let reads = 0
  const test = await routed(t, {
    users: {
      ...users,
      findById: async (id) => {
        reads++
        return await users.findById(id)
      }
    },
    admin: { allow: ({ user, scopes }) => (user?.username === 'root' ? scopes : []), fields: ['createdAt'] }
  })
  const { send, tokenOf, bob } = test
  const all = bearer(await tokenOf('root', ALL))
  const readsOf = async (path: string): Promise<number> => {
    reads = 0
    t.equal((await send('GET', path, all)).statusCode, 200)
    return reads
  }
  const forTheCaller = await readsOf('/audit')
  t.equal(await readsOf('/users'), forTheCaller)
  t.equal(await readsOf(`/users/${bob.sub}`), forTheCaller + 1)
})
