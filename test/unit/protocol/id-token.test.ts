import t from '../../support/tap.ts'
import { createHash } from 'node:crypto'
import {
  accessTokenHash,
  checkIdTokenHint,
  idTokenClaims,
  type IdTokenFacts,
  logoutTokenClaims
} from '../../../lib/protocol/id-token.ts'

const ISSUER = 'https://auth.example.com'
const facts: IdTokenFacts = {
  issuer: ISSUER,
  userId: 'u1',
  clientId: 'spa',
  now: 1_767_225_600_999,
  expiresInSeconds: 900,
  acr: 'password',
  amr: ['pwd'],
  authenticatedAt: 1_767_225_000_999,
  nonce: undefined,
  sid: null,
  accessToken: 'a.b.c',
  alg: 'RS256'
}

// covers OIDC-2
t.test('puts only the specified claims into an ID token', async (t) => {
  t.strictSame(idTokenClaims(facts, {}), {
    iss: ISSUER,
    sub: 'u1',
    aud: 'spa',
    exp: 1_767_226_500,
    iat: 1_767_225_600,
    auth_time: 1_767_225_000,
    acr: 'password',
    amr: ['pwd'],
    at_hash: accessTokenHash('a.b.c', 'RS256')
  })
  t.match(
    idTokenClaims({ ...facts, nonce: 'n"ü ', sid: 's1' }, {}),
    { nonce: 'n"ü ', sid: 's1' },
    'the nonce to the byte'
  )
})

// covers A14 OIDC-2
t.test('does not let the user or the host set a registered claim', async (t) => {
  const forged = Object.fromEntries(
    [
      'iss',
      'sub',
      'aud',
      'exp',
      'iat',
      'nbf',
      'jti',
      'auth_time',
      'nonce',
      'acr',
      'amr',
      'azp',
      'at_hash',
      'c_hash',
      's_hash',
      'sid',
      'events',
      'cnf',
      'sub_jwk',
      'act',
      'may_act'
    ].map((name) => [name, 'forged'])
  )
  t.strictSame(idTokenClaims(facts, forged), idTokenClaims(facts, {}))
  t.equal(idTokenClaims(facts, { ...forged, name: 'Ann' })['name'], 'Ann')
})

// covers OIDC-2
t.test('limits a subject to 255 characters', async (t) => {
  t.equal(idTokenClaims({ ...facts, userId: 'u'.repeat(255) }, {})['sub'], 'u'.repeat(255))
  t.throws(() => idTokenClaims({ ...facts, userId: 'u'.repeat(256) }, {}), {
    error: 'server_error',
    detail: 'a user id of more than 255 characters'
  } as unknown as Error)
})

// covers OIDC-3.1.3.6
t.test('computes at_hash as the left half of the hash of the signing algorithm', async (t) => {
  // The example of OpenID Connect Core 1.0, appendix A.3.
  t.equal(accessTokenHash('jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y', 'RS256'), '77QmUPtjPfzWtF2AnpK9RQ')
  for (const alg of ['RS256', 'PS256', 'ES256'])
    t.equal(accessTokenHash('x', alg), createHash('sha256').update('x').digest().subarray(0, 16).toString('base64url'))
  t.equal(
    accessTokenHash('x', 'EdDSA'),
    createHash('sha512').update('x').digest().subarray(0, 32).toString('base64url')
  )
})

// covers OIDC-3.1.2.1
t.test('accepts an ID token of this issuer as a hint, even an expired one', async (t) => {
  const good = { iss: ISSUER, sub: 'u1', aud: 'spa', exp: 1, sid: 's1' }
  t.strictSame(checkIdTokenHint(good, ISSUER), { sub: 'u1', aud: 'spa', sid: 's1' })
  t.strictSame(checkIdTokenHint({ ...good, sid: undefined }, ISSUER), { sub: 'u1', aud: 'spa', sid: undefined })
  const bad: unknown[] = [
    null,
    'x',
    [],
    {},
    { ...good, iss: `${ISSUER}/` },
    { ...good, iss: 'https://evil.example' },
    { ...good, sub: '' },
    { ...good, sub: 1 },
    { ...good, aud: ['spa', 'evil'] },
    { ...good, aud: '' },
    { ...good, sid: 5 },
    { ...good, jti: 'an access token' },
    undefined
  ]
  for (const payload of bad) t.equal(checkIdTokenHint(payload, ISSUER), null, JSON.stringify(payload))
})

// covers BCL-2.4
t.test('makes the claims of a logout token', async (t) => {
  t.strictSame(
    logoutTokenClaims({ issuer: ISSUER, clientId: 'spa', userId: 'u1', sid: 's1', now: 1_767_225_600_999, jti: 'j' }),
    {
      iss: ISSUER,
      sub: 'u1',
      aud: 'spa',
      iat: 1_767_225_600,
      exp: 1_767_225_720,
      jti: 'j',
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
      sid: 's1'
    }
  )
})
