import t from '../support/tap.ts'
import type { Client } from '../../lib/index.ts'
import { sessionAs } from '../../lib/testing/index.ts'
import { bearer, signIn } from '../support/app.ts'
import { answerOf, authorizeAs, authorizePath, CALLBACK, type OpenidApp, openidApp, redeem } from '../support/openid.ts'

/** Gives the browser a session that the host made without `amr`. */
async function sessionOf({ app, ann, browser }: Pick<OpenidApp, 'app' | 'ann' | 'browser'>): Promise<void> {
  const { cookie } = await sessionAs(app, { id: ann.sub })
  const at = cookie.indexOf('=')
  browser.cookies.set(cookie.slice(0, at), cookie.slice(at + 1))
}

// covers SU-04
t.test('issues no tokens after a weaker sign-in to a client with a required acr', async (t) => {
  const spa: Client = {
    clientId: 'spa',
    redirectUris: [CALLBACK],
    grantTypes: ['authorization_code', 'refresh_token', 'password'],
    acr: 'password'
  }
  const subject = await openidApp({
    clients: [spa, { ...spa, clientId: 'any', acr: undefined }],
    scopes: ['openid', 'offline_access', 'profile', 'email']
  })
  t.teardown(subject.close)
  const { app, browser, ann } = subject
  const silent = async (params: Record<string, string>) =>
    answerOf(String((await browser.get(authorizePath({ prompt: 'none', ...params }))).headers.location))
  await sessionOf(subject)
  t.match(await silent({ client_id: 'any' }), { code: /./ }, 'another client is content')
  const edited: Array<Record<string, string>> = [
    {},
    { acr_values: '' },
    { acr_values: '1' },
    { acr_values: 'email' },
    { acr_values: 'password' },
    { claims: '{"id_token":{"acr":{"value":"email"}}}' },
    { max_age: '100000' }
  ]
  for (const params of edited) t.match(await silent(params), { error: 'login_required' }, JSON.stringify(params))
  t.match(await silent({ claims: '{"id_token":{"acr":{"essential":true,"value":"email"}}}' }), {
    error: 'unmet_authentication_requirements'
  })
  t.match((await browser.follow(await browser.get(authorizePath()))).url, /\/auth\/login\?/)
  const refusedByHost = { error: 'unmet_authentication_requirements', statusCode: 400 } as unknown as Error
  await t.rejects(app.authority.issueTokens(ann.sub, { clientId: 'spa' }), refusedByHost)
  await t.rejects(app.authority.issueTokens(ann.sub, { clientId: 'spa', amr: ['otp'] }), refusedByHost)
  t.match(await app.authority.sessions(ann.sub), { length: 1 }, 'nothing is left but the session of the browser')
  t.ok(await app.authority.issueTokens(ann.sub, { clientId: 'spa', amr: ['pwd'] }))
  t.ok(await signIn(app, 'ann', undefined, { client_id: 'spa' }), 'a password grant')
  const { code = '' } = await authorizeAs(browser, authorizePath())
  t.match((await redeem(app, code)).json(), { access_token: /./ }, 'a sign-in on the page')
})

t.test('suspends refresh tokens and voids codes when a stored client requires a stronger acr', async (t) => {
  const row: { acr: string | null } = { acr: null }
  const findById = async (clientId: string) =>
    clientId === 'spa' ? ({ clientId, redirectUris: [CALLBACK], ...row } as Client) : null
  const subject = await openidApp({ clients: { findById } })
  t.teardown(subject.close)
  const { app, browser, ann } = subject
  await sessionOf(subject)
  const { refresh_token: refresh = '' } = await app.authority.issueTokens(ann.sub, { clientId: 'spa' })
  const renew = async (): Promise<unknown[]> => {
    const own = await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(refresh) })
    return [own.statusCode, own.json().error]
  }
  const grant = async (token: string) =>
    await app.inject({
      method: 'POST',
      url: '/auth/token',
      payload: { grant_type: 'refresh_token', client_id: 'spa', refresh_token: token }
    })
  const { code = '' } = await authorizeAs(browser, authorizePath())
  t.strictSame(await renew(), [200, undefined])
  row.acr = 'password'
  t.strictSame(await renew(), [401, 'invalid_token'])
  t.match((await grant(refresh)).json(), { error: 'invalid_grant' })
  t.match((await redeem(app, code)).json(), { error: 'unmet_authentication_requirements' })
  row.acr = null
  t.strictSame(await renew(), [200, undefined], 'a refusal uses no token up')
  t.match((await grant(refresh)).json(), { access_token: /./ })
  t.match((await redeem(app, code)).json(), { error: 'invalid_grant' }, 'a code works once')
  for (const acr of ['mfa', 'phr', '', 1, ['password']]) {
    row.acr = acr as string
    t.equal(
      (await browser.get(authorizePath())).statusCode,
      400,
      `a row with what can never be given is an unknown client: ${JSON.stringify(acr)}`
    )
  }
})
