import t from 'tap'
import type { Client } from '../../lib/index.ts'
import { bearer, ISSUER } from '../support/app.ts'
import { formAction } from '../support/browser.ts'
import { answerOf, authorizeAs, authorizePath, basic, CLIENTS, openidApp, type OpenidApp, redeem, SECRET } from '../support/openid.ts'

const THIRD = 'https://third.example/cb'
const NATIVE: Client = { clientId: 'native', name: 'An App', firstParty: false, redirectUris: ['http://127.0.0.1/cb', 'com.example.app:/cb'] }
const thirdPath = (params: Record<string, string | undefined> = {}): string => authorizePath({ client_id: 'third', redirect_uri: THIRD, ...params })

/** Where a request of somebody who is signed in leads: to the consent page, with its HTML, or back to the client. */
async function lead ({ browser }: OpenidApp, path: string): Promise<{ page: string, action: string } | { answer: Record<string, string> }> {
  const { reply, url } = await browser.follow(await browser.get(path))
  return reply.statusCode === 200 && url.startsWith(`${ISSUER}/auth/consent?`) ? { page: reply.body, action: formAction(reply.body) } : { answer: answerOf(url) }
}

/** Presses a button of the consent page and resolves to what the client gets. */
async function decide (subject: OpenidApp, path: string, decision: 'allow' | 'deny'): Promise<Record<string, string>> {
  const asked = await lead(subject, path)
  if (!('action' in asked)) throw new Error(`not asked: ${JSON.stringify(asked)}`)
  const { url } = await subject.browser.follow(await subject.browser.submit(asked.action, { decision }))
  return answerOf(url)
}

t.test('ASVS-10.7.1 somebody else\'s program is asked for at first, again for more, and after a year; the host\'s own never', async (t) => {
  const subject = await openidApp({ session: { expiresIn: 31_536_000, idleTimeout: 31_536_000 } })
  t.teardown(subject.close)
  t.type((await authorizeAs(subject.browser, authorizePath())).code, 'string', 'first party: no page but the sign-in')
  const asks = async (params: Record<string, string | undefined>): Promise<boolean> => 'page' in await lead(subject, thirdPath(params))

  t.match(await decide(subject, thirdPath({ scope: 'openid' }), 'deny'), { error: 'access_denied', state: 'state-1', iss: ISSUER })
  t.equal(await asks({ scope: 'openid' }), true, 'a refusal is not remembered')
  t.type((await decide(subject, thirdPath({ scope: 'openid email' }), 'allow')).code, 'string')
  t.equal(await asks({ scope: 'openid email' }), false, 'an allowance is')
  t.equal(await asks({ scope: 'openid' }), false, 'less than was allowed')
  t.equal(await asks({ scope: 'openid profile' }), true, 'other than was allowed')
  t.equal(await asks({ scope: 'openid', prompt: 'consent' }), true, 'where the client wants it')
  t.match(await lead(subject, thirdPath({ scope: 'openid profile', prompt: 'none' })), { answer: { error: 'consent_required' } })
  subject.clock.step(364 * 86_400_000)
  t.equal(await asks({ scope: 'openid email' }), false)
  subject.clock.step(86_400_000 - 1000)
  await subject.browser.submit('/auth/login', { username: 'ann', password: 'correct horse battery' })
  subject.clock.step(1001)
  t.equal(await asks({ scope: 'openid email' }), true, 'a year later')
})

t.test('ASVS-10.7.1 R8252-8.6 an app that any other can pretend to be is asked for every time', async (t) => {
  const subject = await openidApp({ clients: [...CLIENTS, NATIVE] })
  t.teardown(subject.close)
  await authorizeAs(subject.browser, authorizePath())
  for (const redirectUri of ['http://127.0.0.1:49152/cb', 'com.example.app:/cb']) {
    const path = authorizePath({ client_id: 'native', redirect_uri: redirectUri })
    t.type((await decide(subject, path, 'allow')).code, 'string')
    subject.clock.step(60_001)
    t.ok('page' in await lead(subject, path), redirectUri)
    t.match(await lead(subject, authorizePath({ client_id: 'native', redirect_uri: redirectUri, prompt: 'none' })), { answer: { error: 'consent_required' } })
  }
})

t.test('ASVS-10.7.2 the page says who asks, where the answer goes, for whom, for what, and for how long', async (t) => {
  const subject = await openidApp({ scopes: ['openid', 'profile', 'email', 'offline_access', 'orders:read'] })
  t.teardown(subject.close)
  await authorizeAs(subject.browser, authorizePath())
  const textOf = async (scope: string): Promise<string> => {
    const asked = await lead(subject, thirdPath({ scope, prompt: 'consent' }))
    if (!('page' in asked)) throw new Error('not asked')
    return asked.page.replace(/^[\s\S]*<main/, '<main').replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ')
  }
  const text = await textOf('openid email orders:read')
  for (const said of ['A Third Party', 'third.example', 'ann', 'orders:read', '15 minutes']) t.ok(text.includes(said), `${said} in: ${text}`)
  t.match(text, /e-?mail/i)
  t.notMatch(text, /profile/i, 'what is not asked for is not on it')
  t.ok((await textOf('openid offline_access')).includes('30 days'), 'as long as a refresh token lives')
})

t.test('ASVS-10.7.1 ASVS-8.2.3 what is allowed is what the request asks for now, never what a form or another address says', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const { app, ann, browser } = subject
  await authorizeAs(browser, authorizePath())
  const asked = await lead(subject, thirdPath({ scope: 'openid' }))
  if (!('action' in asked)) throw new Error('not asked')
  await browser.submit(asked.action, { decision: 'allow', scope: 'openid profile email', client_id: 'other', user_id: 'somebody' })
  t.match(await app.authority.consents(ann.sub), [{ clientId: 'third', scopes: ['openid'] }])
  t.ok('page' in await lead(subject, thirdPath({ scope: 'openid email' })))
})

t.test('ASVS-10.7.3 ASVS-10.4.9 a consent that is taken back ends what was given for it, and the next request asks', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const { app, ann, browser } = subject
  await authorizeAs(browser, authorizePath())
  const { code = '' } = await decide(subject, thirdPath({ scope: 'openid offline_access', prompt: 'consent' }), 'allow')
  const tokens = (await redeem(app, code, { client_id: undefined, redirect_uri: THIRD }, basic('third', SECRET))).json()
  t.equal((await app.inject({ url: '/auth/userinfo', headers: bearer(tokens.access_token as string) })).statusCode, 200)
  t.equal(await app.authority.revokeConsent(ann.sub, 'third'), true)
  t.equal(await app.authority.revokeConsent(ann.sub, 'third'), false)
  t.same(await app.authority.consents(ann.sub), [])
  t.equal((await app.inject({ url: '/auth/userinfo', headers: bearer(tokens.access_token as string) })).statusCode, 401)
  const refresh = await app.inject({ method: 'POST', url: '/auth/token', headers: basic('third', SECRET), payload: { grant_type: 'refresh_token', refresh_token: tokens.refresh_token as string } })
  t.equal(refresh.json().error, 'invalid_grant')
  t.ok('page' in await lead(subject, thirdPath({ scope: 'openid' })))
})
