import { createHash, createPublicKey, type JsonWebKeyInput, verify } from 'node:crypto'
import t from '../support/tap.ts'
import { memoryUserStore, type NewUser, type User } from '../../lib/index.ts'
import { bearer, ISSUER, PASSWORD } from '../support/app.ts'
import { formAction } from '../support/browser.ts'
import { decodeJwt } from '../support/jwt.ts'
import {
  answerOf,
  authorizeAs,
  authorizePath,
  CALLBACK,
  CLIENTS,
  openidApp,
  type OpenidApp,
  redeem,
  SECRET,
  tokensOf
} from '../support/openid.ts'

const PERSON = {
  name: 'Ann Example',
  given_name: 'Ann',
  family_name: 'Example',
  middle_name: 'B',
  nickname: 'annie',
  profile: 'https://a.example/',
  picture: 'https://a.example/p',
  website: 'https://a.example/w',
  gender: 'female',
  birthdate: '1990-01-01',
  zoneinfo: 'Europe/Zurich',
  locale: 'de-CH',
  updated_at: '2025-01-01T00:00:00Z',
  email: 'ann@example.com',
  emailVerified: true,
  phone_number: '+41',
  phone_number_verified: false,
  address: { country: 'CH', secret: 'x' },
  role: 'admin',
  passwordHint: 'x'
}
const STANDARD = [
  'address',
  'birthdate',
  'email',
  'email_verified',
  'family_name',
  'gender',
  'given_name',
  'locale',
  'middle_name',
  'name',
  'nickname',
  'phone_number',
  'phone_number_verified',
  'picture',
  'preferred_username',
  'profile',
  'updated_at',
  'website',
  'zoneinfo'
]
const PROFILE = STANDARD.filter((name) => !/^(?:address|email|phone)/.test(name))
const ALWAYS = ['acr', 'amr', 'at_hash', 'aud', 'auth_time', 'exp', 'iat', 'iss', 'sid', 'sub']

async function personApp(): Promise<OpenidApp> {
  const users = memoryUserStore()
  const { create } = users
  return await openidApp({
    users: {
      ...users,
      create: async (user: NewUser) => (await create?.({ ...user, ...PERSON } as unknown as NewUser)) as User
    },
    scopes: ['openid', 'profile', 'email', 'address', 'phone', 'offline_access']
  })
}
const sorted = (names: Iterable<string>): string[] => [...names].toSorted((a, b) => a.localeCompare(b))

