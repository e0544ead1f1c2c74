import t from '../../support/tap.ts'
import { CLAIM_SCOPES, CLAIMS_OF_SCOPE, requestedClaims, standardClaims } from '../../../lib/protocol/user-claims.ts'

const PROFILE = {
  name: 'Ann Lee',
  family_name: 'Lee',
  given_name: 'Ann',
  middle_name: 'B',
  nickname: 'annie',
  profile: 'https://a.example',
  picture: 'https://a.example/p.png',
  website: 'https://a.example/w',
  gender: 'female',
  birthdate: '1990-01-02',
  zoneinfo: 'Europe/Zurich',
  locale: 'de-CH'
}
const ADDRESS = {
  formatted: 'A\nB',
  street_address: '1 Way',
  locality: 'Bern',
  region: 'BE',
  postal_code: '3000',
  country: 'CH'
}
const ANN = {
  id: 'u1',
  username: 'ann',
  passwordHash: '$argon2id$secret',
  disabled: false,
  role: 'admin',
  ...PROFILE,
  updated_at: 1_700_000_000,
  email: 'ann@example.com',
  emailVerified: true,
  address: ADDRESS,
  phone_number: '+41 31 000 00 00',
  phone_number_verified: false
}

// covers OIDF-oidcc-scope-profile OIDF-oidcc-scope-all
t.test('returns only the claims of each requested scope', async (t) => {
  const profile = { ...PROFILE, preferred_username: 'ann', updated_at: 1_700_000_000 }
  const email = { email: 'ann@example.com', email_verified: true }
  const phone = { phone_number: '+41 31 000 00 00', phone_number_verified: false }
  const rows: Array<[string[], object]> = [
    [[], {}],
    [['openid'], {}],
    [['offline_access', 'admin', 'name', '__proto__', 'Profile'], {}],
    [['openid', 'profile'], profile],
    [['email'], email],
    [['address'], { address: ADDRESS }],
    [['phone'], phone],
    [['phone', 'email', 'openid'], { ...email, ...phone }],
    [['openid', ...CLAIM_SCOPES], { ...profile, ...email, address: ADDRESS, ...phone }]
  ]
  for (const [scopes, claims] of rows)
    t.strictSame(standardClaims(ANN, scopes), { sub: 'u1', ...claims }, scopes.join(' '))
  t.same(
    Object.keys(standardClaims(ANN, CLAIM_SCOPES)).sort(),
    ['sub', ...Object.values(CLAIMS_OF_SCOPE).flat()].sort(),
    'every claim there is'
  )
})

// covers C7 L2
t.test('prefers preferred_username of the row, and hides an email address without the email scope', (t) => {
  const rows: Array<[row: object, profile: string | undefined, withEmail: string | undefined]> = [
    [{ username: 'ann' }, 'ann', 'ann'],
    [{ username: 'ann', preferred_username: 'annie' }, 'annie', 'annie'],
    [{ username: 'ann@example.com', email: 'ann@example.com', preferred_username: 'annie' }, 'annie', 'annie'],
    [{ username: 'ann@example.com', email: 'ann@example.com' }, undefined, 'ann@example.com'],
    [{ username: 'ann@example.com', email: 'Ann@Example.com' }, undefined, 'ann@example.com'],
    [{ username: 'ann@example.com', email: 'other@example.com' }, undefined, 'ann@example.com'],
    [{ username: 'ann@example.com' }, undefined, 'ann@example.com'],
    [{ username: 'ann', preferred_username: 'ann@example.com' }, undefined, 'ann@example.com'],
    [{ username: '@ann' }, '@ann', '@ann'],
    [{ username: 'ann', preferred_username: '' }, 'ann', 'ann'],
    [{ username: 'ann', preferred_username: 7 }, 'ann', 'ann'],
    [{ username: 'postmaster', email: 'postmaster' }, undefined, 'postmaster']
  ]
  for (const [row, profile, withEmail] of rows) {
    const claims = (scopes: string[]): Record<string, unknown> =>
      standardClaims({ id: 'u', username: 'u', ...row }, scopes)
    t.equal(claims(['profile'])['preferred_username'], profile, JSON.stringify(row))
    t.equal(claims(['profile', 'email'])['preferred_username'], withEmail, JSON.stringify(row))
  }
  t.end()
})

