/** The host sees the same consents as the person. */
import t from '../support/tap.ts'
import { memoryState, memoryUserStore } from '../../lib/index.ts'
import { openidApp } from '../support/openid.ts'

t.test('lists no consent from before a password change, and none of an unknown or removed user', async (t) => {
  const users = memoryUserStore()
  const state = memoryState()
  let passwordChangedAt = 0
  const findById = async (id: string) => {
    const user = await users.findById(id)
    return user === null ? null : { ...user, passwordChangedAt }
  }
  const { app, ann, clock, close } = await openidApp({ users: { ...users, findById }, state })
  t.teardown(close)
  await state.consents.grantConsent({
    userId: ann.sub,
    clientId: 'third',
    scopes: ['openid'],
    grantedAt: clock.now(),
    expiresAt: clock.now() + 86_400_000
  })
  t.match(await app.authority.consents(ann.sub), [{ clientId: 'third', scopes: ['openid'] }])
  t.same(await app.authority.consents('nobody'), [])
  clock.step(60_000)
  passwordChangedAt = clock.now()
  t.same(await app.authority.consents(ann.sub), [])
  passwordChangedAt = 0
  t.equal((await app.authority.consents(ann.sub)).length, 1)
  // The host removes the row by itself, so the state still has the consent.
  await users.remove(ann.sub)
  t.same(await app.authority.consents(ann.sub), [])
})
