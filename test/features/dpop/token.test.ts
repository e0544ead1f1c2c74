/** Bound tokens at the token endpoint: each grant, with and without a proof. */
import t from '../../support/tap.ts'
import { ISSUER } from '../../support/app.ts'
import { authorizeAs, authorizePath, basic, redeem, SECRET } from '../../support/openid.ts'
import { proofOf, type SigningKey, signingKey, thumbprintOf } from '../resource/world.ts'
import { badProofs, goodProofs } from './proofs.ts'
import { ask, asMachine, asSite, dpopApp, type DpopApp, password, send, TOKEN_URL } from './world.ts'

const claimsOf = (token: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>

const refresh = (token: string, clientId?: string): Record<string, string> => ({
  grant_type: 'refresh_token',
  refresh_token: token,
  ...(clientId === undefined ? {} : { client_id: clientId })
})

/** A code of a public client. */
async function codeOf({ browser }: DpopApp, params: Record<string, string> = {}, clientId = 'app'): Promise<string> {
  const scope = 'openid offline_access'
  const { code = '' } = await authorizeAs(browser, authorizePath({ client_id: clientId, scope, ...params }))
  return code
}

async function redeemed(test: DpopApp, code: string, key: SigningKey | null, clientId = 'app') {
  const proof = key === null ? {} : { dpop: proofOf(key, { clock: test.clock, url: TOKEN_URL, method: 'POST' }) }
  const reply = await redeem(test.app, code, { client_id: clientId }, proof)
  return { status: reply.statusCode, body: reply.json<Record<string, string>>() }
}

// covers R9449-5
t.test('binds the tokens of each grant to the key of the DPoP proof', async (t) => {
  const test = await dpopApp(t)
  for (const alg of ['ES256', 'EdDSA', 'PS256', 'RS256']) {
    const key = signingKey(alg)
    const jkt = thumbprintOf(key)
    const first = await ask(test, password('app'), key)
    const code = await redeemed(test, await codeOf(test), key)
    const answers = {
      password: first,
      code,
      refresh: await ask(test, refresh(first.body.refresh_token, 'app'), key),
      machine: await ask(test, { grant_type: 'client_credentials' }, key, asMachine)
    }
    for (const [grant, { status, body }] of Object.entries(answers)) {
      t.equal(status, 200, `${grant} ${alg}`)
      t.equal(body['token_type'], 'DPoP', `${grant} ${alg}`)
      t.same(claimsOf(body['access_token'] ?? '')['cnf'], { jkt }, `${grant} ${alg}`)
    }
  }
  const plain = await ask(test, password('app'))
  t.equal(plain.body['token_type'], 'Bearer', 'without a proof')
  t.notOk('cnf' in claimsOf(plain.body.access_token))
})

t.test('refuses invalid proofs at the token endpoint, and keeps the code valid', async (t) => {
  const test = await dpopApp(t)
  const key = signingKey()
  const wanted = { clock: test.clock, url: TOKEN_URL, method: 'POST' }
  for (const [name, proof] of Object.entries(goodProofs(key, wanted)))
    t.equal((await ask(test, password('app'), proof)).status, 200, name)
  const code = await codeOf(test)
  for (const [name, proof] of Object.entries(badProofs(key, wanted))) {
    const reply = await redeem(test.app, code, { client_id: 'app' }, { dpop: proof })
    t.same([reply.statusCode, reply.json().error], [400, 'invalid_dpop_proof'], name)
    t.notOk(reply.headers['www-authenticate'], name)
  }
  t.equal((await redeemed(test, code, key)).status, 200, 'the code is good still')
})

t.test('accepts a DPoP proof once, also in fifty parallel requests', async (t) => {
  const test = await dpopApp(t)
  const proof = proofOf(signingKey(), { clock: test.clock, url: TOKEN_URL, method: 'POST' })
  const all = await Promise.all(Array.from({ length: 50 }, async () => await ask(test, password('app'), proof)))
  t.equal(all.filter(({ status }) => status === 200).length, 1)
  t.ok(all.every(({ status, body }) => status === 200 || body['error'] === 'invalid_dpop_proof'))
})

t.test('does not use up the DPoP proof of a request whose client authentication fails', async (t) => {
  const test = await dpopApp(t)
  const proof = proofOf(signingKey(), { clock: test.clock, url: TOKEN_URL, method: 'POST' })
  const grant = { grant_type: 'client_credentials' }
  t.equal((await ask(test, grant, proof, basic('machine', `${SECRET} wrong`))).status, 401)
  t.equal((await ask(test, grant, proof, asMachine)).status, 200)
})

// covers R9449-5.2
t.test('requires a proof in every grant from a client with dpopBoundAccessTokens', async (t) => {
  const test = await dpopApp(t)
  const key = signingKey()
  const bound = await ask(test, password('strict'), key)
  t.equal(bound.status, 200)
  const strictMachine = basic('strictMachine', SECRET)
  const code = await codeOf(test, {}, 'strict')
  const refusals: Record<string, { status: number; body: Record<string, unknown> }> = {
    password: await ask(test, password('strict')),
    code: await redeemed(test, code, null, 'strict'),
    refresh: await ask(test, refresh(bound.body.refresh_token, 'strict')),
    machine: await ask(test, { grant_type: 'client_credentials' }, undefined, strictMachine),
    'a wrong password': await ask(test, { ...password('strict'), password: 'wrong' })
  }
  for (const [grant, { status, body }] of Object.entries(refusals))
    t.same([status, body['error']], [400, 'invalid_dpop_proof'], grant)
  t.equal((await redeemed(test, code, key, 'strict')).status, 200, 'the code is good still')
  t.equal((await ask(test, refresh(bound.body.refresh_token, 'strict'), key)).status, 200)
  t.equal((await ask(test, { grant_type: 'client_credentials' }, key, strictMachine)).status, 200)
  const user = String(claimsOf(bound.body.access_token)['sub'])
  await t.rejects(test.app.authority.issueTokens(user, { clientId: 'strict' }), { message: /DPoP is missing/ })
})

// covers R9449-5
t.test('accepts a bound refresh token of a public client only with a proof of its key', async (t) => {
  for (const rotate of ['oauth', 'always', 'never'] as const) {
    const test = await dpopApp(t, { refreshToken: { rotate }, passwordGrant: 'first-party' })
    const key = signingKey()
    for (const clientId of ['app', undefined]) {
      const what = `${rotate} ${clientId ?? 'without a client'}`
      const first = await ask(test, password(clientId), key)
      const token = first.body.refresh_token
      for (const other of [undefined, signingKey()]) {
        const { status, body } = await ask(test, refresh(token, clientId), other)
        t.same([status, body['error']], [400, 'invalid_grant'], what)
      }
      const here = await test.app.inject({
        method: 'POST',
        url: '/auth/refresh',
        headers: {
          authorization: `Bearer ${token}`,
          dpop: proofOf(key, { clock: test.clock, url: `${ISSUER}/auth/refresh`, method: 'POST' })
        }
      })
      t.same([here.statusCode, here.json().error], [401, 'invalid_token'], what)
      const next = await ask(test, refresh(token, clientId), key)
      t.match(next, { status: 200, body: { token_type: 'DPoP' } }, what)
      t.same(claimsOf(next.body.access_token)['cnf'], { jkt: thumbprintOf(key) }, what)
      const last = next.body.refresh_token ?? token
      t.equal((await ask(test, refresh(last, clientId))).status, 400, `${what}: the next one is bound too`)
      t.equal((await ask(test, refresh(last, clientId), key)).status, 200, what)
    }
  }
})

t.test('repeats the rotation of a bound refresh token only with its key, and ignores replays without it', async (t) => {
  const test = await dpopApp(t, { refreshToken: { rotate: 'always' } })
  const key = signingKey()
  const first = (await ask(test, password('app'), key)).body.refresh_token
  const next = (await ask(test, refresh(first, 'app'), key)).body.refresh_token
  const thief = async () => {
    for (const other of [undefined, signingKey()])
      t.match(await ask(test, refresh(first, 'app'), other), { status: 400, body: { error: 'invalid_grant' } })
    const headers = { authorization: `Bearer ${first}` }
    t.equal((await test.app.inject({ method: 'POST', url: '/auth/refresh', headers })).statusCode, 401)
  }
  await thief()
  t.match(await ask(test, refresh(first, 'app'), key), { status: 200, body: { refresh_token: next } })
  test.clock.step(600_000)
  await thief()
  const last = await ask(test, refresh(next, 'app'), key)
  t.equal(last.status, 200, 'the session of the owner goes on')
  t.equal((await ask(test, refresh(first, 'app'), key)).status, 400, 'a replay with the key ends it')
  t.equal((await ask(test, refresh(last.body.refresh_token, 'app'), key)).status, 400)
})

t.test('binds a refresh token to the key that redeemed the code', async (t) => {
  const test = await dpopApp(t)
  const key = signingKey()
  const { body } = await redeemed(test, await codeOf(test), key)
  const token = String(body['refresh_token'])
  t.match(await ask(test, refresh(token, 'app'), signingKey()), { status: 400, body: { error: 'invalid_grant' } })
  t.match(await ask(test, refresh(token, 'app'), key), { status: 200, body: { token_type: 'DPoP', id_token: String } })
})

t.test('does not bind the refresh tokens of a confidential client to a key', async (t) => {
  const test = await dpopApp(t)
  const first = await ask(test, password(), signingKey(), asSite)
  const other = signingKey()
  const second = await ask(test, refresh(first.body.refresh_token), other, asSite)
  t.match(second, { status: 200, body: { token_type: 'DPoP' } })
  t.same(claimsOf(second.body.access_token)['cnf'], { jkt: thumbprintOf(other) })
  t.match(await ask(test, refresh(second.body.refresh_token), undefined, asSite), {
    status: 200,
    body: { token_type: 'Bearer' }
  })
})

t.test('refreshes a session that began without a DPoP key, with or without a proof', async (t) => {
  const test = await dpopApp(t)
  const first = await ask(test, password('app'))
  const bound = await ask(test, refresh(first.body.refresh_token, 'app'), signingKey())
  t.match(bound, { status: 200, body: { token_type: 'DPoP' } })
  t.match(await ask(test, refresh(bound.body.refresh_token, 'app')), { status: 200, body: { token_type: 'Bearer' } })
})

// covers R9449-10
t.test('redeems a code requested with dpop_jkt only with a proof of that key', async (t) => {
  const test = await dpopApp(t)
  const key = signingKey()
  const asked = { dpop_jkt: thumbprintOf(key) }
  t.equal((await redeemed(test, await codeOf(test, asked), key)).status, 200)
  for (const other of [null, signingKey()])
    t.match(await redeemed(test, await codeOf(test, asked), other), { status: 400, body: { error: 'invalid_grant' } })
  for (const value of ['short', 'x'.repeat(44), `${'x'.repeat(42)}=`, 'x'.repeat(200)])
    t.match(await authorizeAs(test.browser, authorizePath({ client_id: 'app', dpop_jkt: value })), {
      error: 'invalid_request'
    })
  const off = await dpopApp(t, {
    dpop: false,
    clients: [{ clientId: 'app', redirectUris: ['https://app.example/cb'] }]
  })
  t.equal((await redeemed(off, await codeOf(off, asked), null)).status, 200, 'without the option it means nothing')
})

t.test('returns the key of a bound token at introspection, and revokes the token', async (t) => {
  const test = await dpopApp(t)
  const key = signingKey()
  const { body } = await ask(test, password(), key, asSite)
  const look = async (token: string, path: string) =>
    await test.app.inject({ method: 'POST', url: path, headers: asSite, payload: { token } })
  t.match((await look(body.access_token, '/auth/introspect')).json(), {
    active: true,
    token_type: 'DPoP',
    cnf: { jkt: thumbprintOf(key) }
  })
  t.equal((await look(body.access_token, '/auth/revoke')).statusCode, 200)
  t.same((await look(body.access_token, '/auth/introspect')).json(), { active: false })
  const proof = proofOf(key, { clock: test.clock, url: `${ISSUER}/me`, token: body.access_token })
  t.equal((await send(test, '/me', body.access_token, { proof })).statusCode, 401)
})
