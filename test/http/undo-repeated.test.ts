/** The link that undoes a change works again after a store failed half-way. */
import t from '../support/tap.ts'
import { memoryFactorStore, memoryState } from '../../lib/index.ts'
import { bearer, signIn } from '../support/app.ts'
import { logIn } from '../support/factors.ts'
import { giveSecondFactor, secondFactorOf } from '../support/second-factor.ts'
import { ANN, linkOf, scene, THIEF } from './support/undo.ts'

for (const what of ['factor_added', 'email_changed'] as const)
  for (const [place, method] of [
    ['factors', 'removeFactorsOfUser'],
    ['factors', 'removeFactor'],
    ['oneTimeTokens', 'discard'],
    ['tokens', 'revokeFamiliesOfUser'],
    ['oneTimeTokens', 'put']
  ] as const)
    t.test(`${what}: the undo link works again after the result of ${place}.${method} was lost`, async (t) => {
      const lost = { isOn: false }
      const losing = <Store extends object>(store: Store, name: string): Store => {
        const act = Reflect.get(store, name) as (...given: unknown[]) => Promise<unknown>
        return {
          ...store,
          [name]: async (...given: unknown[]) => {
            const answer = await act(...given)
            if (!lost.isOn) return answer
            lost.isOn = false
            throw new Error('The answer was lost.')
          }
        }
      }
      const state = memoryState()
      const factors = memoryFactorStore()
      const test = await scene(
        t,
        place === 'factors'
          ? { factors: losing(factors, method) }
          : { state: { ...state, [place]: losing(state[place], method) } }
      )
      const { app, users, sub, thief, messages, press } = test
      await logIn(thief, ANN)
      if (what === 'email_changed') {
        const { access_token: token } = await signIn(app, ANN)
        await app.inject({ method: 'POST', url: '/auth/email', headers: bearer(token), payload: { email: THIEF } })
        const payload = { token: (await messages.next('email_change')).token }
        await app.inject({ method: 'POST', url: '/auth/email/verify', payload })
        await giveSecondFactor(test, sub)
      } else await secondFactorOf(test, thief)
      const link = await linkOf(test, what)
      lost.isOn = true
      const first = await press(link)
      const wasMet = !lost.isOn
      lost.isOn = false
      t.equal(first.statusCode, wasMet ? 503 : 200)
      if (wasMet) t.equal((await press(link)).statusCode, 200)
      t.match(await messages.next('password_reset'), { user: { email: ANN } })
      t.equal((await app.authority.factors(sub)).factors.length, 0)
      t.match(await users.findById(sub), { email: ANN })
      test.clock.step(300_000)
      t.equal((await press(link)).statusCode, 400)
    })
