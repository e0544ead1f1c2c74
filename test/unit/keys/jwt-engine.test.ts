import t from '../../support/tap.ts'
import { createHmac, createPublicKey, verify } from 'node:crypto'
import { asked } from '../../support/small-rsa.ts'
import { jwtEngine } from '../../../lib/adapters/jwt/jwt-engine.ts'
import type { LoadedKey } from '../../../lib/ports/cryptography.ts'
import { decodeJwt } from '../../support/jwt.ts'

const SECRET = 's'.repeat(32)

function isSignedBy(key: LoadedKey, token: string): boolean {
  const input = token.slice(0, token.lastIndexOf('.'))
  const signature = Buffer.from(token.slice(token.lastIndexOf('.') + 1), 'base64url')
  if (key.publicJwk === null)
    return createHmac('sha256', SECRET).update(input).digest('base64url') === signature.toString('base64url')
  const publicKey = createPublicKey({ key: key.publicJwk, format: 'jwk' })
  return verify(
    key.alg === 'EdDSA' ? null : 'sha256',
    Buffer.from(input),
    key.alg === 'ES256' ? { key: publicKey, dsaEncoding: 'ieee-p1363' } : publicKey,
    signature
  )
}

t.test('generates RSA keys with 3,072 bits', async (t) => {
  const before = asked.length
  for (const alg of ['RS256', 'PS256']) t.match(await jwtEngine.generate(alg), { kty: 'RSA', alg })
  t.strictSame(asked.slice(before), [3072, 3072])
})

for (const alg of ['ES256', 'EdDSA', 'RS256', 'HS256']) {
  // covers R8725-3.11
  t.test(`${alg} signs each kind of token with its own typ header`, async (t) => {
    const key =
      alg === 'HS256' ? await jwtEngine.loadSecret(SECRET) : await jwtEngine.load(await jwtEngine.generate(alg))
    const payload = { sub: 'ann', iat: 1, exp: 2 }
    for (const typ of [undefined, 'at+jwt', 'JWT', 'logout+jwt'] as const) {
      const token = key.sign(payload, typ)
      const { header, claims } = decodeJwt(token)
      t.strictSame(header, { alg, typ: typ ?? 'at+jwt', kid: key.kid })
      t.strictSame(claims, payload)
      t.ok(isSignedBy(key, token))
      t.match(key.verify(token), payload, 'whatever the typ, and expired')
    }
  })
}
