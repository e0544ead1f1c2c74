/**
 * Tests the verification of passkeys with the vectors of the W3C, with one changed part at a time, and against another
 * implementation.
 */
import { readFileSync } from 'node:fs'
import t from '../../support/tap.ts'
import { verifyAuthenticationResponse, verifyRegistrationResponse } from '@simplewebauthn/server'
import {
  type Ceremony,
  type NewCredential,
  readAssertion,
  readRegistration,
  verifyAssertion,
  verifyRegistration
} from '../../../lib/protocol/webauthn.ts'
import { WebauthnError } from '../../../lib/protocol/webauthn-key.ts'
import {
  authenticatorData,
  clientData,
  encodeCbor,
  signAssertion,
  softKey,
  type SoftKey
} from '../../../lib/testing/soft-passkey.ts'

interface Vector {
  id: string
  registration: Record<'challenge' | 'credential_id' | 'clientDataJSON' | 'attestationObject', string>
  authentication: Record<'challenge' | 'authenticatorData' | 'clientDataJSON' | 'signature', string>
}
const W3C = JSON.parse(readFileSync(new URL('webauthn-vectors.json', import.meta.url), 'utf8')) as {
  rpId: string
  origin: string
  vectors: Vector[]
}

const ORIGIN = 'https://example.org'
const RP_ID = 'example.org'
const CHALLENGE = Buffer.from('a challenge of 16').toString('base64url')
const HANDLE = Buffer.from('a handle').toString('base64url')
const b64 = (hex: string): string => Buffer.from(hex, 'hex').toString('base64url')
const ceremony = (fields: { challenge?: string; requiresVerification?: boolean } = {}): Ceremony => ({
  askedWith: (challenge) =>
    challenge === (fields.challenge ?? CHALLENGE)
      ? { requiresVerification: fields.requiresVerification ?? true }
      : null,
  origins: [ORIGIN],
  rpId: RP_ID
})
const refusalOf = (act: () => unknown): string => {
  try {
    act()
    return 'none'
  } catch (error) {
    if (error instanceof WebauthnError) return error.refusal
    throw error
  }
}

/** Vectors that the server refuses by its rules: frames of other origins, and algorithms that it does not offer. */
const REFUSED: Record<string, string> = {
  'none-es256-crossOrigin': 'cross_origin',
  'none-es256-topOrigin': 'cross_origin',
  'packed-es384': 'algorithm',
  'packed-es512': 'algorithm',
  'packed-ed448': 'algorithm'
}

// covers PK-10 W3C-VECTORS
t.test('accepts the W3C vectors except those with a cross-origin frame or an algorithm not offered', async (t) => {
  t.equal(W3C.vectors.length, 15)
  for (const { id, registration, authentication } of W3C.vectors) {
    const asked = (challenge: string): Ceremony => ceremony({ challenge: b64(challenge), requiresVerification: false })
    const given = readRegistration({
      id: b64(registration.credential_id),
      type: 'public-key',
      response: {
        clientDataJSON: b64(registration.clientDataJSON),
        attestationObject: b64(registration.attestationObject)
      }
    })
    const refused = REFUSED[id]
    if (refused !== undefined) {
      t.equal(
        refusalOf(() => verifyRegistration(given, asked(registration.challenge))),
        refused,
        id
      )
      continue
    }
    const made = verifyRegistration(given, asked(registration.challenge))
    t.equal(made.credentialId, b64(registration.credential_id), id)
    const assertion = readAssertion({
      id: made.credentialId,
      type: 'public-key',
      response: {
        clientDataJSON: b64(authentication.clientDataJSON),
        authenticatorData: b64(authentication.authenticatorData),
        signature: b64(authentication.signature)
      }
    })
    t.match(
      verifyAssertion(assertion, { ...made, rpId: RP_ID }, asked(authentication.challenge)),
      { challenge: b64(authentication.challenge), signCount: 0 },
      id
    )
    t.equal(
      refusalOf(() => verifyAssertion(assertion, { ...made, rpId: RP_ID }, asked(registration.challenge))),
      'challenge',
      id
    )
  }
})

const KEYS = new Map([-7, -8].map((alg) => [alg, softKey(alg)]))
const KEY = KEYS.get(-7) as SoftKey
const ID = Buffer.from('a credential id of ours')
const FLAGS = { userPresent: true, userVerified: true, backupEligible: false, backedUp: false }

