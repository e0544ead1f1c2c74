/** The former address gets a message about a change, with a link that undoes it, even if something fails meanwhile. */
import t from '../support/tap.ts'
import { memoryState, memoryUserStore } from '../../lib/index.ts'
import { bearer, signIn } from '../support/app.ts'
import { ANN, linkOf, scene, THIEF } from './support/undo.ts'

for (const place of ['users.update', 'oneTimeTokens.put', 'oneTimeTokens.find'] as const)
  for (const isDone of [true, false])
    t.test(`sends the undo link when ${place} fails ${isDone ? 'after' : 'before'} its write`, async (t) => {
      let fails = false
      const failing = <Store extends object>(store: Store): Store => {
        const name = place.split('.')[1] as keyof Store
        const act = store[name] as (...given: unknown[]) => Promise<unknown>
        const method = async (...given: unknown[]): Promise<unknown> => {
          const failsNow = fails
          const answer = failsNow && !isDone ? undefined : await act(...given)
          if (!failsNow) return answer
          fails = false
          throw new Error('The answer was lost.')
        }
        return { ...store, [name]: method }
      }
      const [state, users] = [memoryState(), memoryUserStore()]
      const test = await scene(
        t,
        place === 'users.update'
          ? { users: failing(users), state }
          : { users, state: { ...state, oneTimeTokens: failing(state.oneTimeTokens) } }
      )
      const { app, messages } = test
      const { access_token: token } = await signIn(app, ANN)
      await app.inject({ method: 'POST', url: '/auth/email', headers: bearer(token), payload: { email: THIEF } })
      const payload = { token: (await messages.next('email_change')).token }
      const confirm = async (): Promise<number> =>
        (await app.inject({ method: 'POST', url: '/auth/email/verify', payload })).statusCode
      fails = true
      t.equal(await confirm(), 503)
      t.notOk(fails, 'it was met')
      t.equal(await confirm(), 204)
      t.match(await users.findById(test.sub), { email: THIEF })
      t.equal((await test.press(await linkOf(test, 'email_changed'))).statusCode, 200)
      t.match(await users.findById(test.sub), { email: ANN })
    })

t.test('accepts the undo link when its first write arrives late', async (t) => {
  const state = memoryState()
  const late: Array<() => Promise<void>> = []
  const put: typeof state.oneTimeTokens.put = async (token) => {
    if (token.purpose !== 'email_undo' || late.length > 0) return await state.oneTimeTokens.put(token)
    late.push(async () => await state.oneTimeTokens.put(token))
    throw new Error('The store did not answer in time.')
  }
  const test = await scene(t, { state: { ...state, oneTimeTokens: { ...state.oneTimeTokens, put } } })
  const { app, messages, users } = test
  const { access_token: token } = await signIn(app, ANN)
  await app.inject({ method: 'POST', url: '/auth/email', headers: bearer(token), payload: { email: THIEF } })
  const payload = { token: (await messages.next('email_change')).token }
  t.equal((await app.inject({ method: 'POST', url: '/auth/email/verify', payload })).statusCode, 503)
  const link = await linkOf(test, 'email_changed')
  t.equal(late.length, 1)
  await late[0]?.()
  t.equal((await test.press(link)).statusCode, 200)
  t.match(await users.findById(test.sub), { email: ANN })
})
