/** The browser client's checks of an ID token: each claim, by itself. */
import t from '../../support/tap.ts'
import { AuthClientError } from '../../../lib/client/errors.ts'
import { readIdToken } from '../../../lib/client/id-token.ts'

const ISSUER = 'https://auth.example'
const EXPECTED = { issuer: ISSUER, clientId: 'app', nonce: 'n-1' }
const GOOD = { iss: ISSUER, sub: 'ann', aud: 'app', exp: 2000, iat: 1000, nonce: 'n-1' }

const tokenOf = (claims: unknown): string =>
  ['{"alg":"RS256"}', JSON.stringify(claims), 'signature']
    .map((part) => Buffer.from(part).toString('base64url'))
    .join('.')
const read = (claims: Record<string, unknown>, expected: Parameters<typeof readIdToken>[1] = EXPECTED): unknown =>
  readIdToken(tokenOf({ ...GOOD, ...claims }), expected)

/** The error that `run` throws, which must be an `AuthClientError`. */
function refused(run: () => unknown): AuthClientError | undefined {
  try {
    run()
  } catch (error) {
    if (error instanceof AuthClientError) return error
    throw error
  }
  return undefined
}

t.test('accepts a valid ID token whatever the local clock says', async (t) => {
  t.strictSame(read({}), { sub: 'ann' }, 'of the year 1970')
  t.match(read({ iat: 9e9, exp: 9e9 + 1 }), { sub: 'ann' })
  t.match(read({ aud: ['app'] }), { sub: 'ann' })
  t.match(read({ aud: ['app', 'api'], azp: 'app' }), { sub: 'ann' })
  t.match(read({ name: 'Åsa 🎈' }), { name: 'Åsa 🎈' }, 'UTF-8')
  t.match(
    read({ nonce: 'anything' }, { issuer: ISSUER, clientId: 'app', sub: 'ann' }),
    { sub: 'ann' },
    'a refresh has no nonce to compare'
  )
})

const WRONG: Record<string, Array<Record<string, unknown>>> = {
  iss: [{ iss: 'https://other.example' }, { iss: `${ISSUER}/` }, { iss: undefined }, { iss: [ISSUER] }],
  sub: [{ sub: undefined }, { sub: '' }, { sub: null }, { sub: 7 }, { sub: ['ann'] }],
  aud: [
    { aud: 'other' },
    { aud: undefined },
    { aud: [] },
    { aud: ['other'] },
    { aud: 'app2' },
    { aud: { app: 'app' } }
  ],
  azp: [{ azp: 'other' }, { aud: ['app', 'api'] }, { aud: ['app', 'api'], azp: 'api' }],
  exp: [
    { exp: undefined },
    { exp: 1000 },
    { exp: 999 },
    { exp: null },
    { exp: 'never' },
    { iat: undefined },
    { iat: 'long ago' }
  ],
  nonce: [{ nonce: 'other' }, { nonce: undefined }, { nonce: null }, { nonce: ['n-1'] }]
}

for (const [claim, cases] of Object.entries(WRONG)) {
  t.test(`${claim}: rejects a missing or wrong value`, async (t) => {
    for (const claims of cases)
      t.match(
        refused(() => read(claims)),
        { error: 'invalid_token', retryable: false, message: `ID token: ${claim}` },
        JSON.stringify(claims)
      )
  })
}

t.test('rejects the sub of another user after a refresh', async (t) => {
  t.match(
    refused(() => read({}, { issuer: ISSUER, clientId: 'app', sub: 'bob' })),
    { error: 'invalid_token', message: 'ID token: sub' }
  )
})

t.test('refuses malformed tokens', async (t) => {
  for (const token of [
    undefined,
    '',
    'x',
    'a.b.c',
    'a..c',
    `a.${Buffer.from('{').toString('base64url')}.c`,
    tokenOf(null),
    tokenOf(7),
    tokenOf([])
  ]) {
    t.match(
      refused(() => readIdToken(token, EXPECTED)),
      { error: 'invalid_token', retryable: false },
      String(token)
    )
  }
})

t.test('returns only the claims about the user as the profile', async (t) => {
  t.strictSame(
    read({
      sid: 's',
      at_hash: 'h',
      acr: 'password',
      amr: ['pwd'],
      auth_time: 1,
      azp: 'app',
      jti: 'j',
      name: 'Ann',
      updated_at: 5,
      'https://example/role': 'admin'
    }),
    { sub: 'ann', name: 'Ann', updated_at: 5, 'https://example/role': 'admin' }
  )
})
