import t from '../support/tap.ts'
import { openidApp, tokensOf } from '../support/openid.ts'
import { bearer } from '../support/app.ts'
import { decodeJwt } from '../support/jwt.ts'

t.test('completes a redirect sign-in from the authorization request to userinfo', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const tokens = await tokensOf(subject, { scope: 'openid profile email offline_access', nonce: 'n-1' })
  t.match(tokens, { token_type: 'Bearer', scope: 'openid profile email offline_access' })
  t.ok(tokens.refresh_token)
  t.match(decodeJwt(tokens.id_token ?? ''), {
    header: { alg: 'RS256', kid: 'rs', typ: 'JWT' },
    claims: { nonce: 'n-1', aud: 'spa', sub: subject.ann.sub }
  })
  const userinfo = await subject.app.inject({ url: '/auth/userinfo', headers: bearer(tokens.access_token) })
  t.equal(userinfo.statusCode, 200)
  t.match(userinfo.json(), { sub: subject.ann.sub, preferred_username: 'ann' })
})
