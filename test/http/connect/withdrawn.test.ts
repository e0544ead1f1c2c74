/** Permissions at a provider that requires their revocation (Apple) end with the link or the account. */
import t, { type Test } from '../../support/tap.ts'
import { memoryUserStore } from '../../../lib/index.ts'
import { PROVIDER } from '../../support/fake-upstream.ts'
import { connectApp, type ConnectApp, SAME } from './support.ts'

const endpoints = {
  authorization: `${PROVIDER}/authorize`,
  token: `${PROVIDER}/token`,
  keys: `${PROVIDER}/keys`,
  revocation: `${PROVIDER}/revoke`
}
const TOKEN = 'upstream-refresh-token-canary'

async function signedIn(
  t: Test,
  options: Parameters<typeof connectApp>[1] = {}
): Promise<{ test: ConnectApp; users: ReturnType<typeof memoryUserStore>; sub: string; remove(): Promise<number> }> {
  const users = memoryUserStore()
  const test = await connectApp(t, { users, connection: { endpoints }, ...options })
  t.equal((await test.through()).statusCode, 303)
  const cookie = [...test.browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  return {
    test,
    users,
    sub: (await test.who()) ?? '',
    remove: async () =>
      (
        await test.app.inject({
          method: 'DELETE',
          url: '/auth/account',
          headers: { cookie, ...SAME, origin: 'http://localhost:3000' }
        })
      ).statusCode
  }
}

/** Waits for background work. */
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 50; turn++)
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
}

// covers FED-7
t.test('stores the refresh token sealed, and revokes it when the account is removed', async (t) => {
  const { test, users, sub, remove } = await signedIn(t)
  const [link] = await users.listIdentities(sub)
  t.match(link?.sealed, /^v1\./)
  t.notMatch(JSON.stringify([link, test.events, test.lines]), TOKEN)
  t.equal(await remove(), 204)
  await settled()
  t.strictSame(test.fake.revoked, [TOKEN])
  t.notMatch(JSON.stringify([test.events, test.lines]), TOKEN)
})

t.test('revokes the refresh token when its link is removed', async (t) => {
  const { test, users, sub } = await signedIn(t)
  await users.setPasswordHash(sub, 'h')
  const [link] = await test.app.authority.identities(sub)
  t.equal(await test.app.authority.unlinkIdentity(sub, link?.id ?? ''), 'unlinked')
  await settled()
  t.strictSame(test.fake.revoked, [TOKEN])
})

t.test('removes the account while the provider is down, and logs the failed revocation', async (t) => {
  const { test, users, sub, remove } = await signedIn(t)
  test.fake.down = true
  t.equal(await remove(), 204)
  await settled()
  t.equal(await users.findById(sub), null)
  t.match(test.lines.join(''), /what a person allowed at another provider could not be ended there/)
  t.notMatch(test.lines.join(''), TOKEN)
})

t.test('stores no refresh token unless the provider offers revocation, and skips altered ones', async (t) => {
  const plain = await signedIn(t, { connection: {} })
  t.equal((await plain.users.listIdentities(plain.sub))[0]?.sealed, undefined)
  t.equal(await plain.remove(), 204)
  await settled()
  t.strictSame(plain.test.fake.revoked, [])
  const users = memoryUserStore()
  const { listIdentities } = users
  const test = await signedIn(t, {
    users: {
      ...users,
      listIdentities: async (id) =>
        (await listIdentities.call(users, id)).map((link) => ({ ...link, sealed: 'v1.AAAA.AAAA' }))
    }
  })
  t.equal(await test.remove(), 204)
  await settled()
  t.strictSame(test.test.fake.revoked, [])
})