type Members = Record<string, unknown>
interface Registration {
  client: Members | Buffer
  data: Buffer
  attestation: Buffer | null
  id: string
}
function registered(
  change: (parts: Omit<Registration, 'client'> & { client: Members }) => Partial<Registration> = () => ({})
): () => NewCredential {
  const usual: Omit<Registration, 'client'> & { client: Members } = {
    client: JSON.parse(
      clientData({ type: 'webauthn.create', challenge: CHALLENGE, origin: ORIGIN }).toString()
    ) as Members,
    data: authenticatorData({
      rpId: RP_ID,
      flags: FLAGS,
      signCount: 0,
      attested: { aaguid: Buffer.alloc(16), credentialId: ID, key: KEY }
    }),
    attestation: null,
    id: ID.toString('base64url')
  }
  const { client, data, attestation, id } = { ...usual, ...change(usual) }
  const attestationObject =
    attestation ??
    encodeCbor(
      new Map<string, string | Buffer | Map<string, string>>([
        ['fmt', 'none'],
        ['attStmt', new Map<string, string>()],
        ['authData', data]
      ])
    )
  const clientDataJSON = Buffer.isBuffer(client) ? client : Buffer.from(JSON.stringify(client))
  return () => verifyRegistration({ id, clientDataJSON, attestationObject, transports: [] }, ceremony())
}

interface Given {
  client: Members | Buffer
  data: Buffer
  signature: Buffer | null
  key: SoftKey
  stored: Partial<NewCredential> & { rpId?: string }
}
function asserted(
  change: (parts: Omit<Given, 'client'> & { client: Members }) => Partial<Given> = () => ({}),
  fields: Parameters<typeof ceremony>[0] = {}
): () => unknown {
  const usual: Omit<Given, 'client'> & { client: Members } = {
    client: JSON.parse(
      clientData({ type: 'webauthn.get', challenge: CHALLENGE, origin: ORIGIN }).toString()
    ) as Members,
    data: authenticatorData({ rpId: RP_ID, flags: FLAGS, signCount: 7 }),
    signature: null,
    key: KEY,
    stored: {}
  }
  const { client, data, signature, key, stored } = { ...usual, ...change(usual) }
  const clientDataJSON = Buffer.isBuffer(client) ? client : Buffer.from(JSON.stringify(client))
  const made = registered()()
  return () =>
    verifyAssertion(
      {
        id: made.credentialId,
        clientDataJSON,
        authenticatorData: data,
        signature: signature ?? signAssertion(key, data, clientDataJSON),
        userHandle: null
      },
      { ...made, rpId: RP_ID, ...stored },
      ceremony(fields)
    )
}

const flagged = (data: Buffer, bits: number): Buffer => {
  const copy = Buffer.from(data)
  copy.writeUInt8(bits, 32)
  return copy
}
const cose = (change: Array<[number, number | Buffer]>): Buffer =>
  authenticatorData({
    rpId: RP_ID,
    flags: FLAGS,
    signCount: 0,
    attested: { aaguid: Buffer.alloc(16), credentialId: ID, key: { ...KEY, cose: new Map([...KEY.cose, ...change]) } }
  })
const BOM = Buffer.from([0xef, 0xbb, 0xbf])

const CLIENT_DATA: ReadonlyArray<[name: string, change: (client: Members) => Members | Buffer, refusal: string]> = [
  ['with members of tomorrow', (client) => ({ ...client, other_keys_can_be_added_here: 'do not compare' }), 'none'],
  ['with a byte order mark', (client) => Buffer.concat([BOM, Buffer.from(JSON.stringify(client))]), 'none'],
  [
    'bytes that are no UTF-8',
    (client) => Buffer.from(JSON.stringify({ ...client, more: '\u00ff' }), 'latin1'),
    'malformed'
  ],
  ['a number', () => Buffer.from('1'), 'malformed'],
  ['a text', () => Buffer.from('"x"'), 'malformed'],
  ['without crossOrigin', (client) => ({ ...client, crossOrigin: undefined }), 'none'],
  [
    'another challenge',
    (client) => ({ ...client, challenge: Buffer.from('another').toString('base64url') }),
    'challenge'
  ],
  ['no challenge', (client) => ({ ...client, challenge: undefined }), 'challenge'],
  ['a challenge that is a list', (client) => ({ ...client, challenge: [CHALLENGE] }), 'challenge'],
  ['another origin', (client) => ({ ...client, origin: 'https://example.org.evil.test' }), 'origin'],
  ['another scheme', (client) => ({ ...client, origin: 'http://example.org' }), 'origin'],
  ['another port', (client) => ({ ...client, origin: 'https://example.org:8443' }), 'origin'],
  ['a subdomain', (client) => ({ ...client, origin: 'https://www.example.org' }), 'origin'],
  ['the origin with a slash', (client) => ({ ...client, origin: 'https://example.org/' }), 'origin'],
  ['no origin', (client) => ({ ...client, origin: null }), 'origin'],
  ['in a frame of another origin', (client) => ({ ...client, crossOrigin: true }), 'cross_origin'],
  ['crossOrigin as text', (client) => ({ ...client, crossOrigin: 'false' }), 'cross_origin'],
  ['with a topOrigin', (client) => ({ ...client, topOrigin: ORIGIN }), 'cross_origin'],
  ['no JSON', () => Buffer.from('{'), 'malformed'],
  ['null', () => Buffer.from('null'), 'malformed'],
  ['a list', () => Buffer.from('[]'), 'malformed'],
  ['no UTF-8', () => Buffer.from([0x7b, 0xff, 0x7d]), 'malformed']
]

