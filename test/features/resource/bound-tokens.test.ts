import t from '../../support/tap.ts'
import { proofReader } from '../../../lib/protocol/dpop.ts'
import { steppedClock } from '../../../lib/testing/index.ts'
import { badProofs, goodProofs } from '../dpop/proofs.ts'
import { proofOf, signingKey, testWorld as world, thumbprintOf } from './world.ts'

t.test('accepts a DPoP-bound token only with a fresh proof of its key', async (t) => {
  const { issuer, get } = await world(t)
  const { clock } = issuer
  const key = signingKey()
  const url = 'https://api.example.com/v1/orders'
  const bound = issuer.token({ cnf: { jkt: thumbprintOf(key) } })
  const usual = { clock, url, token: bound }
  const send = async (proof: string | undefined, token = bound, scheme = 'DPoP') =>
    await get(`${scheme} ${token}`, proof === undefined ? {} : { dpop: proof })

  for (const [name, proof] of Object.entries(goodProofs(key, usual))) t.equal((await send(proof)).statusCode, 200, name)
  t.equal((await send(proofOf(key, usual), bound, 'dpop')).statusCode, 200, 'scheme in small letters')

  const plain = issuer.token()
  const bad: Record<string, [proof: string | undefined, token?: string, scheme?: string]> = {
    ...Object.fromEntries(Object.entries(badProofs(key, usual)).map(([name, proof]) => [name, [proof]])),
    'no proof': [undefined],
    'a bound token as Bearer': [proofOf(key, usual), bound, 'Bearer'],
    'an unbound token as DPoP': [proofOf(key, { ...usual, token: plain }), plain],
    'the host of the request': [proofOf(key, { ...usual, url: 'http://localhost:80/v1/orders' })]
  }
  for (const [name, [proof, token, scheme]] of Object.entries(bad)) {
    const { statusCode, headers } = await send(proof, token, scheme)
    t.equal(statusCode, 401, name)
    const challenge = String(headers['www-authenticate'])
    t.match(challenge, /^Bearer /, name)
    if (scheme !== 'Bearer') t.match(challenge, /, DPoP error="invalid_(?:dpop_proof|token)", .*algs="ES256 /, name)
  }
})

t.test('accepts one of fifty parallel uses of a DPoP proof', async (t) => {
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

t.test('refuses a DPoP proof if the URL of the request cannot be parsed', async (t) => {
  const clock = steppedClock()
  const header = proofOf(signingKey(), { clock, url: 'no URL' })
  const request = { header, method: 'GET', url: 'no URL', accessToken: null, now: clock.now() }
  t.throws(() => proofReader(60)(request), { message: 'The proof is for another URL.' })
})
