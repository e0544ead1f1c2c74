import type { Module } from './modules-flow.ts'
import { entropyOf } from './jwt-checks.ts'
import { FIRST, SECOND } from './op.ts'
import type { Suite } from './suite.ts'

/** Codes and refresh tokens after their first use. */
export const GRANT_MODULES: Readonly<Record<string, Module>> = {
  'oidcc-codereuse': async (suite) => {
    await reuse(suite, 0)
  },
  'oidcc-codereuse-30seconds': async (suite) => {
    await reuse(suite, 30_000)
  },

  async 'oidcc-refresh-token'(suite) {
    const { t, op } = suite
    t.ok((op.document['grant_types_supported'] as string[]).includes('refresh_token'))
    const scope = 'openid offline_access'
    const newest: string[] = []
    for (const client of [FIRST, SECOND]) {
      const { tokens, claims, seen } = await suite.signIn({ scope, prompt: 'consent' }, { client })
      t.strictSame(seen, client === FIRST ? ['login', 'consent'] : ['consent'])
      checkRefreshToken(suite, tokens.refresh_token)
      op.clock.step(1000)
      const response = await suite.refresh(tokens.refresh_token ?? '', {
        client,
        ...(client === FIRST ? { scope } : {})
      })
      const again = await suite.tokensOf(response, { nonce: undefined, client })
      checkRefreshToken(suite, again.tokens.refresh_token)
      t.equal(again.tokens.scope, scope, 'the scope is kept')
      t.not(again.tokens.access_token, tokens.access_token)
      t.ok(entropyOf(again.tokens.access_token) >= 96)
      for (const name of ['iss', 'sub', 'aud', 'auth_time', 'azp', 'acr', 'sid'])
        t.strictSame(again.claims[name], claims[name], `the same ${name}`)
      t.ok(Number(again.claims['iat']) > Number(claims['iat']), 'a new iat')
      const userinfo = await suite.userinfo({ headers: { authorization: `Bearer ${again.tokens.access_token}` } })
      t.equal(userinfo.status, 200)
      newest.push(again.tokens.refresh_token ?? '')
    }
    await checkInvalidGrant(suite, await suite.refresh(newest[1] ?? '', { client: FIRST }))
    await suite.tokensOf(await suite.refresh(newest[1] ?? '', { client: SECOND }), { nonce: undefined, client: SECOND })
  }
}

async function reuse(suite: Suite, afterMs: number): Promise<void> {
  const { t, op } = suite
  const { code, tokens } = await suite.signIn()
  op.clock.step(afterMs)
  await checkInvalidGrant(suite, await suite.redeem(code))
  const revoked = await suite.userinfo({ headers: { authorization: `Bearer ${tokens.access_token}` } })
  t.equal(revoked.status, 401, 'the access token has ended')
  t.match(revoked.headers.get('www-authenticate'), 'error="invalid_token"')
}

async function checkInvalidGrant({ t }: Suite, response: Response): Promise<void> {
  t.equal(response.status, 400)
  t.match(response.headers.get('content-type'), /^application\/json/)
  t.match(response.headers.get('cache-control'), /no-store/)
  const body = (await response.json()) as Record<string, unknown>
  t.equal(body['error'], 'invalid_grant')
  t.strictSame(
    Object.keys(body).filter((name) => !['error', 'error_description', 'error_uri'].includes(name)),
    []
  )
}

/** @see RFC 6749 §10.10, Appendix A.17 */
function checkRefreshToken({ t }: Suite, token = ''): void {
  t.match(token, /^[\x20-\x7e]{16,}$/)
  t.ok(entropyOf(token) >= 96)
}
