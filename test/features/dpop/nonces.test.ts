import t from '../../support/tap.ts'
import { ISSUER } from '../../support/app.ts'
import { proofOf, signingKey } from '../resource/world.ts'
import { ask, asMachine, dpopApp, password, send, TOKEN_URL } from './world.ts'

const dpop = { requireNonce: true }
const SECRETS = ['a first secret of more than 32 bytes, for tests', 'a former secret of more than 32 bytes, for tests']
const secret = SECRETS

/** The nonce that a refused request hands out. */
const nonceOf = ({ headers }: { headers: Record<string, unknown> }): string => String(headers['dpop-nonce'])

// covers R9449-8, R9449-9
t.test('demands a nonce at the token endpoint and at guards, and accepts a proof that contains it', async (t) => {
  const test = await dpopApp(t, { dpop, secret })
  const key = signingKey()
  const wanted = { clock: test.clock, url: TOKEN_URL, method: 'POST' }
  const first = await ask(test, password('app'), key)
  t.match(first, { status: 400, body: { error: 'use_dpop_nonce' } })
  t.notOk(first.headers['www-authenticate'])
  const nonce = nonceOf(first)
  const tokens = await ask(test, password('app'), proofOf(key, wanted, { payload: { nonce } }))
  t.match(tokens, { status: 200, body: { token_type: 'DPoP' } })
  t.notOk(tokens.headers['dpop-nonce'], 'no other nonce than that')
  const { access_token: token } = tokens.body
  for (const path of ['/me', '/user', '/auth/userinfo', '/auth/sessions']) {
    const at = { clock: test.clock, url: `${ISSUER}${path}`, token }
    const refused = await send(test, path, token, { proof: proofOf(key, at) })
    t.equal(refused.statusCode, 401, path)
    t.match(refused.headers['www-authenticate'], /^Bearer, DPoP error="use_dpop_nonce", .*algs="ES256/, path)
    const proof = proofOf(key, at, { payload: { nonce: nonceOf(refused) } })
    t.equal((await send(test, path, token, { proof })).statusCode, 200, path)
    t.equal((await send(test, path, token, { proof })).statusCode, 401, `${path}: once`)
  }
})

t.test("accepts a nonce after three minutes but not after four, whatever the client's clock says", async (t) => {
  const test = await dpopApp(t, { dpop, secret })
  const key = signingKey()
  const send = async (nonce: unknown, payload: Record<string, unknown> = {}) =>
    await ask(
      test,
      { grant_type: 'client_credentials' },
      proofOf(key, { clock: test.clock, url: TOKEN_URL, method: 'POST' }, { payload: { nonce, ...payload } }),
      asMachine
    )
  const nonce = nonceOf(await send(undefined))
  const now = Math.floor(test.clock.now() / 1000)
  for (const iat of [now - 86_400, now, now + 86_400]) t.equal((await send(nonce, { iat })).status, 200, String(iat))
  t.match(await send(nonce, { iat: 'now' }), { status: 400, body: { error: 'invalid_dpop_proof' } })
  const held = proofOf(key, { clock: test.clock, url: TOKEN_URL, method: 'POST' }, { payload: { nonce } })
  const machine = { grant_type: 'client_credentials' }
  t.equal((await ask(test, machine, held, asMachine)).status, 200)
  test.clock.step(60_000)
  const later = await send(nonce)
  t.equal(later.status, 200, 'a minute later')
  t.not(nonceOf(later), nonce, 'with the next nonce')
  t.match(nonceOf(later), /^[\w-]{43}$/)
  test.clock.step(120_000)
  t.equal((await send(nonce)).status, 200, 'three minutes later')
  t.match(await ask(test, machine, held, asMachine), { status: 400, body: { error: 'invalid_dpop_proof' } })
  test.clock.step(60_000)
  t.match(await send(nonce), { status: 400, body: { error: 'use_dpop_nonce' } }, 'four minutes later')
  t.match(await ask(test, machine, held, asMachine), { status: 400, body: { error: 'use_dpop_nonce' } })
  for (const bad of ['', 'x', nonce.slice(1), 5, null, {}, ['x'], 'constructor', '__proto__'])
    t.match(await send(bad), { status: 400, body: { error: 'use_dpop_nonce' } }, JSON.stringify(bad))
})

t.test('accepts nonces of other processes, former secrets and a clock one minute ahead, and no others', async (t) => {
  const first = await dpopApp(t, { dpop, secret })
  const asked = async (test: typeof first) =>
    nonceOf(await ask(test, { grant_type: 'client_credentials' }, signingKey(), asMachine))
  const takes = async (test: typeof first, nonce: string): Promise<number> => {
    const proof = proofOf(signingKey(), { clock: test.clock, url: TOKEN_URL, method: 'POST' }, { payload: { nonce } })
    return (await ask(test, { grant_type: 'client_credentials' }, proof, asMachine)).status
  }
  const second = await dpopApp(t, { dpop, secret })
  second.clock.step(first.clock.now() - second.clock.now())
  const former = await dpopApp(t, { dpop, secret: SECRETS[1] as string })
  former.clock.step(first.clock.now() - former.clock.now())
  t.equal(await takes(first, await asked(second)), 200, 'another process')
  t.equal(await takes(first, await asked(former)), 200, 'a former secret')
  t.equal(await takes(former, await asked(first)), 400, 'a secret that it does not have')
  second.clock.step(60_000)
  t.equal(await takes(first, await asked(second)), 200, 'a process whose clock is a minute ahead')
  second.clock.step(60_000)
  t.equal(await takes(first, await asked(second)), 400, 'two minutes ahead')
})

t.test('does not count a request that only lacks its nonce as a failed attempt', async (t) => {
  const test = await dpopApp(t, { dpop, secret, rateLimit: { refresh: { max: 2, windowMs: 60_000 } } })
  const wrong = { ...password('app'), password: 'wrong' }
  for (let count = 0; count < 5; count++)
    t.match(await ask(test, wrong, signingKey()), { status: 400, body: { error: 'use_dpop_nonce' } })
  for (let count = 0; count < 2; count++)
    t.match(await ask(test, wrong, 'no proof'), { status: 400, body: { error: 'invalid_dpop_proof' } })
  t.equal((await ask(test, wrong, 'no proof')).status, 429, 'a bad proof counts')
})
