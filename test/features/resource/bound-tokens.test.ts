import t from '../../support/tap.ts'
import { proofReader } from '../../../lib/protocol/dpop.ts'
import { steppedClock } from '../../../lib/testing/index.ts'
import { proofOf, signingKey, testWorld as world, thumbprintOf } from './world.ts'

t.test('takes a bound token with a new proof of its key, and no other way', async (t) => {
  const { issuer, get } = await world(t)
  const { clock } = issuer
  const key = signingKey()
  const url = 'https://api.example.com/v1/orders'
  const bound = issuer.token({ cnf: { jkt: thumbprintOf(key) } })
  const usual = { clock, url, token: bound }
  const send = async (proof: string | undefined, token = bound, scheme = 'DPoP') =>
    await get(`${scheme} ${token}`, proof === undefined ? {} : { dpop: proof })
  const now = Math.floor(clock.now() / 1000)

  const good: Record<string, string> = {
    usual: proofOf(key, usual),
    'an old iat': proofOf(key, usual, { payload: { iat: now - 60 } }),
    'an iat ahead': proofOf(key, usual, { payload: { iat: now + 60 } }),
    'nbf and exp': proofOf(key, usual, { payload: { nbf: now, exp: now + 60 } }),
    'unknown members': proofOf(key, usual, { payload: { more: true }, header: { more: 1 } }),
    'a host in capitals': proofOf(key, { ...usual, url: 'https://API.example.com/v1/orders' }),
    'the default port': proofOf(key, { ...usual, url: 'https://api.example.com:443/v1/orders' }),
    'query and fragment': proofOf(key, { ...usual, url: `${url}?a=1#b` })
  }
  for (const [name, proof] of Object.entries(good)) t.equal((await send(proof)).statusCode, 200, name)
  t.equal((await send(proofOf(key, usual), bound, 'dpop')).statusCode, 200, 'scheme in small letters')

  const other = signingKey()
  const plain = issuer.token()
  const bad: Record<string, [proof: string | undefined, token?: string, scheme?: string]> = {
    'no proof': [undefined],
    'two proofs': [`${proofOf(key, usual)}, ${proofOf(key, usual)}`],
    'a bound token as Bearer': [proofOf(key, usual), bound, 'Bearer'],
    'an unbound token as DPoP': [proofOf(key, { ...usual, token: plain }), plain],
    'another key': [proofOf(other, usual)],
    'no typ': [proofOf(key, usual, { header: { typ: undefined } })],
    'another typ': [proofOf(key, usual, { header: { typ: 'JWT' } })],
    'alg none': [proofOf(key, usual, { header: { alg: 'none' } })],
    'a symmetric alg': [proofOf(key, usual, { header: { alg: 'HS256' } })],
    'another alg': [proofOf(key, usual, { header: { alg: 'RS256' } })],
    'a private key': [proofOf(key, usual, { header: { jwk: key.privateKey.export({ format: 'jwk' }) } })],
    'a key in the header that did not sign': [proofOf(other, usual, { header: { jwk: key.jwk } })],
    'no key': [proofOf(key, usual, { header: { jwk: undefined } })],
    'another method': [proofOf(key, { ...usual, method: 'PUT' })],
    'a method in small letters': [proofOf(key, { ...usual, method: 'get' })],
    'another path': [proofOf(key, { ...usual, url: 'https://api.example.com/v1/other' })],
    'another host': [proofOf(key, { ...usual, url: 'https://evil.example/v1/orders' })],
    'the host of the request': [proofOf(key, { ...usual, url: 'http://localhost:80/v1/orders' })],
    'an hour ago': [proofOf(key, usual, { payload: { iat: now - 3600 } })],
    'in an hour': [proofOf(key, usual, { payload: { iat: now + 3600 } })],
    'no ath': [proofOf(key, { clock, url })],
    'ath of another token': [proofOf(key, { ...usual, token: plain })],
    'a jti of 300 bytes': [proofOf(key, usual, { payload: { jti: 'x'.repeat(300) } })],
    'a proof of 5,000 bytes': [proofOf(key, usual, { payload: { more: 'x'.repeat(5000) } })],
    'an expired proof': [proofOf(key, usual, { payload: { exp: now - 120 } })],
    ...Object.fromEntries(
      ['jti', 'htm', 'htu', 'iat'].map((name) => [
        `no ${name}`,
        [proofOf(key, usual, { payload: { [name]: undefined } })]
      ])
    )
  }
  for (const [name, [proof, token, scheme]] of Object.entries(bad)) {
    const { statusCode, headers } = await send(proof, token, scheme)
    t.equal(statusCode, 401, name)
    const challenge = String(headers['www-authenticate'])
    t.match(challenge, /^Bearer /, name)
    if (scheme !== 'Bearer') t.match(challenge, /, DPoP error="invalid_(?:dpop_proof|token)", .*algs="ES256 /, name)
  }
})

t.test('lets one of fifty uses of a proof through', async (t) => {
  const { issuer, get } = await world(t)
  const key = signingKey()
  const token = issuer.token({ cnf: { jkt: thumbprintOf(key) } })
  const { clock } = issuer
  const ahead = { payload: { iat: Math.floor(clock.now() / 1000) + 60 } }
  const proof = proofOf(key, { clock, url: 'https://api.example.com/v1/orders', token }, ahead)
  const send = async () => (await get(`DPoP ${token}`, { dpop: proof })).statusCode
  const all = await Promise.all(Array.from({ length: 50 }, send))
  t.equal(all.filter((status) => status === 200).length, 1)
  clock.step(120_000)
  t.equal(await send(), 401, 'at the end of the time in which it could be used')
  clock.step(120_000)
  t.equal(await send(), 401)
})

t.test('refuses every proof where the URL of the request is none', async (t) => {
  const clock = steppedClock()
  const header = proofOf(signingKey(), { clock, url: 'no URL' })
  const request = { header, method: 'GET', url: 'no URL', accessToken: null, now: clock.now() }
  t.throws(() => proofReader(60)(request), { message: 'The proof is for another URL.' })
})
