/** Invitations while stores fail, and while their user changes. */
import t from '../../support/tap.ts'
import { memoryState, memoryUserStore, type UserStore } from '../../../lib/index.ts'
import { signIn } from '../../support/app.ts'
import { BOB, namesOf, PASSWORD, withInvited } from './support.ts'

/** A store whose methods fail while `isDown` returns true for their name. */
const failing = <Store extends object>(store: Store, isDown: (name: string) => boolean): Store =>
  new Proxy(store, {
    get(target, name, receiver) {
      const value: unknown = Reflect.get(target, name, receiver)
      if (typeof value !== 'function') return value
      return async (...given: unknown[]) => {
        if (isDown(String(name))) throw new Error('down')
        return (await Reflect.apply(value, target, given)) as unknown
      }
    }
  })

/** Stores whose method of this name fails while `down` is set. */
function stores(method: string) {
  const faults = { down: false }
  const isDown = (name: string): boolean => faults.down && name === method
  const inner = memoryState()
  const state = {
    ...inner,
    oneTimeTokens: failing(inner.oneTimeTokens, isDown),
    consents: failing(inner.consents, isDown)
  }
  return { faults, users: failing(memoryUserStore(), isDown), state }
}

t.test('accepts the same invitation form again after a store call failed', async (t) => {
  for (const method of ['findById', 'setPasswordHash', 'setEmailVerified', 'find', 'consume', 'put', 'listConsents']) {
    const { faults, ...parts } = stores(method)
    const test = await withInvited(t, parts)
    faults.down = true
    t.equal((await test.accept(test.token)).statusCode, 503, method)
    faults.down = false
    t.equal((await test.accept(test.token)).statusCode, 303, `${method}, again`)
    t.match(await test.users.get(test.id), { hasPassword: true, emailVerified: true }, method)
    await signIn(test.app, BOB, PASSWORD)
    t.equal(namesOf(test).filter((one) => one === 'invitation_accepted').length, 1, method)
  }
})

t.test('rejects an invitation whose user changes while the token is consumed', async (t) => {
  for (const [name, change, status] of [
    ['disabled', async (store, id) => await store.setDisabled?.(id, true), 400],
    ['another address', async (store, id) => await store.update?.(id, { email: 'bob@new.example' }), 400],
    ['removed', async (store, id) => await store.remove?.(id), 400],
    ['a password', async (store, id) => await store.setPasswordHash?.(id, 'set elsewhere', null, 0), 409]
  ] as Array<[string, (store: UserStore, id: string) => Promise<unknown>, number]>) {
    const users = memoryUserStore()
    const inner = memoryState()
    const consume: typeof inner.oneTimeTokens.consume = async (...given) => {
      const record = await inner.oneTimeTokens.consume(...given)
      if (record !== null) await change(users, record.userId)
      return record
    }
    const test = await withInvited(t, {
      users,
      state: { ...inner, oneTimeTokens: { ...inner.oneTimeTokens, consume } }
    })
    t.equal((await test.accept(test.token)).statusCode, status, name)
    t.notMatch(await users.findById(test.id), { emailVerified: true }, name)
    t.notOk(namesOf(test).includes('password_changed'), name)
    t.notOk(namesOf(test).includes('invitation_accepted'), name)
  }
})

t.test('completes an acceptance that failed after the password was stored, and rejects another password', async (t) => {
  let readsLeft = Infinity
  const inner = memoryState()
  const consents = failing(inner.consents, (name) => name === 'listConsents' && readsLeft-- <= 0)
  const test = await withInvited(t, { state: { ...inner, consents } })
  // The first read comes before the password is stored.
  readsLeft = 1
  t.equal((await test.accept(test.token)).statusCode, 503)
  readsLeft = Infinity
  t.equal((await test.accept(test.token, 'another good pass phrase')).statusCode, 409)
  t.equal((await test.accept(test.token)).statusCode, 303)
  await signIn(test.app, BOB, PASSWORD)
})
