/** Every way into an account that is open when an administrator ends it. */
import t from '../../support/tap.ts'
import { bearer, PASSWORD } from '../../support/app.ts'
import { formAction, testBrowser } from '../../support/browser.ts'
import { authorizeAs, authorizePath, basic, CALLBACK, redeem, SECRET } from '../../support/openid.ts'
import type { Test } from '../../support/tap.ts'
import { ALL, routed } from './world.ts'

const BOB = 'bob@example.com'
const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code'
const ME = { username: BOB }
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

type World = Awaited<ReturnType<typeof open>>
/** Prepares access, and resolves to a function that returns whether the access still works. */
type Way = (world: World) => Promise<() => Promise<boolean>>

async function open(t: Test) {
  const test = await routed(t, {
    deviceGrant: true,
    emailSignIn: {},
    refreshToken: { rotate: 'always' },
    clients: [
      { clientId: 'spa', redirectUris: [CALLBACK] },
      { clientId: 'web', clientSecret: SECRET, redirectUris: [CALLBACK] },
      { clientId: 'tv', grantTypes: [DEVICE, 'refresh_token'] }
    ]
  })
  const signedIn = async () => (await test.byPassword(BOB)).json()
  const refreshed = async (token: string) => await test.token({ grant_type: 'refresh_token', refresh_token: token })
  return { ...test, signedIn, refreshed, own: bearer(await test.tokenOf('root', ALL)) }
}

const isGood = ({ statusCode }: { statusCode: number }): boolean => statusCode === 200

const WAYS: Record<string, Way> = {
  'the password':
    async ({ byPassword }) =>
    async () =>
      isGood(await byPassword(BOB)),
  'a refresh token': async ({ signedIn, refreshed }) => {
    const { refresh_token: token } = await signedIn()
    return async () => isGood(await refreshed(token))
  },
  'a refresh token in its grace': async ({ signedIn, refreshed }) => {
    const { refresh_token: token } = await signedIn()
    await refreshed(token)
    return async () => isGood(await refreshed(token))
  },
  'an access token at userinfo': async ({ signedIn, app }) => {
    const { access_token: token } = await signedIn()
    return async () => isGood(await app.inject({ url: '/auth/userinfo', headers: bearer(token) }))
  },
  'an access token at introspection': async ({ signedIn, app }) => {
    const { access_token: token } = await signedIn()
    const headers = basic('web', SECRET)
    return async () =>
      (await app.inject({ method: 'POST', url: '/auth/introspect', headers, payload: { token } })).json().active
  },
  'an authorization code': async ({ app }) => {
    const { code = '' } = await authorizeAs(testBrowser(app), authorizePath(), ME)
    return async () => isGood(await redeem(app, code))
  },
  'a browser session at an authorization request': async ({ app }) => {
    const browser = testBrowser(app)
    await authorizeAs(browser, authorizePath(), ME)
    return async () =>
      (await browser.get(authorizePath({ prompt: 'none' }))).headers.location?.includes('code=') ?? false
  },
  'a browser session at the account': async ({ app }) => {
    const browser = testBrowser(app)
    await authorizeAs(browser, authorizePath(), ME)
    return async () => isGood(await browser.get('/auth/account'))
  },
  'an API key': async ({ app, bob }) => {
    const { key } = await app.authority.apiKeys.create({ userId: bob.sub, name: 'x' })
    return async () => {
      try {
        return (await app.authority.apiKeys.verify(key)).userId === bob.sub
      } catch {
        return false
      }
    }
  },
  'a code in the mailbox': async ({ app, messages }) => {
    const browser = testBrowser(app)
    await browser.submit('/auth/email-code', ME)
    const { code } = await messages.next('sign_in_code')
    return async () => {
      await browser.submit('/auth/email-code', { code })
      return isGood(await browser.get('/auth/account'))
    }
  },
  'a link to a new password': async ({ app, bob, messages, byPassword }) => {
    await app.authority.startPasswordReset(bob.sub)
    const { token } = await messages.next('password_reset')
    return async () => {
      await testBrowser(app).submit('/auth/reset-password', { token, password: `${PASSWORD} 2` })
      const payload = { grant_type: 'password', username: BOB, password: `${PASSWORD} 2` }
      return isGood(await app.inject({ method: 'POST', url: '/auth/token', payload })) || isGood(await byPassword(BOB))
    }
  },
  'a device that was allowed': async ({ app, token }) => {
    const asked = (
      await app.inject({ method: 'POST', url: '/auth/device', headers: FORM, payload: 'client_id=tv&scope=profile' })
    ).json()
    const browser = testBrowser(app)
    await authorizeAs(browser, authorizePath(), ME)
    const { user_code } = asked
    const page = await browser.submit('/device', { user_code })
    await browser.submit(formAction(page.body), { user_code, decision: 'allow' })
    return async () => isGood(await token({ grant_type: DEVICE, device_code: asked.device_code, client_id: 'tv' }))
  }
}

/** The acts, and the ways that stay open after them. */
const ACTS: Array<[name: string, method: 'POST' | 'DELETE', path: string, stays: readonly string[]]> = [
  ['disables the user', 'POST', '/disable', []],
  ['requires a new password', 'POST', '/reset', ['an API key', 'a code in the mailbox']],
  ['removes the user', 'DELETE', '', []]
]

// covers ADV-CVE-2025-14559, ADV-GHSA-2vg6
for (const [act, method, path, stays] of ACTS)
  t.test(
    `ends ${stays.length === 0 ? 'all access' : `all access except ${stays.join(' and ')}`} when an administrator ${act}`,
    async (t) => {
      for (const [name, way] of Object.entries(WAYS)) {
        const world = await open(t)
        const enter = await way(world)
        const { statusCode, body } = await world.send(method, `/users/${world.bob.sub}${path}`, world.own)
        t.equal(statusCode, 204, body)
        t.equal(await enter(), stays.includes(name), name)
      }
    }
  )

t.test('accepts the passwords, codes, links, tokens and keys of a user before an administrator acts', async (t) => {
  for (const [name, way] of Object.entries(WAYS)) t.equal(await (await way(await open(t)))(), true, name)
})
