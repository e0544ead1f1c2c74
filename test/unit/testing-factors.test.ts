/** The accepted inputs and the errors of the functions for factors in the testing entry. */
import t from '../support/tap.ts'
import { softPasskey, totpCode } from '../../lib/testing/index.ts'

t.test('makes the code of a TOTP key given in base32, as a URI or as bytes', async (t) => {
  const bytes = Buffer.from('12345678901234567890')
  const base32 = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'
  // RFC 6238 Appendix B, the last six digits.
  for (const secret of [
    bytes,
    new Uint8Array(bytes),
    base32,
    base32.toLowerCase(),
    `otpauth://totp/a?secret=${base32}`
  ])
    t.equal(totpCode(secret, 59_000), '287082')
  for (const wrong of ['', '1', 'otpauth://totp/a', new Uint8Array(), undefined, null, 5, {}, [1, 2]])
    t.throws(
      () => totpCode(wrong as string, 0),
      {
        name: 'TypeError',
        message: 'totpCode takes a key in base32, an otpauth: URI that has one, or the bytes of a key.'
      },
      JSON.stringify(wrong)
    )
  for (const now of [-1, NaN, '0', Infinity])
    t.throws(() => totpCode(base32, now as number), { name: 'TypeError', message: /^totpCode takes the time/ })
})

t.test('throws for a soft passkey without a valid origin', async (t) => {
  for (const options of [
    undefined,
    null,
    {},
    { origin: undefined },
    { origin: 5 },
    { origin: '' },
    { origin: 'localhost' },
    { origin: 'http://localhost:3000/' },
    { origin: 'http://localhost:3000/auth' },
    { origin: 'data:x' }
  ]) {
    t.throws(
      () => softPasskey(options as { origin: string }),
      { name: 'TypeError', message: /^softPasskey takes origin/ },
      JSON.stringify(options)
    )
  }
  for (const origin of ['http://localhost:3000', 'https://example.com']) t.ok(softPasskey({ origin }))
})
