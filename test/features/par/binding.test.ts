/** Pushed requests that bind the code to a key (RFC 9449 §10.1). */
import t from '../../support/tap.ts'
import { ISSUER } from '../../support/app.ts'
import { CALLBACK, VERIFIER } from '../../support/openid.ts'
import { proofOf, type SigningKey, signingKey, thumbprintOf } from '../resource/world.ts'
import { answerOf, PAR, type Sent, world } from './world.ts'

const [MINE, OTHER] = [signingKey('ES256', 'mine'), signingKey('ES256', 'other')]

t.test('binds the code to the key whose DPoP proof came with the pushed request', async (t) => {
  const { addressOf, app, browser, clock, push, signIn } = await world(t, { dpop: true })
  const proof = (key: SigningKey, path: string): Record<string, string> => ({
    dpop: proofOf(key, { clock, url: `${ISSUER}${path}`, method: 'POST' })
  })
  const codeOf = async (params: Sent, headers: Record<string, string>): Promise<string> => {
    const page = await browser.get(addressOf(await push(params, headers)))
    const { url } =
      page.headers.location?.toString().startsWith('/') === true
        ? await signIn(page)
        : { url: String(page.headers.location) }
    return answerOf(url)['code'] ?? ''
  }
  const redeemed = async (code: string, headers: Record<string, string>) => {
    const payload = {
      grant_type: 'authorization_code',
      client_id: 'spa',
      code,
      redirect_uri: CALLBACK,
      code_verifier: VERIFIER
    }
    const { statusCode, body } = await app.inject({ method: 'POST', url: '/auth/token', headers, payload })
    const { error, token_type: type } = JSON.parse(body) as { error?: string; token_type?: string }
    return [statusCode, error ?? type]
  }
  const token = '/auth/token'
  t.same(await redeemed(await codeOf({}, proof(MINE, PAR)), proof(MINE, token)), [200, 'DPoP'])
  t.same(await redeemed(await codeOf({}, proof(MINE, PAR)), proof(OTHER, token)), [400, 'invalid_grant'])
  t.same(await redeemed(await codeOf({}, proof(MINE, PAR)), {}), [400, 'invalid_grant'])
  t.same(await redeemed(await codeOf({ dpop_jkt: thumbprintOf(MINE) }, {}), proof(MINE, token)), [200, 'DPoP'])
  t.same(await redeemed(await codeOf({ dpop_jkt: thumbprintOf(MINE) }, proof(MINE, PAR)), proof(MINE, token)), [
    200,
    'DPoP'
  ])
  const refusals: Array<[name: string, params: Sent, headers: Record<string, string>]> = [
    ['another key than dpop_jkt', { dpop_jkt: thumbprintOf(OTHER) }, proof(MINE, PAR)],
    ['a proof for another URL', {}, proof(MINE, token)],
    ['no proof at all', {}, { dpop: 'x' }]
  ]
  for (const [name, params, headers] of refusals)
    t.match(await push(params, headers), { statusCode: 400, body: /invalid_dpop_proof/ }, name)
  const once = proof(MINE, PAR)
  const all = await Promise.all(Array.from({ length: 50 }, async () => await push({}, once)))
  t.equal(all.filter(({ statusCode }) => statusCode === 201).length, 1, 'a proof counts once')
})
