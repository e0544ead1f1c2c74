/** Options for browsers, and the counter of a passkey. */
import t from '../../support/tap.ts'
import { hasRegressed } from '../../../lib/records/factors.ts'
import { creationOptions, requestOptions } from '../../../lib/protocol/webauthn-options.ts'

const RP = { id: 'example.org', name: 'Example' }
const KNOWN = [{ type: 'public-key' as const, id: 'AAAA', transports: ['internal'] }]
const asked = (isPasskey: boolean) =>
  creationOptions({
    rp: RP,
    userHandle: Buffer.from('ann'),
    name: 'ann@example.org',
    displayName: 'Ann',
    challenge: 'challenge',
    algs: [-8, -7],
    exclude: KNOWN,
    isPasskey
  })

t.test('requires a discoverable credential and user verification for a passkey', async (t) => {
  t.strictSame(asked(true), {
    rp: RP,
    user: { id: 'YW5u', name: 'ann@example.org', displayName: 'Ann' },
    challenge: 'challenge',
    pubKeyCredParams: [
      { type: 'public-key', alg: -8 },
      { type: 'public-key', alg: -7 }
    ],
    timeout: 300_000,
    attestation: 'none',
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
    excludeCredentials: KNOWN,
    hints: [],
    extensions: { credProps: true }
  })
})

t.test('requires neither a discoverable credential nor user verification for a security key', async (t) => {
  t.strictSame(asked(false), {
    ...asked(true),
    authenticatorSelection: { residentKey: 'discouraged', requireResidentKey: false, userVerification: 'discouraged' },
    hints: ['security-key']
  })
})

t.test('lists the allowed credentials in request options', async (t) => {
  t.strictSame(requestOptions({ rpId: RP.id, challenge: 'challenge', allow: KNOWN, userVerification: 'preferred' }), {
    rpId: RP.id,
    challenge: 'challenge',
    timeout: 300_000,
    userVerification: 'preferred',
    allowCredentials: KNOWN
  })
})

t.test('reports a counter that did not grow, unless both values are 0', async (t) => {
  for (const [stored, given, regressed] of [
    [0, 0, false],
    [0, 1, false],
    [1, 2, false],
    [1, 1, true],
    [2, 1, true],
    [1, 0, true]
  ] as const)
    t.equal(hasRegressed(stored, given), regressed, `${stored} to ${given}`)
})