// covers OIDC-2 OIDC-3.1.3.6 OIDC-10.1 ASVS-6.8.4 OIDF-oidcc-server OIDF-oidcc-idtoken-signature
t.test('signs ID tokens with the algorithm of the client, and includes exactly the required claims', async (t) => {
  const subject = await openidApp({
    clients: [...CLIENTS, { clientId: 'es', redirectUris: [CALLBACK], idTokenSignedResponseAlg: 'ES256' }]
  })
  t.teardown(subject.close)
  const { app, ann, browser, clock } = subject
  const { keys } = (await app.inject('/.well-known/jwks.json')).json() as { keys: Array<Record<string, string>> }
  t.equal(new Set(keys.map(({ kid }) => kid)).size, keys.length, 'a kid each')
  for (const key of keys)
    t.same(
      Object.keys(key).filter((name) => ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k', 'oth'].includes(name)),
      [],
      'public halves only'
    )
  await authorizeAs(browser, authorizePath())
  clock.step(7000)
  for (const [clientId, alg] of [
    ['spa', 'RS256'],
    ['es', 'ES256']
  ] as const) {
    const { code = '' } = await authorizeAs(browser, authorizePath({ client_id: clientId, nonce: 'n' }))
    const { id_token: idToken, access_token: access } = (await redeem(app, code, { client_id: clientId })).json()
    const { header, claims } = decodeJwt(idToken)
    const now = clock.now() / 1000
    const key = keys.find(({ kid }) => kid === header['kid'])
    t.same(header, { alg, typ: 'JWT', kid: key?.['kid'] })
    const [head, payload, signature = ''] = idToken.split('.')
    const publicKey = createPublicKey({ key, format: 'jwk' } as JsonWebKeyInput)
    t.ok(
      verify(
        'sha256',
        Buffer.from(`${head}.${payload}`),
        { key: publicKey, dsaEncoding: 'ieee-p1363' },
        Buffer.from(signature, 'base64url')
      )
    )
    t.strictSame(claims, {
      iss: ISSUER,
      sub: ann.sub,
      aud: clientId,
      exp: now + 900,
      iat: now,
      auth_time: now - 7,
      nonce: 'n',
      acr: 'password',
      amr: ['pwd'],
      sid: claims['sid'],
      at_hash: createHash('sha256').update(access).digest().subarray(0, 16).toString('base64url')
    })
    t.match(claims['sid'], /^[\w-]{20,}$/)
    t.notOk(
      [...browser.cookies.values()].some((cookie) => cookie.includes(String(claims['sid']))),
      'the sid is no credential'
    )
    const access2 = decodeJwt(access)
    t.match(
      access2,
      {
        header: { typ: 'at+jwt', alg: 'ES256' },
        claims: { iss: ISSUER, aud: ISSUER, sub: ann.sub, client_id: clientId, scope: 'openid', auth_time: now - 7 }
      },
      'R9068-2.1 R9068-2.2'
    )
    t.not(access2.claims['jti'], undefined)
    t.notOk('nonce' in access2.claims || 'at_hash' in access2.claims)
  }
})

// covers OIDC-5.4 OIDC-5.1 R9068-6 OIDF-oidcc-scope-profile OIDF-oidcc-scope-email OIDF-oidcc-scope-address
// OIDF-oidcc-scope-phone OIDF-oidcc-scope-all
t.test('returns the claims of the granted scopes at userinfo only', async (t) => {
  const subject = await personApp()
  t.teardown(subject.close)
  const rows: Array<[scope: string, claims: string[]]> = [
    ['openid', []],
    ['openid profile', PROFILE],
    ['openid email', ['email', 'email_verified']],
    ['openid address', ['address']],
    ['openid phone', ['phone_number', 'phone_number_verified']],
    ['phone address email profile openid', STANDARD]
  ]
  for (const [scope, claims] of rows) {
    const tokens = await tokensOf(subject, { scope })
    const userinfo = await subject.app.inject({ url: '/auth/userinfo', headers: bearer(tokens.access_token) })
    t.same(sorted(Object.keys(userinfo.json())), sorted(['sub', ...claims]), `userinfo of ${scope}`)
    t.same(sorted(Object.keys(decodeJwt(tokens.id_token ?? '').claims)), sorted(ALWAYS), `ID token of ${scope}`)
    t.same(
      Object.keys(decodeJwt(tokens.access_token).claims).filter((name) => STANDARD.includes(name) || name === 'role'),
      [],
      `access token of ${scope}`
    )
    t.equal(userinfo.json().sub, decodeJwt(tokens.id_token ?? '').claims['sub'], 'OIDC-5.3.2')
  }
  const all = (
    await subject.app.inject({
      url: '/auth/userinfo',
      headers: bearer((await tokensOf(subject, { scope: 'openid profile email address phone' })).access_token)
    })
  ).json()
  t.strictSame(
    [all.updated_at, all.email_verified, all.address, all.phone_number_verified],
    [1_735_689_600, true, { country: 'CH' }, false],
    'types'
  )
})

// covers OIDC-5.5 OIDF-oidcc-claims-essential
t.test('returns requested claims in the ID token or at userinfo as the claims parameter says', async (t) => {
  const subject = await personApp()
  t.teardown(subject.close)
  const rows: Array<[what: string, claims: unknown, userinfo: string[], idToken: string[]]> = [
    ['essential name', { userinfo: { name: { essential: true } } }, ['name'], []],
    ['name in the ID token', { id_token: { name: null } }, [], ['name']],
    [
      'both',
      { userinfo: { email: null }, id_token: { email: null, phone_number: { essential: true } } },
      ['email'],
      ['email', 'phone_number']
    ],
    [
      'unknown',
      {
        userinfo: {
          shoe_size: { essential: true },
          role: null,
          passwordHash: null,
          passwordHint: null,
          username: null,
          disabled: null,
          id: null
        },
        unknown: { name: null }
      },
      [],
      []
    ],
    ['value that fits', { userinfo: { email: { value: 'ann@example.com' } } }, ['email'], []],
    [
      'value that does not',
      { userinfo: { email: { value: 'other@example.com' }, locale: { values: ['en'] } } },
      [],
      []
    ],
    [
      'registered names',
      {
        id_token: {
          iss: { value: 'x' },
          aud: null,
          exp: null,
          nonce: { value: 'forged' },
          sid: null,
          at_hash: null,
          auth_time: { essential: true },
          amr: null
        }
      },
      [],
      []
    ],
    [
      'prototypes',
      JSON.parse(
        '{"userinfo":{"__proto__":{"essential":true},"constructor":null,"toString":null,"hasOwnProperty":null},"id_token":{"__proto__":null},"__proto__":{"userinfo":{"name":null}}}'
      ),
      [],
      []
    ]
  ]
  for (const [what, claims, userinfo, idToken] of rows) {
    const tokens = await tokensOf(subject, { claims: JSON.stringify(claims) })
    const answer = (await subject.app.inject({ url: '/auth/userinfo', headers: bearer(tokens.access_token) })).json()
    t.same(sorted(Object.keys(answer)), sorted(['sub', ...userinfo]), `userinfo, ${what}`)
    t.same(
      sorted(Object.keys(decodeJwt(tokens.id_token ?? '').claims)),
      sorted([...ALWAYS, ...idToken]),
      `ID token, ${what}`
    )
  }
})

// covers OIDC-5.5
t.test(
  'DOS-json ASVS-15.3.6 rejects a malformed or oversized claims parameter with invalid_request or 413',
  async (t) => {
    const subject = await openidApp()
    t.teardown(subject.close)
    const { browser } = subject
    await authorizeAs(browser, authorizePath())
    const deep = (depth: number): string => `${'{"userinfo":'.repeat(depth)}{}${'}'.repeat(depth)}`
    const rows = [
      '{',
      '[]',
      'null',
      '"x"',
      '1',
      'true',
      '{"userinfo":[]}',
      '{"userinfo":null}',
      '{"id_token":"x"}',
      '{"id_token":{"acr":1}}',
      '{"id_token":{"acr":[]}}',
      '{"userinfo":{"name":{"essential":"yes"}}}',
      '{"userinfo":{"name":{"values":{}}}}',
      '{"userinfo":{"name":{"values":1}}}',
      deep(50),
      '['.repeat(1300),
      '{"a":'.repeat(600),
      JSON.stringify({ userinfo: Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`c${index}`, null])) }),
      JSON.stringify({ userinfo: { name: { values: Array.from({ length: 21 }, () => 'x') } } }),
      '{"userinfo":{"name":{"value":{"a":{"b":1}}}}}',
      '\u0000',
      '{"userinfo":{},}',
      "{'userinfo':{}}",
      'undefined',
      'NaN'
    ]
    for (const claims of rows) {
      const { statusCode, headers } = await browser.get(authorizePath({ claims }))
      t.equal(statusCode, 303, claims.slice(0, 40))
      t.match(headers.location, /^https:\/\/app\.example\/cb\?error=invalid_request&/, claims.slice(0, 40))
    }
    t.match(
      (await browser.get(authorizePath({ claims: JSON.stringify({ x: 'y'.repeat(5000) }) }))).headers.location,
      /^https:\/\/app\.example\/cb\?error=invalid_request&/,
      'C3 past its bound'
    )
    t.equal(
      (
        await subject.app.inject({
          method: 'POST',
          url: '/auth/authorize',
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          payload: `claims=${'x'.repeat(100_000)}`
        })
      ).statusCode,
      413,
      '100 kB'
    )
    t.equal(({} as Record<string, unknown>)['essential'], undefined)
  }
)

