/** Device codes that are bound to a key (RFC 9449 §10). */
import t from '../../support/tap.ts'
import { ISSUER } from '../../support/app.ts'
import { proofOf, type SigningKey, signingKey } from '../resource/world.ts'
import { type Asked, DEVICE_GRANT, deviceWorld } from './world.ts'

t.test('RFC9449-10 gives tokens for a device code requested with a proof only to the key of that proof', async (t) => {
  const { ask, clock, decide, poll, post, signedIn } = await deviceWorld(t, { dpop: true })
  const [mine, other] = [signingKey('ES256', 'mine'), signingKey('ES256', 'other')]
  const proof = (key: SigningKey, path: string): Record<string, string> => ({
    dpop: proofOf(key, { clock, url: `${ISSUER}${path}`, method: 'POST' })
  })
  const allowed = async (headers: Record<string, string>): Promise<string> => {
    const asked = (await post('/auth/device', { client_id: 'tv' }, headers)).json<Asked>()
    await decide(await signedIn(), asked.user_code, 'allow')
    return asked.device_code
  }
  const answer = async (deviceCode: string, headers: Record<string, string>) => {
    const reply = await post(
      '/auth/token',
      { grant_type: DEVICE_GRANT, client_id: 'tv', device_code: deviceCode },
      headers
    )
    const { error, token_type: type } = reply.json<{ error?: string; token_type?: string }>()
    return [reply.statusCode, error ?? type]
  }
  const [at, token] = ['/auth/device', '/auth/token']
  t.same(await answer(await allowed(proof(mine, at)), proof(mine, token)), [200, 'DPoP'])
  t.same(await answer(await allowed(proof(mine, at)), proof(other, token)), [400, 'invalid_grant'])
  t.same(await answer(await allowed(proof(mine, at)), {}), [400, 'invalid_grant'])
  t.same(await answer(await allowed({}), proof(mine, token)), [200, 'DPoP'])
  t.same(await answer(await allowed({}), {}), [200, 'Bearer'])
  for (const headers of [{ dpop: 'x' }, proof(mine, token)])
    t.match(await post('/auth/device', { client_id: 'tv' }, headers), { statusCode: 400, body: /invalid_dpop_proof/ })
  t.equal((await poll((await ask()).device_code)).json<{ error: string }>().error, 'authorization_pending')
})
