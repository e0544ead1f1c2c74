/** A user with a second factor is asked for it after an exchange of an ID token too. */
import t from '../../support/tap.ts'
import { memoryFactorStore, memoryUserStore } from '../../../lib/index.ts'
import { TOKEN_EXCHANGE_GRANT } from '../../../lib/protocol/request-params.ts'
import { decodeJwt } from '../../support/jwt.ts'
import { codeFor, enrol } from '../../support/factors.ts'
import { KEYS } from '../../support/openid.ts'
import { connectApp } from '../../http/connect/support.ts'

const MFA = 'urn:fastify-authority:grant-type:mfa'

// covers SF-01 FED-25
t.test('exchanges the ID token of a user with a second factor for an mfa_token, then for tokens', async (t) => {
  const users = memoryUserStore()
  const test = await connectApp(t, {
    users,
    keys: KEYS,
    factors: memoryFactorStore(),
    passwordGrant: false,
    connection: { audiences: ['app'] },
    clients: [
      { clientId: 'phone', grantTypes: [TOKEN_EXCHANGE_GRANT] },
      { clientId: 'other', grantTypes: [TOKEN_EXCHANGE_GRANT] },
      // ID tokens are made where a client may use codes.
      { clientId: 'web', redirectUris: ['https://web.example/back'] },
      { clientId: 'former', clientSecret: 'the secret of a server with more than 32 bytes', grantTypes: ['password'] }
    ]
  })
  const token = async (payload: Record<string, string>) =>
    await test.app.inject({ method: 'POST', url: '/auth/token', payload: { client_id: 'phone', ...payload } })
  const exchange = async (name: string, more = {}) =>
    await token({
      grant_type: TOKEN_EXCHANGE_GRANT,
      connection: 'acme',
      nonce: 'n',
      subject_token: `good.${name}.x`,
      subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
      scope: 'openid',
      ...more
    })
  t.equal((await test.through()).statusCode, 303)
  const sub = (await test.who()) ?? ''
  const { secret } = await enrol(test, test.browser)
  test.clock.step(30_000)
  const before = (await test.app.authority.sessions(sub)).length

  const asked = await exchange('1')
  t.equal(asked.statusCode, 400)
  const { mfa_token: ticket, ...rest } = asked.json<{ mfa_token: string }>()
  t.strictSame(rest, {
    error: 'mfa_required',
    error_description: 'A second factor is needed.',
    methods: ['totp', 'recovery_code']
  })
  t.equal((await test.app.authority.sessions(sub)).length, before, 'no family')
  t.match(test.payloads('second_factor_required'), [{ userId: sub, clientId: 'phone' }])
  t.match((await exchange('1')).json(), { error: 'invalid_grant' }, 'the ID token is used up')
  t.match(
    (
      await token({ grant_type: MFA, mfa_token: ticket, otp: codeFor(secret, test.clock.now()), client_id: 'other' })
    ).json(),
    { error: 'invalid_grant' },
    'by the client that began'
  )
  t.match(
    (
      await token({
        grant_type: MFA,
        mfa_token: ticket,
        otp: codeFor(secret, test.clock.now()),
        client_id: 'former',
        client_secret: 'the secret of a server with more than 32 bytes'
      })
    ).json(),
    { error: 'invalid_grant' }
  )
  t.match((await token({ grant_type: MFA, mfa_token: ticket, otp: '000000' })).json(), { error: 'invalid_grant' })
  const done = await token({ grant_type: MFA, mfa_token: ticket, otp: codeFor(secret, test.clock.now()) })
  t.equal(done.statusCode, 200, done.body)
  t.match(done.json(), { issued_token_type: 'urn:ietf:params:oauth:token-type:access_token' })
  t.match(decodeJwt(done.json<{ id_token: string }>().id_token).claims, { sub, aud: 'phone', nonce: 'n' })
  t.match(decodeJwt(done.json<{ access_token: string }>().access_token).claims, { sub, client_id: 'phone', acr: 'mfa' })
  t.match(test.payloads('authenticated').at(-1), {
    userId: sub,
    clientId: 'phone',
    method: 'connection',
    connection: 'acme',
    methods: ['connection', 'otp']
  })

  // Removing a link ends its ticket. A password is another way to sign in.
  await users.setPasswordHash?.(sub, await test.app.authority.hashPassword('another way in, for later'))
  test.clock.step(30_000)
  const { mfa_token: late } = (await exchange('2')).json<{ mfa_token: string }>()
  const [link] = await test.app.authority.identities(sub)
  t.equal(await test.app.authority.unlinkIdentity(sub, link?.id ?? ''), 'unlinked')
  t.match((await token({ grant_type: MFA, mfa_token: late, otp: codeFor(secret, test.clock.now()) })).json(), {
    error: 'invalid_grant'
  })
})

t.test('rejects the second step of a client that lost the token exchange grant', async (t) => {
  const clients = new Map([
    [
      'phone',
      {
        clientId: 'phone',
        grantTypes: [TOKEN_EXCHANGE_GRANT, 'password'] as Array<typeof TOKEN_EXCHANGE_GRANT | 'password'>
      }
    ]
  ])
  const test = await connectApp(t, {
    factors: memoryFactorStore(),
    connection: { audiences: ['app'] },
    clients: { findById: async (id) => clients.get(id) ?? null }
  })
  await test.through()
  const { secret } = await enrol(test, test.browser)
  test.clock.step(30_000)
  const payload = {
    grant_type: TOKEN_EXCHANGE_GRANT,
    client_id: 'phone',
    connection: 'acme',
    nonce: 'n',
    subject_token: 'good.1.x',
    subject_token_type: 'urn:ietf:params:oauth:token-type:id_token'
  }
  const { mfa_token: ticket } = (await test.app.inject({ method: 'POST', url: '/auth/token', payload })).json<{
    mfa_token: string
  }>()
  clients.set('phone', { clientId: 'phone', grantTypes: ['password'] })
  t.match(
    (
      await test.app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: MFA, client_id: 'phone', mfa_token: ticket, otp: codeFor(secret, test.clock.now()) }
      })
    ).json(),
    { error: 'unauthorized_client' }
  )
})
