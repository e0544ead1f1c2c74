import t from '../../support/tap.ts'
import { openTotpSecret, sealTotpSecret } from '../../../lib/features/totp/prove.ts'
import { aesSealer } from '../../../lib/adapters/node/sealer.ts'

const sealer = aesSealer(['s'.repeat(32)])
const SECRET = Buffer.from('12345678901234567890')
const at = { issuer: 'https://auth.example.com', userId: 'ann', factorId: 'phone' }

t.test('opens a sealed TOTP secret only in the row that it was sealed for', async (t) => {
  const sealedSecret = sealTotpSecret(SECRET, at, sealer)
  t.same(openTotpSecret({ id: 'phone', sealedSecret }, at, sealer), SECRET)
  t.equal(openTotpSecret({ id: 'other', sealedSecret }, at, sealer), null, 'another app')
  t.equal(openTotpSecret({ id: 'phone', sealedSecret }, { ...at, userId: 'eve' }, sealer), null, 'another user')
  t.equal(
    openTotpSecret({ id: 'phone', sealedSecret }, { ...at, issuer: 'https://auth.example.net' }, sealer),
    null,
    'another service'
  )
  t.equal(openTotpSecret({ id: 'phone', sealedSecret }, at, aesSealer(['t'.repeat(32)])), null, 'another secret')
  for (const sealed of [
    '',
    'v1',
    `${sealedSecret}x`,
    sealer.seal(SECRET.toString('base64url')),
    sealer.seal(SECRET.toString('base64url'), 'ticket')
  ])
    t.equal(openTotpSecret({ id: 'phone', sealedSecret: sealed }, at, sealer), null, sealed)
})
