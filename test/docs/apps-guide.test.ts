/** The snippet of the guide for phones and One Tap, run over a socket. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AddressInfo } from 'node:net'
import t from '../support/tap.ts'
import { TOKEN_EXCHANGE_GRANT } from '../../lib/protocol/request-params.ts'
import { connectApp } from '../http/connect/support.ts'

type Exchange = (given: Record<string, string>) => Promise<{ access_token: string; refresh_token: string }>

t.test('runs the token exchange of the guide, and rejects with the error code of the server', async (t) => {
  const guide = readFileSync(new URL('../../docs/guides/connections/apps.md', import.meta.url), 'utf8')
  const [, code = ''] = /^```js\n([\s\S]*?)^```$/m.exec(guide) ?? []
  const directory = t.testdir({ 'exchange.mjs': `export ${code.slice(code.indexOf('async function'))}` })
  const { exchange } = (await import(pathToFileURL(join(directory, 'exchange.mjs')).href)) as { exchange: Exchange }
  const test = await connectApp(t, {
    connection: { audiences: ['app'] },
    clients: [{ clientId: 'phone', applicationType: 'native', grantTypes: [TOKEN_EXCHANGE_GRANT, 'refresh_token'] }]
  })
  await test.app.listen({ port: 0, host: '127.0.0.1' })
  const authority = `http://127.0.0.1:${(test.app.server.address() as AddressInfo).port}`
  const given = { authority, clientId: 'phone', connection: 'acme', nonce: 'n' }
  const tokens = await exchange({ ...given, idToken: 'good.1.x' })
  t.ok(tokens.access_token && tokens.refresh_token)
  t.equal(
    (await fetch(`${authority}/auth/userinfo`, { headers: { authorization: `Bearer ${tokens.access_token}` } })).status,
    200
  )
  await t.rejects(exchange({ ...given, idToken: 'good.1.x' }), { error: 'invalid_grant', message: /used/ })
  await t.rejects(exchange({ ...given, idToken: 'bad' }), { error: 'invalid_grant', message: /subject_token/ })
  test.fake.down = true
  await t.rejects(exchange({ ...given, idToken: 'good.2.x' }), {
    error: 'temporarily_unavailable',
    message: /provider/
  })
})
