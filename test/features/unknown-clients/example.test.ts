import t from '../../support/tap.ts'
import { mcpApp } from '../../../examples/mcp/app.ts'
import { fastHasher } from '../../../lib/testing/index.ts'
import { bearer, ISSUER, signUp } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { answerOf, KEYS, redeem } from '../../support/openid.ts'
import { AGENT, APP_SECRET, open, press, requestOf } from './world.ts'

t.test('lets a registered agent call a tool of the MCP example, and demands more scope for another', async (t) => {
  const app = await mcpApp({
    issuer: ISSUER,
    secret: APP_SECRET,
    keys: KEYS,
    rateLimit: false,
    registration: { username: 'any' },
    password: { hasher: fastHasher() }
  })
  t.teardown(async () => {
    await app.close()
  })
  await signUp(app)
  const browser = testBrowser(app)
  const call = async (token: string, name: string, args: object = {}) =>
    await app.inject({
      method: 'POST',
      url: '/mcp',
      headers: token === '' ? {} : bearer(token),
      payload: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }
    })
  const refused = await call('', 'list_notes')
  t.equal(refused.statusCode, 401)
  t.match(refused.headers['www-authenticate'], /^Bearer resource_metadata="[^"]+", scope="notes:read"$/)
  const body = { client_name: 'Agent', redirect_uris: [AGENT], grant_types: ['authorization_code', 'refresh_token'] }
  const { client_id: id } = (await app.inject({ method: 'POST', url: '/auth/clients', payload: body })).json()
  const tokenFor = async (scope: string): Promise<string> => {
    const { reply } = await open(browser, requestOf(id, { scope, resource: `${ISSUER}/mcp` }))
    const { code = '' } = answerOf((await press(browser, reply.body)).url)
    const redeemed = await redeem(app, code, { client_id: id, redirect_uri: AGENT, resource: `${ISSUER}/mcp` })
    t.equal(redeemed.json().scope, scope)
    return redeemed.json().access_token
  }
  const token = await tokenFor('notes:read')
  t.same((await call(token, 'list_notes')).json().result.content, [{ type: 'text', text: '' }])
  const less = await call(token, 'add_note', { text: 'milk' })
  t.equal(less.statusCode, 403)
  t.match(less.headers['www-authenticate'], /error="insufficient_scope".*scope="notes:read notes:write"/)
  const more = await tokenFor('notes:read notes:write')
  t.same((await call(more, 'add_note', { text: 'milk' })).json().result.content, [{ type: 'text', text: 'added' }])
  t.same((await call(more, 'list_notes')).json().result.content, [{ type: 'text', text: 'milk' }])
})
