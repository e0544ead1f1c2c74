/** A second factor that a client or its API asks for, and what goes with an account that has one. */
import t from 'tap'
import { memoryUserStore, type Client } from '../../../lib/index.ts'
import { bearer, PASSWORD } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { factorApp, formOf, logIn } from '../../support/factors.ts'
import { answerOf, authorizePath, CALLBACK } from '../../support/openid.ts'

const MFA = 'urn:fastify-authority:grant-type:mfa'
const CLIENTS: Client[] = [{ clientId: 'spa', redirectUris: [CALLBACK] }, { clientId: 'bank', redirectUris: [CALLBACK], acr: 'mfa' }]

t.test('nobody is sent round for a second factor that they do not have', async (t) => {
  const { app } = await factorApp(t, { clients: CLIENTS }, { enrolled: false })
  for (const params of [{ acr_values: 'mfa' }, { client_id: 'bank' }, { claims: '{"id_token":{"acr":{"essential":true,"value":"mfa"}}}' }]) {
    const browser = testBrowser(app)
    const { url } = await browser.follow(await browser.get(authorizePath(params)))
    t.match(url, /\/auth\/login\?/, 'who they are is asked first')
    const { reply } = await browser.follow(await logIn(browser, 'ann', PASSWORD, url.slice(url.indexOf('?'))))
    t.match(answerOf(String(reply.headers.location)), { error: 'unmet_authentication_requirements' }, JSON.stringify(params))
    t.match(answerOf(String((await browser.get(authorizePath(params))).headers.location)), { error: 'unmet_authentication_requirements' }, 'and who is signed in already')
  }
})

t.test('whoever has one is asked for it, and the tokens say so', async (t) => {
  const subject = await factorApp(t, { clients: CLIENTS })
  for (const params of [{ acr_values: 'mfa' }, { client_id: 'bank' }]) {
    const browser = testBrowser(subject.app)
    const { url } = await browser.follow(await browser.get(authorizePath(params)))
    const asked = await logIn(browser, 'ann', PASSWORD, url.slice(url.indexOf('?')))
    t.match(asked.headers.location, /^\/auth\/second-factor\?/)
    const page = await browser.get(String(asked.headers.location))
    const done = await browser.follow(await browser.submit(formOf(page.body).action, { code: subject.code() }))
    t.match(answerOf(String(done.reply.headers.location)), { code: /./ }, JSON.stringify(params))
    subject.clock.step(30_000)
  }
})

t.test('where factors can not be read, that is said, and nobody is taken for one without', async (t) => {
  const subject = await factorApp(t, { clients: CLIENTS }, { enrolled: false })
  const browser = testBrowser(subject.app)
  await logIn(browser)
  subject.broken.add('findFactors')
  t.match(answerOf(String((await browser.get(authorizePath({ acr_values: 'mfa' }))).headers.location)), { error: 'temporarily_unavailable' })
})

t.test('the factors of a removed account go with it, and not before', async (t) => {
  const users = memoryUserStore()
  const down = { remove: true }
  const subject = await factorApp(t, { users: { ...users, async remove (id) { if (down.remove) throw Object.assign(new Error('the server is gone'), { code: 'ECONNREFUSED' }); await users.remove(id) } } })
  const { app, store, sub } = subject
  const token = async (payload: Record<string, string>) => (await app.inject({ method: 'POST', url: '/auth/token', payload })).json<{ mfa_token: string, access_token: string, error: string }>()
  const { mfa_token: ticket } = await token({ grant_type: 'password', username: 'ann', password: PASSWORD })
  const { access_token: access } = await token({ grant_type: MFA, mfa_token: ticket, otp: subject.code() })
  const remove = async () => await app.inject({ method: 'DELETE', url: '/auth/account', headers: bearer(access) })
  t.equal((await remove()).statusCode, 503)
  t.equal((await store.findFactors(sub)).totp.length, 1, 'an account that is still there keeps them')
  down.remove = false
  t.equal((await remove()).statusCode, 204)
  t.same((await store.findFactors(sub)).totp, [])
  t.same((await store.findFactors(sub)).recoveryCodesLeft, 0)
})
