import Fastify from 'fastify'
import t from '../../support/tap.ts'
import authPlugin, { type AuthorityOptions, memoryState, memoryUserStore } from '../../../lib/index.ts'
import { ISSUER } from '../../support/app.ts'
import { signingKey } from '../resource/world.ts'
import { basic, SECRET } from '../../support/openid.ts'
import { ask, DPOP_CLIENTS, dpopApp } from './world.ts'

async function start(options: Partial<AuthorityOptions>): Promise<void> {
  const app = Fastify()
  await app.register(authPlugin, { issuer: ISSUER, users: memoryUserStore(), ...options })
  await app.close()
}

t.test('stops the start for an invalid DPoP option, and names the option', async (t) => {
  const { assertions: _none, ...state } = memoryState()
  const rows: Array<[Partial<AuthorityOptions>, RegExp]> = [
    [{ dpop: 'yes' as never }, /dpop/],
    [{ dpop: { maxAgeSeconds: 5 } }, /dpop\.maxAgeSeconds/],
    [{ dpop: { requireNonces: true } as never }, /dpop/],
    [{ dpop: { requireNonce: true } }, /secret/],
    [{ dpop: true, state }, /state\.assertions/],
    [{ clients: [{ clientId: 'a', dpopBoundAccessTokens: true }] }, /clients\[0\]\.dpopBoundAccessTokens/]
  ]
  for (const [options, message] of rows)
    await t.rejects(start(options), { code: 'FST_AUTHORITY_INVALID_OPTIONS', message }, String(message))
})

t.test('lists the DPoP algorithms in the metadata when dpop is on', async (t) => {
  const { app } = await dpopApp(t, { dpop: { maxAgeSeconds: 30 } })
  const { dpop_signing_alg_values_supported: algs } = (
    await app.inject('/.well-known/oauth-authorization-server')
  ).json()
  t.same(algs, ['ES256', 'EdDSA', 'PS256', 'RS256'])
})

t.test('refuses a stored client with dpopBoundAccessTokens when dpop is off', async (t) => {
  const clients = {
    findById: async (id: string) => DPOP_CLIENTS.find(({ clientId }) => clientId === id) ?? null
  }
  const grant = { grant_type: 'client_credentials' }
  const strict = basic('strictMachine', SECRET)
  const on = await dpopApp(t, { clients })
  t.equal((await ask(on, grant, signingKey(), strict)).status, 200)
  const off = await dpopApp(t, { clients, dpop: false })
  t.not((await ask(off, grant, signingKey(), strict)).status, 200)
})