// covers OIDC-2
t.test('issues an ID token for a user id of 255 characters, and answers 500 for one of 256', async (t) => {
  for (const [length, ok] of [
    [255, true],
    [256, false]
  ] as const) {
    const id = 'u'.repeat(length)
    const users = memoryUserStore()
    const renamed = async (): Promise<User | null> => {
      const user = await users.findByUsername('ann')
      return user === null ? null : { ...user, id }
    }
    const subject = await openidApp({
      users: { ...users, findByUsername: renamed, findById: async (wanted) => (wanted === id ? await renamed() : null) }
    })
    t.teardown(subject.close)
    const { code = '' } = await authorizeAs(subject.browser, authorizePath())
    const reply = await redeem(subject.app, code)
    t.equal(reply.statusCode === 200, ok, `${length}`)
    if (!ok) t.same([reply.statusCode, reply.json().error, 'id_token' in reply.json()], [500, 'server_error', false])
  }
})

// covers ASVS-10.3.3 OIDC-5.7
t.test('names a user by the same sub in the ID tokens of two clients', async (t) => {
  const { app, ann, browser, close } = await openidApp()
  t.teardown(close)
  for (const [clientId, secret] of [
    ['spa', undefined],
    ['web', SECRET]
  ] as const) {
    const { code = '' } = await authorizeAs(browser, authorizePath({ client_id: clientId }))
    const { id_token: idToken } = (await redeem(app, code, { client_id: clientId, client_secret: secret })).json()
    t.match(decodeJwt(idToken).claims, { sub: ann.sub, aud: clientId })
  }
})