// covers PK-11 PK-12 PK-13 PK-14 PK-15
t.test('verifies type, challenge and origin of the client data', async (t) => {
  for (const [name, change, refusal] of CLIENT_DATA) {
    t.equal(refusalOf(registered(({ client }) => ({ client: change(client) }))), refusal, `${name}, registration`)
    t.equal(refusalOf(asserted(({ client }) => ({ client: change(client) }))), refusal, `${name}, sign-in`)
  }
  t.equal(refusalOf(registered(({ client }) => ({ client: { ...client, type: 'webauthn.get' } }))), 'type')
  t.equal(refusalOf(asserted(({ client }) => ({ client: { ...client, type: 'webauthn.create' } }))), 'type')
  t.equal(refusalOf(asserted(({ client }) => ({ client: { ...client, type: 'payment.get' } }))), 'type')
})

// covers PK-16 PK-17 PK-18 PK-19
t.test('verifies the flags and the RP ID hash of the authenticator data', async (t) => {
  const lines: ReadonlyArray<[string, number, string]> = [
    ['nobody present', 0x04, 'user_presence'],
    ['nobody verified', 0x01, 'user_verification'],
    ['backed up, and may not be', 0x15, 'backup_flags'],
    ['reserved bits', 0x27, 'none']
  ]
  for (const [name, bits, refusal] of lines) {
    t.equal(
      refusalOf(registered(({ data }) => ({ data: flagged(data, bits | 0x40) }))),
      refusal,
      `${name}, registration`
    )
    t.equal(refusalOf(asserted(({ data }) => ({ data: flagged(data, bits) }))), refusal, `${name}, sign-in`)
  }
  t.match(asserted(({ data }) => ({ data: flagged(data, 0x01) }), { requiresVerification: false })(), {
    userVerified: false
  })
  t.equal(
    refusalOf(
      registered(() => ({
        data: authenticatorData({
          rpId: 'example.com',
          flags: FLAGS,
          signCount: 0,
          attested: { aaguid: Buffer.alloc(16), credentialId: ID, key: KEY }
        })
      }))
    ),
    'rp_id'
  )
  t.equal(
    refusalOf(asserted(() => ({ data: authenticatorData({ rpId: 'example.com', flags: FLAGS, signCount: 0 }) }))),
    'rp_id'
  )
  t.equal(
    refusalOf(asserted(() => ({ stored: { rpId: 'example.com' } }))),
    'rp_id',
    'a passkey of a former Relying Party ID'
  )
  t.equal(
    refusalOf(asserted(({ data }) => ({ data: flagged(data, 0x0d) }))),
    'backup_eligibility',
    'eligible, and was not'
  )
  t.equal(
    refusalOf(asserted(() => ({ stored: { backupEligible: true } }))),
    'backup_eligibility',
    'not eligible, and was'
  )
  t.match(asserted(({ data }) => ({ data: flagged(data, 0x1d), stored: { backupEligible: true } }))(), {
    backedUp: true,
    signCount: 7
  })
})

