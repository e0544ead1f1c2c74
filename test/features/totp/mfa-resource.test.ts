import t from '../../support/tap.ts'
import { memoryFactorStore } from '../../../lib/index.ts'
import { totpCode } from '../../../lib/testing/index.ts'
import { ORDERS, password, started, token } from '../../http/support/apis.ts'

t.test('issues a token for the requested API after the second factor', async (t) => {
  const test = await started(t, { factors: memoryFactorStore(), secret: 'zyxwvutsrqponmlkjihgfedcba9876543210' })
  const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'
  await test.app.authority.importTotp(test.ann.sub, { secret })
  const first = await token(test, { ...password, scope: 'openid orders:read', resource: ORDERS })
  t.equal(first.body.error, 'mfa_required')
  const { claims } = await token(test, {
    grant_type: 'urn:fastify-authority:grant-type:mfa',
    client_id: 'spa',
    mfa_token: first.body.mfa_token ?? '',
    otp: totpCode(secret, test.clock.now())
  })
  t.match(claims, { aud: ORDERS, scope: 'orders:read' })
})
