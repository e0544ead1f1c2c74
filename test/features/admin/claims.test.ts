/** Tokens that the keys of the service have signed, with claims that they must not have. */
import { createPrivateKey, type JsonWebKey, sign } from 'node:crypto'
import t from '../../support/tap.ts'
import { bearer } from '../../support/app.ts'
import { decodeJwt, encodePart } from '../../support/jwt.ts'
import { KEYS } from '../../support/openid.ts'
import { ALL, routed, ROUTES } from './world.ts'

function signed(token: string, changes: Record<string, unknown>): string {
  const { header, claims } = decodeJwt(token)
  const jwk = KEYS.find(({ kid }) => kid === header['kid']) as JsonWebKey
  const body = `${encodePart(header)}.${encodePart({ ...claims, ...changes })}`
  const key = createPrivateKey({ key: jwk, format: 'jwk' })
  const signature = sign('sha256', Buffer.from(body), { key, dsaEncoding: 'ieee-p1363' })
  return `${body}.${signature.toString('base64url')}`
}

t.test('rejects admin calls with a token of a wrong issuer, audience or session, or with an actor', async (t) => {
  const { send, tokenOf, ann, bob, clock } = await routed(t)
  const token = await tokenOf('root', ALL)
  const now = Math.floor(clock.now() / 1000)
  const changes: Array<[Record<string, unknown>, number]> = [
    [{ act: { sub: bob.sub } }, 403],
    [{ act: null }, 403],
    [{ aud: 'https://api.example' }, 401],
    [{ iss: 'https://other.example' }, 401],
    [{ exp: now - 120 }, 401],
    [{ sid: undefined }, 401],
    [{ sid: undefined, client_id: 'spa' }, 401],
    [{ sid: undefined, client_id: 'spa', sub: 'spa' }, 401],
    [{ sub: bob.sub }, 401],
    [{ sub: 'nobody' }, 401]
  ]
  t.equal((await send('GET', '/users', bearer(signed(token, {})))).statusCode, 200, 'the signature is good')
  for (const [method, path, , , payload] of ROUTES)
    for (const [change, status] of changes) {
      const to = path.replace(':id', ann.sub).replace(/:sid|:one/, 'x')
      const reply = await send(method, to, bearer(signed(token, change)), payload)
      t.equal(reply.statusCode, status, `${JSON.stringify(change)} at ${method} ${path}: ${reply.body}`)
    }
})
