import t from '../support/tap.ts'
import { decodeJwt } from '../support/jwt.ts'
import type { Client } from '../../lib/index.ts'
import { bearer, ISSUER } from '../support/app.ts'
import { formAction } from '../support/browser.ts'
import { authorizeAs, CALLBACK, redeem } from '../support/openid.ts'
import { MAIL, ORDERS, password, path, started, token } from './support/apis.ts'

// covers R8707-2.2
t.test('lets the token request and each refresh choose among the resources of the grant', async (t) => {
  const test = await started(t)
  const scope = 'openid offline_access orders:read mail:read'
  const codeFor = async (resources: string[]): Promise<string> =>
    (await authorizeAs(test.browser, path(resources, { scope }))).code ?? ''
  t.equal((await redeem(test.app, await codeFor([ORDERS, MAIL]))).json().error, 'invalid_target', 'none of several')
  t.equal((await redeem(test.app, await codeFor([ORDERS]), { resource: MAIL })).json().error, 'invalid_target')
  t.equal((await redeem(test.app, await codeFor([]), { resource: MAIL })).json().error, 'invalid_target')

  const first = await redeem(test.app, await codeFor([ORDERS, MAIL]), { resource: `${ORDERS}/` })
  t.equal(first.statusCode, 200)
  t.match(decodeJwt(first.json().access_token).claims, { aud: ORDERS, scope: 'orders:read' })
  t.type(first.json().id_token, 'string')
  let { refresh_token: refreshToken } = first.json()
  const refresh = async (params: Record<string, string>): ReturnType<typeof token> => {
    const answer = await token(test, {
      grant_type: 'refresh_token',
      client_id: 'spa',
      refresh_token: refreshToken,
      ...params
    })
    refreshToken = answer.body.refresh_token ?? refreshToken
    return answer
  }
  const mail = await refresh({ resource: MAIL })
  t.match(mail.claims, { aud: MAIL, scope: 'mail:read' })
  t.type(mail.body.id_token, 'string')
  t.equal((await refresh({})).body.error, 'invalid_target')
  t.equal((await refresh({ resource: 'https://unknown.example.com' })).body.error, 'invalid_target')
  t.match((await refresh({ audience: ORDERS })).claims, { aud: ORDERS, scope: 'orders:read' }, 'the grant lives on')
  const bare = await test.app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(refreshToken) })
  t.same([bare.statusCode, bare.json().error], [400, 'invalid_target'])

  const single = await redeem(test.app, await codeFor([ORDERS]))
  t.match(decodeJwt(single.json().access_token).claims, { aud: ORDERS, scope: 'orders:read' })
  const again = await test.app.inject({
    method: 'POST',
    url: '/auth/refresh',
    headers: bearer(single.json().refresh_token)
  })
  t.match(decodeJwt(again.json().access_token).claims, { aud: ORDERS, scope: 'orders:read' })
  t.equal(again.json().expires_in, 120)
})

t.test("rejects a request for the service's own audience in a grant of an API, and keeps the grant", async (t) => {
  const test = await started(t)
  const { body } = await token(test, { ...password, resource: ORDERS })
  let refreshToken = body.refresh_token ?? ''
  const refresh = async (params: Record<string, string>): ReturnType<typeof token> => {
    const answer = await token(test, {
      grant_type: 'refresh_token',
      client_id: 'spa',
      refresh_token: refreshToken,
      ...params
    })
    refreshToken = answer.body.refresh_token ?? refreshToken
    return answer
  }
  t.equal((await refresh({ resource: ISSUER })).body.error, 'invalid_target')
  t.equal((await refresh({ audience: ISSUER })).body.error, 'invalid_target')
  t.equal((await refresh({})).claims.aud, ORDERS)
  const { code = '' } = await authorizeAs(test.browser, path([ORDERS]))
  t.equal((await redeem(test.app, code, { resource: ISSUER })).json().error, 'invalid_target')

  const own = (await token(test, password)).body
  refreshToken = own.refresh_token ?? ''
  t.equal((await refresh({ resource: ISSUER })).claims.aud, ISSUER, 'a grant without an API')
})

t.test('gives no ID token at a refresh of a password grant that names a resource', async (t) => {
  const test = await started(t)
  const { body } = await token(test, { ...password, resource: ORDERS, scope: 'openid orders:read' })
  const next = await token(test, {
    grant_type: 'refresh_token',
    client_id: 'spa',
    refresh_token: body.refresh_token ?? ''
  })
  t.match(next.claims, { aud: ORDERS, scope: 'orders:read' })
  t.equal(next.body.id_token, undefined)
})

// covers R8707-2.1
t.test('names the API on the consent page, and asks again for another API', async (t) => {
  const test = await started(t, {
    clients: [{ clientId: 'other', redirectUris: [CALLBACK], firstParty: false, name: 'Other' }]
  })
  const ask = async (resource: string) => {
    let { reply, url } = await test.browser.follow(
      await test.browser.get(path([resource], { client_id: 'other', scope: 'openid' }))
    )
    if (url.includes('/auth/login?'))
      ({ reply, url } = await test.browser.follow(
        await test.browser.submit(url, { username: 'ann', password: 'correct horse battery' })
      ))
    return { reply, url }
  }
  const first = await ask(ORDERS)
  t.match(first.reply.body, 'Orders')
  const { reply } = await test.browser.follow(
    await test.browser.submit(formAction(first.reply.body), { decision: 'allow' })
  )
  t.match(reply.headers.location ?? reply.body, 'code=')
  const second = await ask(MAIL)
  t.match(second.url, '/auth/consent')
  t.match(second.reply.body, MAIL)
})

t.test('rejects a refresh while the client may not have tokens for the API, and keeps the grant', async (t) => {
  const client: Client = { clientId: 'spa', grantTypes: ['password', 'refresh_token'], resources: [ORDERS] }
  let row: Client | null = client
  const test = await started(t, { clients: { findById: async (id) => (id === 'spa' ? row : null) } })
  const { body } = await token(test, { ...password, resource: ORDERS })
  let refreshToken = body.refresh_token ?? ''
  const refresh = async (): ReturnType<typeof token> => {
    const answer = await token(test, { grant_type: 'refresh_token', client_id: 'spa', refresh_token: refreshToken })
    refreshToken = answer.body.refresh_token ?? refreshToken
    return answer
  }
  row = { ...client, resources: [] }
  t.equal((await refresh()).body.error, 'invalid_target')
  t.equal((await token(test, { ...password, resource: ORDERS })).body.error, 'invalid_target')
  t.equal((await token(test, password)).claims.aud, ISSUER, 'a token for the service is still there')
  row = client
  t.equal((await refresh()).claims.aud, ORDERS)
})

t.test('drops scopes that the client lost between the code and its redemption', async (t) => {
  const client: Client = { clientId: 'spa', redirectUris: [CALLBACK] }
  let row = client
  const test = await started(t, { clients: { findById: async (id) => (id === 'spa' ? row : null) } })
  for (const [resources, asked, left] of [
    [[ORDERS], 'openid orders:read orders:write', 'orders:read'],
    [[], 'openid profile email', 'openid profile']
  ] as const) {
    row = client
    const { code = '' } = await authorizeAs(test.browser, path([...resources], { scope: asked }))
    row = { ...client, scopes: ['openid', 'profile', 'orders:read'] }
    const { scope, access_token: accessToken } = (await redeem(test.app, code)).json()
    t.same([scope, decodeJwt(accessToken).claims.scope], [left, left])
  }
})
