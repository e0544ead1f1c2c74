/** The option `deviceGrant`, and its effects on the metadata and the routes. */
import t from '../../support/tap.ts'
import { ISSUER, testApp } from '../../support/app.ts'
import { type Asked, DEVICE_GRANT, deviceWorld, TV } from './world.ts'

t.test('lists the device endpoint and grant in the metadata only with deviceGrant', async (t) => {
  const metadata = async (options: object) => {
    const { app } = await deviceWorld(t, options)
    return (await app.inject({ url: '/.well-known/oauth-authorization-server' })).json()
  }
  const on = await metadata({})
  t.equal(on.device_authorization_endpoint, `${ISSUER}/auth/device`)
  t.ok(on.grant_types_supported.includes(DEVICE_GRANT))
  const off = await metadata({ deviceGrant: false })
  t.notOk('device_authorization_endpoint' in off)
  t.notOk(off.grant_types_supported.includes(DEVICE_GRANT))
})

t.test('has no endpoint, page or grant without deviceGrant', async (t) => {
  const { app, poll, post } = await deviceWorld(t, { deviceGrant: false })
  t.equal((await post('/auth/device', { client_id: 'tv' })).statusCode, 404)
  t.equal((await app.inject({ url: '/device' })).statusCode, 404)
  t.match((await poll('A'.repeat(59))).json(), { error: 'unsupported_grant_type' })
})

for (const [name, options, path] of [
  ['its page at the device endpoint', { deviceGrant: { path: '/auth/device' } }, 'deviceGrant.path'],
  ['its page at the device endpoint without a prefix', { prefix: '', deviceGrant: true }, 'deviceGrant.path'],
  ['its page at another endpoint', { deviceGrant: { path: '/t' }, paths: { token: '/t' } }, 'deviceGrant.path'],
  ['a path without a slash', { deviceGrant: { path: 'device' } }, 'deviceGrant.path'],
  ['a parameter in the path', { deviceGrant: { path: '/:device' } }, 'deviceGrant.path'],
  ['no pages', { pages: false }, 'deviceGrant'],
  ['an interval of zero', { deviceGrant: { interval: 0 } }, 'deviceGrant.interval'],
  ['a life of a day', { deviceGrant: { expiresIn: 86_400 } }, 'deviceGrant.expiresIn'],
  ['an unknown field', { deviceGrant: { life: 1 } }, 'deviceGrant'],
  ['the value "yes"', { deviceGrant: 'yes' }, 'deviceGrant'],
  ['the value null', { deviceGrant: null }, 'deviceGrant']
] as const)
  t.test(`stops the start if deviceGrant is set with ${name}`, async (t) => {
    await t.rejects(deviceWorld(t, options as object), {
      code: 'FST_AUTHORITY_INVALID_OPTIONS',
      message: new RegExp(path.replace('.', String.raw`\.`))
    })
  })

t.test('serves the page at deviceGrant.path, outside of the prefix', async (t) => {
  const { app, close } = await testApp({ prefix: '/id', clients: [TV], deviceGrant: { path: '/tv/code' } })
  t.teardown(close)
  t.equal((await app.inject({ url: '/tv/code' })).statusCode, 200)
  const asked = await app.inject({ method: 'POST', url: '/id/device', payload: { client_id: 'tv' } })
  t.equal(asked.json<Asked>().verification_uri, `${ISSUER}/tv/code`)
})