// covers PK-20
t.test('refuses authenticator data with missing or extra bytes', async (t) => {
  const extensions = encodeCbor(new Map([['credProtect', 2]]))
  for (const [name, change, refusal] of [
    ['one byte less', (data: Buffer) => data.subarray(0, -1), 'malformed'],
    ['one byte more', (data: Buffer) => Buffer.concat([data, Buffer.alloc(1)]), 'malformed'],
    ['extensions that no flag tells of', (data: Buffer) => Buffer.concat([data, extensions]), 'malformed'],
    ['extensions', (data: Buffer) => Buffer.concat([flagged(data, data.readUInt8(32) | 0x80), extensions]), 'none'],
    ['the flag of extensions alone', (data: Buffer) => flagged(data, data.readUInt8(32) | 0x80), 'malformed'],
    [
      'extensions that are no map',
      (data: Buffer) => Buffer.concat([flagged(data, data.readUInt8(32) | 0x80), encodeCbor(1)]),
      'malformed'
    ]
  ] as const) {
    t.equal(refusalOf(registered(({ data }) => ({ data: change(data) }))), refusal, `${name}, registration`)
    t.equal(refusalOf(asserted(({ data }) => ({ data: change(data) }))), refusal, `${name}, sign-in`)
  }
  const whole = authenticatorData({
    rpId: RP_ID,
    flags: FLAGS,
    signCount: 0,
    attested: { aaguid: Buffer.alloc(16), credentialId: ID, key: KEY }
  })
  for (let length = 0; length < whole.length; length++)
    t.equal(
      refusalOf(registered(() => ({ data: whole.subarray(0, length) }))),
      'malformed',
      `the first ${length} bytes`
    )
})

// covers PK-21
t.test('requires a new credential with the given id, an offered algorithm and a valid public key', async (t) => {
  t.equal(
    refusalOf(registered(() => ({ data: authenticatorData({ rpId: RP_ID, flags: FLAGS, signCount: 0 }) }))),
    'no_credential'
  )
  t.equal(refusalOf(registered(() => ({ id: Buffer.from('another id').toString('base64url') }))), 'credential_id')
  const ofLength = (length: number) =>
    registered(() => ({
      id: Buffer.alloc(length, 1).toString('base64url'),
      data: authenticatorData({
        rpId: RP_ID,
        flags: FLAGS,
        signCount: 0,
        attested: { aaguid: Buffer.alloc(16), credentialId: Buffer.alloc(length, 1), key: KEY }
      })
    }))
  t.equal(refusalOf(ofLength(1023)), 'none')
  t.equal(refusalOf(ofLength(1024)), 'credential_id')
  t.equal(refusalOf(ofLength(0)), 'credential_id')
  const x = KEY.cose.get(-2) as Buffer
  for (const [name, change, refusal] of [
    ['ES384', [[3, -35]], 'algorithm'],
    ['ML-DSA-44', [[3, -48]], 'algorithm'],
    ['no algorithm', [[3, Buffer.alloc(1)]], 'algorithm'],
    ['a point that is not on the curve', [[-3, Buffer.alloc(32, 7)]], 'public_key'],
    ['a long coordinate', [[-2, Buffer.concat([Buffer.alloc(1), x])]], 'public_key'],
    ['a short coordinate', [[-2, x.subarray(1)]], 'public_key'],
    ['a compressed point', [[-3, 1]], 'public_key'],
    ['another curve', [[-1, 2]], 'public_key'],
    ['another kind of key', [[1, 3]], 'public_key'],
    ['Ed25519 of a P-256 key', [[3, -8]], 'public_key'],
    ['RS256 of a P-256 key', [[3, -257]], 'public_key'],
    [
      'RSA of 1,024 bits',
      [
        [1, 3],
        [3, -257],
        [-1, Buffer.alloc(128, 0xff)],
        [-2, Buffer.from([1, 0, 1])]
      ],
      'public_key'
    ],
    ...(
      [
        ['an even exponent', undefined, Buffer.from([1, 0, 0])],
        ['the exponent 1', undefined, Buffer.from([1])],
        ['the exponent 3', undefined, Buffer.from([3])],
        ['the exponent 0', undefined, Buffer.from([0, 0, 0])],
        ['a power of two as modulus', Buffer.concat([Buffer.from([0x80]), Buffer.alloc(255)]), undefined],
        ['a small modulus, filled up', Buffer.concat([Buffer.alloc(128), Buffer.alloc(128, 0xff)]), undefined]
      ] as const
    ).map(([name, n = Buffer.alloc(256, 0xff), e = Buffer.from([1, 0, 1])]) => [
      `RSA with ${name}`,
      [
        [1, 3],
        [3, -257],
        [-1, n],
        [-2, e]
      ],
      'public_key'
    ]),
    ...[
      '00'.repeat(32),
      `01${'00'.repeat(31)}`,
      `01${'00'.repeat(30)}80`,
      '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
      'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa',
      `ec${'ff'.repeat(31)}`,
      `ed${'ff'.repeat(31)}`,
      `ee${'ff'.repeat(30)}7f`
    ].map((point) => [
      `Ed25519 of small order: ${point}`,
      [
        [1, 1],
        [3, -8],
        [-1, 6],
        [-2, Buffer.from(point, 'hex')],
        [-3, 0]
      ],
      'public_key'
    ]),
    [
      'RSA of 8,192 bits',
      [
        [1, 3],
        [3, -257],
        [-1, Buffer.alloc(1024, 0xff)],
        [-2, Buffer.from([1, 0, 1])]
      ],
      'public_key'
    ]
  ] as Array<[string, Array<[number, number | Buffer]>, string]>) {
    t.equal(refusalOf(registered(() => ({ data: cose(change) }))), refusal, name)
  }
  const named = registered(() => ({
    data: authenticatorData({
      rpId: RP_ID,
      flags: { ...FLAGS, backupEligible: true, backedUp: true },
      signCount: 5,
      attested: { aaguid: Buffer.from('fbfc3007154e4ecc8c0b6e020557d7bd', 'hex'), credentialId: ID, key: KEY }
    })
  }))()
  t.match(named, {
    aaguid: 'fbfc3007-154e-4ecc-8c0b-6e020557d7bd',
    backupEligible: true,
    backedUp: true,
    uvInitialized: true,
    signCount: 5,
    alg: -7
  })
  t.equal(registered()().aaguid, null)
  const attestedBy = (aaguid: Buffer, after: Buffer | null = null): Buffer => {
    const data = authenticatorData({
      rpId: RP_ID,
      flags: FLAGS,
      signCount: 0,
      attested: { aaguid, credentialId: ID, key: KEY }
    })
    return after === null ? data : Buffer.concat([data.subarray(0, 55 + ID.length), after])
  }
  t.equal(
    registered(() => ({ data: attestedBy(Buffer.from('fbfc3007154e4e008c0b6e020557d7bd', 'hex')) }))().aaguid,
    'fbfc3007-154e-4e00-8c0b-6e020557d7bd',
    'one zero byte says nothing'
  )
  t.equal(
    refusalOf(registered(() => ({ data: attestedBy(Buffer.alloc(16), encodeCbor([1])) }))),
    'malformed',
    'a key that is a list'
  )
  t.equal(refusalOf(registered(() => ({ data: attestedBy(Buffer.alloc(16), Buffer.alloc(0)) }))), 'malformed', 'no key')
})

