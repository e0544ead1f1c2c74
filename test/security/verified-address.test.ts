/**
 * A link proves the mailbox that it was sent to. If the user's address has changed before the write, the new one is not
 * proved.
 */
import t from '../support/tap.ts'
import { memoryUserStore, type UserStore } from '../../lib/index.ts'
import { PASSWORD, testApp } from '../support/app.ts'

const MALLORY = 'mallory@evil.example'
const VICTIM = 'victim@bank.example'

/** Changes the address, as a host's profile page would, in the middle of whatever calls `method`. */
function changingBefore(method: 'setPasswordHash' | 'setEmailVerified'): UserStore {
  const store = memoryUserStore()
  return {
    ...store,
    async [method](id: string, ...rest: never[]) {
      await store.update?.(id, { email: VICTIM, emailVerified: false })
      return await (store[method] as (...args: unknown[]) => Promise<never>)(id, ...rest)
    }
  }
}

t.test('leaves a new email address unverified when it changes while a link for the old one is used', async (t) => {
  const ways = {
    'a new password': {
      method: 'setPasswordHash',
      ask: 'password-reset',
      kind: 'password_reset',
      url: '/auth/password-reset/confirm',
      body: { password: 'another good passphrase' }
    },
    'a new password, at the last moment': {
      method: 'setEmailVerified',
      ask: 'password-reset',
      kind: 'password_reset',
      url: '/auth/password-reset/confirm',
      body: { password: 'another good passphrase' }
    },
    'a confirmation': {
      method: 'setEmailVerified',
      ask: null,
      kind: 'verify_email',
      url: '/auth/email/verify',
      body: {}
    }
  } as const
  for (const [name, { method, ask, kind, url, body }] of Object.entries(ways)) {
    const users = changingBefore(method)
    const { app, messages, close } = await testApp({ users })
    t.teardown(close)
    await app.inject({ method: 'POST', url: '/auth/register', payload: { username: MALLORY, password: PASSWORD } })
    if (ask !== null) await app.inject({ method: 'POST', url: `/auth/${ask}`, payload: { username: MALLORY } })
    const { token } = await messages.next(kind)
    await app.inject({ method: 'POST', url, payload: { token, ...body } })
    const user = await users.findByUsername(MALLORY)
    t.match(user, { email: VICTIM, emailVerified: false }, name)
  }
})
