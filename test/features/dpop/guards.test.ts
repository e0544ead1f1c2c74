/** One table of proofs over every guard and endpoint that takes an access token. */
import t from '../../support/tap.ts'
import { ISSUER } from '../../support/app.ts'
import { proofOf, RESOURCE, signingKey } from '../resource/world.ts'
import { badProofs, goodProofs } from './proofs.ts'
import { ask, dpopApp, ORDERS, password, send } from './world.ts'

/** The guards, each with a path, the URL of its proofs, and parameters of the token request. */
const GUARDS: Record<string, { path: string; url: string; asked?: Record<string, string> }> = {
  'app.authenticate': { path: '/me', url: `${ISSUER}/me` },
  'app.authenticateOptional': { path: '/maybe', url: `${ISSUER}/maybe` },
  'app.requireUser': { path: '/user', url: `${ISSUER}/user` },
  'app.protectedResource': { path: '/v1/orders', url: ORDERS, asked: { resource: RESOURCE } },
  userinfo: { path: '/auth/userinfo', url: `${ISSUER}/auth/userinfo` },
  'an endpoint of the account': { path: '/auth/sessions', url: `${ISSUER}/auth/sessions` }
}

for (const [name, { path, url, asked = {} }] of Object.entries(GUARDS)) {
  // covers R9449-4.3, R9449-7
  t.test(`${name}: accepts a DPoP-bound token only with a fresh proof of its key`, async (t) => {
    const test = await dpopApp(t)
    const { clock } = test
    const key = signingKey()
    const tokens = await ask(test, password('app', asked), key)
    t.equal(tokens.body['token_type'], 'DPoP')
    const { access_token: token } = tokens.body
    const wanted = { clock, url, token }
    for (const [proof, text] of Object.entries(goodProofs(key, wanted)))
      t.equal((await send(test, path, token, { proof: text })).statusCode, 200, proof)
    t.equal((await send(test, path, token, { proof: proofOf(key, wanted), scheme: 'dpop' })).statusCode, 200, 'scheme')

    for (const [proof, text] of Object.entries(badProofs(key, wanted))) {
      const { statusCode, headers } = await send(test, path, token, { proof: text })
      t.equal(statusCode, 401, proof)
      t.match(headers['www-authenticate'], /^Bearer.*, DPoP error="invalid_dpop_proof", .*algs="ES256 EdDSA/, proof)
    }
    const refused = async (value: string, sent: Parameters<typeof send>[3], challenge: RegExp, what: string) => {
      const { statusCode, headers } = await send(test, path, value, sent)
      t.equal(statusCode, 401, what)
      t.match(headers['www-authenticate'], challenge, what)
    }
    await refused(token, {}, /DPoP error="invalid_dpop_proof"/, 'no proof')
    await refused(token, { proof: proofOf(signingKey(), wanted) }, /DPoP error="invalid_dpop_proof"/, 'another key')
    const downgrade = { proof: proofOf(key, wanted), scheme: 'Bearer' }
    await refused(token, downgrade, /^Bearer error="invalid_token".*, DPoP algs="ES256/, 'a bound token as Bearer')
    await refused(token, { scheme: 'Bearer' }, /^Bearer error="invalid_token"/, 'without a proof')
    const plain = (await ask(test, password('app', asked))).body.access_token
    const unbound = { proof: proofOf(key, { ...wanted, token: plain }) }
    await refused(plain, unbound, /, DPoP error="invalid_token".*algs=/, 'an unbound token as DPoP')
    t.equal((await send(test, path, plain, { scheme: 'Bearer' })).statusCode, 200, 'an unbound token as Bearer')
    await refused('x.y.z', { proof: proofOf(key, wanted) }, /DPoP error="invalid_token"/, 'no token')
    clock.step(3_600_000)
    await refused(token, { proof: proofOf(key, wanted) }, /DPoP error="invalid_token"/, 'an expired token')
  })

  // covers R9449-11.1
  t.test(`${name}: accepts a DPoP proof once, also in fifty parallel requests`, async (t) => {
    const test = await dpopApp(t)
    const key = signingKey()
    const { access_token: token } = (await ask(test, password('app', asked), key)).body
    const ahead = { payload: { iat: Math.floor(test.clock.now() / 1000) + 60, jti: 'one' } }
    const proof = proofOf(key, { clock: test.clock, url, token }, ahead)
    const status = async () => (await send(test, path, token, { proof })).statusCode
    const all = await Promise.all(Array.from({ length: 50 }, status))
    t.equal(all.filter((one) => one === 200).length, 1)
    t.equal(all.filter((one) => one === 401).length, 49)
    for (let seconds = 0; seconds < 130; seconds += 10) {
      test.clock.step(10_000)
      t.equal(await status(), 401, `${seconds + 10} seconds later`)
    }
    const other = signingKey()
    const second = (await ask(test, password('app', asked), other)).body.access_token
    const same = proofOf(other, { clock: test.clock, url, token: second }, { payload: { jti: 'one' } })
    t.equal((await send(test, path, second, { proof: same })).statusCode, 200, 'the id of another key is free')
  })
}

t.test('names both Bearer and DPoP in the challenge to a request without a token', async (t) => {
  const { app } = await dpopApp(t)
  for (const url of ['/me', '/user', '/auth/userinfo', '/auth/sessions']) {
    const { headers } = await app.inject({ url, headers: { 'sec-fetch-site': 'same-origin', host: 'localhost:3000' } })
    t.equal(headers['www-authenticate'], 'Bearer, DPoP algs="ES256 EdDSA PS256 RS256"', url)
  }
  t.match(
    (await app.inject('/v1/orders')).headers['www-authenticate'],
    /^Bearer resource_metadata=.*, DPoP algs="ES256/
  )
  t.same((await app.inject('/.well-known/oauth-protected-resource/v1')).json().dpop_signing_alg_values_supported, [
    'ES256',
    'EdDSA',
    'PS256',
    'RS256'
  ])
})

t.test('reports insufficient_scope in the challenge of the scheme that the request used', async (t) => {
  const test = await dpopApp(t)
  const key = signingKey()
  const admin = (await ask(test, password('app'), key)).body.access_token
  const proof = proofOf(key, { clock: test.clock, url: `${ISSUER}/admin`, token: admin })
  const reply = await send(test, '/admin', admin, { proof })
  t.equal(reply.statusCode, 403)
  t.match(reply.headers['www-authenticate'], /^Bearer, DPoP error="insufficient_scope", scope="admin", algs=/)
  const { access_token: token } = (await ask(test, password('app', { resource: RESOURCE, scope: 'orders:read' }), key))
    .body
  const post = proofOf(key, { clock: test.clock, url: ORDERS, token, method: 'POST' })
  const refused = await send(test, '/v1/orders', token, { proof: post, method: 'POST' })
  t.equal(refused.statusCode, 403)
  t.match(refused.headers['www-authenticate'], /^Bearer resource_metadata=.*, DPoP error="insufficient_scope"/)
})

t.test('refuses a bound token in app.authority.verify and in a form body', async (t) => {
  const test = await dpopApp(t)
  const key = signingKey()
  const { access_token: token } = (await ask(test, password('app'), key)).body
  await t.rejects(test.app.authority.verify(token), { message: /bound|scheme/ })
  await t.rejects(test.app.authority.verify(`DPoP ${token}`), { message: /bound|scheme/ })
  const form = async (headers: Record<string, string>) =>
    await test.app.inject({
      method: 'POST',
      url: '/auth/userinfo',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      payload: new URLSearchParams({ access_token: token }).toString()
    })
  const proof = proofOf(key, { clock: test.clock, url: `${ISSUER}/auth/userinfo`, token, method: 'POST' })
  t.equal((await form({ dpop: proof })).statusCode, 401)
  t.equal((await form({ dpop: proof, authorization: `DPoP ${token}` })).statusCode, 400, 'two ways at once')
})

t.test('refuses bound tokens and ignores proofs after dpop was turned off', async (t) => {
  const test = await dpopApp(t)
  const key = signingKey()
  const { access_token: token } = (await ask(test, password('app'), key)).body
  const off = await dpopApp(t, { dpop: false, clients: [], passwordGrant: 'first-party' })
  off.clock.step(test.clock.now() - off.clock.now())
  const proof = proofOf(key, { clock: off.clock, url: `${ISSUER}/me`, token })
  for (const scheme of ['Bearer', 'DPoP']) {
    const { statusCode, headers } = await send(off, '/me', token, { proof, scheme })
    t.equal(statusCode, 401, scheme)
    t.notMatch(headers['www-authenticate'], /DPoP algs/, scheme)
  }
  const plain = await ask(off, password(), 'no proof at all')
  t.match(plain, { status: 200, body: { token_type: 'Bearer' } })
  t.equal((await send(off, '/me', plain.body.access_token, { scheme: 'Bearer' })).statusCode, 200)
  t.same(
    'dpop_signing_alg_values_supported' in
      (await off.app.inject('/.well-known/oauth-authorization-server')).json<object>(),
    false
  )
})