// covers PK-22 ADV-GHSA-6hxq-p678-4hr2
t.test('ignores the attestation statement of a registration, but not missing authenticator data', async (t) => {
  const { data } = {
    data: authenticatorData({
      rpId: RP_ID,
      flags: FLAGS,
      signCount: 0,
      attested: { aaguid: Buffer.alloc(16), credentialId: ID, key: KEY }
    })
  }
  const object = (...members: Array<[string, Parameters<typeof encodeCbor>[0]]>) =>
    registered(() => ({ attestation: encodeCbor(new Map(members)) }))
  t.equal(refusalOf(object(['authData', data])), 'none')
  t.equal(
    refusalOf(
      object(
        ['fmt', 'packed'],
        [
          'attStmt',
          new Map<string, string | number | Buffer[]>([
            ['alg', -7],
            ['sig', 'forged'],
            ['x5c', [Buffer.from('no certificate')]]
          ])
        ],
        ['authData', data]
      )
    ),
    'none'
  )
  t.equal(refusalOf(object(['fmt', 'none'], ['attStmt', new Map()])), 'malformed')
  t.equal(refusalOf(object(['authData', 'text'])), 'malformed')
  t.equal(refusalOf(registered(() => ({ attestation: encodeCbor([data]) }))), 'malformed')
  t.equal(
    refusalOf(
      registered(() => ({ attestation: Buffer.concat([encodeCbor(new Map([['authData', data]])), Buffer.alloc(1)]) }))
    ),
    'malformed'
  )
})