// covers L7
t.test('adds claims of the granted scopes to ID tokens when idToken.claims or idTokenClaims is "scopes"', async (t) => {
  const people = async (options: Parameters<typeof openidApp>[0]): Promise<OpenidApp> => {
    const users = memoryUserStore()
    const { create } = users
    return await openidApp({
      users: {
        ...users,
        create: async (user: NewUser) => (await create?.({ ...user, ...PERSON } as unknown as NewUser)) as User
      },
      scopes: ['openid', 'profile', 'email', 'address', 'phone', 'offline_access'],
      ...options
    })
  }
  const [spa, web, ...others] = CLIENTS as [(typeof CLIENTS)[0], (typeof CLIENTS)[0], ...typeof CLIENTS]
  const rows = [
    ['left out', {}, { spa: false, web: false }],
    ['for all', { idToken: { claims: 'scopes' } }, { spa: true, web: true }],
    ['for one', { clients: [{ ...spa, idTokenClaims: 'scopes' }, web, ...others] }, { spa: true, web: false }],
    [
      'for all but one',
      { idToken: { claims: 'scopes' }, clients: [{ ...spa, idTokenClaims: 'requested' }, web, ...others] },
      { spa: false, web: true }
    ],
    [
      'undefined for one',
      { idToken: { claims: 'scopes' }, clients: [{ ...spa, idTokenClaims: undefined }, web, ...others] },
      { spa: true, web: true }
    ]
  ] as const
  for (const [what, options, expected] of rows) {
    const subject = await people(options as unknown as Parameters<typeof openidApp>[0])
    for (const clientId of ['spa', 'web'] as const) {
      for (const [scope, claims] of [
        ['openid', []],
        ['openid email', ['email', 'email_verified']],
        ['openid profile', PROFILE]
      ] as const) {
        const { code = '' } = await authorizeAs(subject.browser, authorizePath({ client_id: clientId, scope }))
        const { id_token: idToken = '' } = (
          await redeem(subject.app, code, {
            client_id: clientId,
            ...(clientId === 'web' ? { client_secret: SECRET } : {})
          })
        ).json<{ id_token?: string }>()
        const ofUser = Object.keys(decodeJwt(idToken).claims).filter((name) => STANDARD.includes(name))
        t.same(sorted(ofUser), expected[clientId] ? sorted(claims) : [], `${what}: ${clientId}, ${scope}`)
      }
    }
    await subject.close()
  }
})

// covers L7 A1
t.test('limits idToken.claims "scopes" to the registered scopes of a third-party client', async (t) => {
  const users = memoryUserStore()
  const { create } = users
  const third = {
    clientId: 'third',
    firstParty: false,
    clientSecret: SECRET,
    redirectUris: [CALLBACK],
    scopes: ['openid', 'email']
  }
  const { app, browser, close } = await openidApp({
    users: {
      ...users,
      create: async (user: NewUser) => (await create?.({ ...user, ...PERSON } as unknown as NewUser)) as User
    },
    clients: [third],
    idToken: { claims: 'scopes' },
    scopes: ['openid', 'profile', 'email', 'address']
  })
  t.teardown(close)
  const path = authorizePath({ client_id: 'third', scope: 'openid profile email address' })
  const { url: signInUrl } = await browser.follow(await browser.get(path))
  const asked = await browser.follow(await browser.submit(signInUrl, { username: 'ann', password: PASSWORD }))
  const { url } = await browser.follow(await browser.submit(formAction(asked.reply.body), { decision: 'allow' }))
  const { id_token: idToken = '' } = (
    await redeem(app, answerOf(url)['code'] ?? '', { client_id: 'third', client_secret: SECRET })
  ).json<{ id_token?: string }>()
  t.same(sorted(Object.keys(decodeJwt(idToken).claims).filter((name) => STANDARD.includes(name))), [
    'email',
    'email_verified'
  ])
})