t.test('omits claims with a missing, empty or mistyped value', async (t) => {
  t.same(standardClaims({ id: 'u2', username: 'bob', passwordHash: null }, CLAIM_SCOPES), {
    sub: 'u2',
    preferred_username: 'bob'
  })
  for (const value of [undefined, null, '', 1, true, {}, ['Ann'], () => 'Ann', Symbol('x')]) {
    const row = {
      id: 'u3',
      username: 'cat',
      ...Object.fromEntries(
        Object.values(CLAIMS_OF_SCOPE)
          .flat()
          .filter((name) => name !== 'updated_at' && name !== 'phone_number_verified' && name !== 'address')
          .map((name) => [name, value])
      ),
      emailVerified: true,
      phone_number_verified: true
    }
    t.same(
      standardClaims(row, CLAIM_SCOPES),
      { sub: 'u3', preferred_username: 'cat' },
      'and no word on whether an email or number is verified where there is none'
    )
  }
  for (const [value, claim] of [
    [null, undefined],
    ['1 Way', undefined],
    [[], undefined],
    [{}, undefined],
    [{ locality: '', country: 7 }, undefined],
    [{ country: 'CH', secret: 'x', region: null }, { country: 'CH' }]
  ] as const)
    t.same(standardClaims({ id: 'u', username: 'u', address: value }, ['address'])['address'], claim)
})

t.test('returns email_verified as a boolean, true only if the row says so', async (t) => {
  const rows: Array<[unknown, boolean]> = [
    [true, true],
    [1, true],
    [1n, true],
    [new Date(0), true],
    [false, false],
    [0, false],
    [undefined, false],
    [null, false],
    ['', false],
    ['false', false],
    ['0', false],
    ['true', false],
    [{}, false],
    [Number.NaN, false]
  ]
  for (const [emailVerified, claim] of rows)
    t.equal(standardClaims({ ...ANN, emailVerified }, ['email'])['email_verified'], claim, String(emailVerified))
  t.equal(
    standardClaims({ ...ANN, emailVerified: false, email_verified: true }, ['email'])['email_verified'],
    false,
    'a profile field of the claim’s name says nothing'
  )
})

t.test('returns updated_at in seconds', async (t) => {
  const rows: Array<[unknown, number | undefined]> = [
    [1_700_000_000, 1_700_000_000],
    [1_700_000_000.9, 1_700_000_000],
    [1_700_000_000_500, 1_700_000_000],
    [0, 0],
    [new Date(1_700_000_000_999), 1_700_000_000],
    [new Date(0), 0],
    ['2023-11-14T22:13:20.000Z', 1_700_000_000],
    ['2023-11-14T22:13:20+00:00', 1_700_000_000],
    [-1, undefined],
    [Number.NaN, undefined],
    [Infinity, undefined],
    [new Date(Number.NaN), undefined],
    ['yesterday', undefined],
    ['', undefined],
    [null, undefined],
    [true, undefined],
    [{}, undefined]
  ]
  for (const [given, claim] of rows)
    t.equal(standardClaims({ ...ANN, updated_at: given }, ['profile'])['updated_at'], claim, String(given))
})

// covers OIDF-oidcc-claims-essential
t.test('returns the claims that the claims parameter requests', async (t) => {
  const all = standardClaims(ANN, CLAIM_SCOPES)
  t.same(requestedClaims(all, undefined), {})
  t.same(requestedClaims(all, {}), {})
  t.same(
    requestedClaims(all, {
      name: { essential: true },
      nickname: null,
      email: {},
      role: { essential: true },
      passwordHash: null,
      toString: null,
      constructor: null
    }),
    { name: 'Ann Lee', nickname: 'annie', email: 'ann@example.com' },
    'an absent claim is no error, nor is an essential one'
  )
  const rows: Array<[object, boolean]> = [
    [{ value: 'Ann Lee' }, true],
    [{ value: 'Bob' }, false],
    [{ value: null }, false],
    [{ value: undefined }, false],
    [{ values: ['Bob', 'Ann Lee'] }, true],
    [{ values: ['Bob'] }, false],
    [{ values: [] }, false],
    [{ value: 'Ann Lee', values: ['Bob'] }, false],
    [{ essential: false }, true]
  ]
  for (const [how, there] of rows) t.equal('name' in requestedClaims(all, { name: how }), there, JSON.stringify(how))
  t.same(
    requestedClaims(all, {
      email_verified: { value: true },
      updated_at: { value: '1700000000' },
      sub: { value: 'u1' }
    }),
    { email_verified: true, sub: 'u1' },
    'a value of another type is another value'
  )
  const kept = JSON.parse('{"__proto__":null,"name":null}') as Record<string, null>
  t.strictSame(requestedClaims(all, kept), { name: 'Ann Lee' }, 'read back from the store')
})

// covers OIDC-5.1
t.test('reads updated_at as milliseconds if it is a number from 1e11 on', async (t) => {
  const at = (value: unknown): unknown =>
    standardClaims({ id: '1', username: 'ada', updated_at: value }, ['profile'])['updated_at']
  t.equal(at(1e11), 1e8)
  t.equal(at(1e11 - 1), 1e11 - 1)
  t.equal(at(0), 0)
  for (const value of [-1, NaN, Infinity, 'never', {}, null, true]) t.equal(at(value), undefined, JSON.stringify(value))
  t.equal(at('5138-11-16T09:46:40.000Z'), 1e11, 'text is never milliseconds')
})