// covers PK-23
t.test('verifies the signature with the key of the credential over the received bytes', async (t) => {
  const signed = (parts: Omit<Given, 'client'> & { client: Members }): Buffer =>
    signAssertion(KEY, parts.data, Buffer.from(JSON.stringify(parts.client)))
  const flip = (bytes: Buffer, at: number): Buffer =>
    Buffer.from(bytes.map((byte, index) => (index === at ? byte ^ 1 : byte)))
  t.equal(refusalOf(asserted()), 'none')
  t.equal(
    refusalOf(asserted((parts) => ({ signature: signed(parts), data: flip(parts.data, 36) }))),
    'signature',
    'another counter'
  )
  t.equal(
    refusalOf(asserted((parts) => ({ signature: signed(parts), client: { ...parts.client, more: 1 } }))),
    'signature',
    'other client data'
  )
  t.equal(refusalOf(asserted((parts) => ({ signature: flip(signed(parts), 20) }))), 'signature')
  t.equal(refusalOf(asserted((parts) => ({ signature: Buffer.concat([signed(parts), Buffer.alloc(1)]) }))), 'signature')
  t.equal(refusalOf(asserted(() => ({ signature: Buffer.alloc(0) }))), 'signature')
  t.equal(refusalOf(asserted(() => ({ key: softKey(-7) }))), 'signature', 'another key')
  t.equal(refusalOf(asserted(() => ({ stored: { publicKey: 'AAAA' } }))), 'signature', 'a row that is broken')
})

// covers PK-24
t.test('gives the same results as another implementation for random keys', async (t) => {
  for (const alg of [-7, -8, -257]) {
    const key = softKey(alg)
    const credentialId = Buffer.from(`credential of ${alg}`)
    const id = credentialId.toString('base64url')
    const flags = { ...FLAGS, backupEligible: alg === -8, backedUp: alg === -8 }
    const client = clientData({ type: 'webauthn.create', challenge: CHALLENGE, origin: ORIGIN })
    const data = authenticatorData({
      rpId: RP_ID,
      flags,
      signCount: 1,
      attested: { aaguid: Buffer.alloc(16, 9), credentialId, key }
    })
    const attestationObject = encodeCbor(
      new Map<string, string | Buffer | Map<string, string>>([
        ['fmt', 'none'],
        ['attStmt', new Map<string, string>()],
        ['authData', data]
      ])
    )
    const response = {
      id,
      rawId: id,
      type: 'public-key' as const,
      clientExtensionResults: {},
      response: {
        clientDataJSON: client.toString('base64url'),
        attestationObject: attestationObject.toString('base64url'),
        transports: []
      }
    }
    const ours = verifyRegistration(readRegistration(response), ceremony())
    const expected = {
      expectedChallenge: CHALLENGE,
      expectedOrigin: ORIGIN,
      expectedRPID: RP_ID,
      requireUserVerification: true
    }
    const theirs = await verifyRegistrationResponse({ response, ...expected, supportedAlgorithmIDs: [-7, -8, -257] })
    t.equal(theirs.verified, true)
    if (!theirs.verified) continue
    const { credential, aaguid, credentialBackedUp, credentialDeviceType } = theirs.registrationInfo
    t.same(
      {
        id: ours.credentialId,
        count: ours.signCount,
        aaguid: ours.aaguid,
        backedUp: ours.backedUp,
        type: ours.backupEligible ? 'multiDevice' : 'singleDevice'
      },
      {
        id: credential.id,
        count: credential.counter,
        aaguid,
        backedUp: credentialBackedUp,
        type: credentialDeviceType
      },
      String(alg)
    )

    const answer = clientData({ type: 'webauthn.get', challenge: CHALLENGE, origin: ORIGIN })
    const authData = authenticatorData({ rpId: RP_ID, flags, signCount: 2 })
    const good = signAssertion(key, authData, answer)
    for (const signature of [good, signAssertion(softKey(alg === -257 ? -7 : alg), authData, answer)]) {
      const assertion = {
        id,
        rawId: id,
        type: 'public-key' as const,
        clientExtensionResults: {},
        response: {
          clientDataJSON: answer.toString('base64url'),
          authenticatorData: authData.toString('base64url'),
          signature: signature.toString('base64url'),
          userHandle: HANDLE
        }
      }
      const they = await verifyAuthenticationResponse({ response: assertion, ...expected, credential }).then(
        ({ verified }) => verified,
        () => false
      )
      t.equal(
        refusalOf(() => verifyAssertion(readAssertion(assertion), { ...ours, rpId: RP_ID }, ceremony())),
        they ? 'none' : 'signature',
        String(alg)
      )
      t.equal(they, signature === good)
    }
  }
})
