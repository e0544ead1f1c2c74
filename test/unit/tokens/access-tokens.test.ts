import { admittedFor } from '../../support/admitted.ts'
import t from '../../support/tap.ts'
import { OAuthError } from '../../../lib/errors.ts'
import type { LoadedKey } from '../../../lib/ports/cryptography.ts'
import type { AccessTokenClaims } from '../../../lib/protocol/access-token.ts'
import { systemRandom } from '../../../lib/adapters/node/system.ts'
import { fixedKeyRing, type KeyRing } from '../../../lib/keys/key-ring.ts'
import { steppedClock } from '../../../lib/testing/index.ts'
import { type AccessTokens, accessTokens } from '../../../lib/tokens/access-tokens.ts'
import { verifiedTokenCache } from '../../../lib/tokens/verified-token-cache.ts'
import { revocations } from '../../../lib/sessions/sessions.ts'
import { ISSUER, keyOf } from './world.ts'

const refused = { code: 'FST_AUTHORITY_OAUTH', error: 'invalid_token' }
const SUBJECT = {
  sub: 'u1',
  scopes: admittedFor('openid'),
  sid: 's1',
  extra: { roles: ['reader'], address: { country: 'CH' } }
}

/** An instance whose key counts verifications, and whose key ring a test can replace. */
async function instance(alg = 'ES256') {
  const clock = steppedClock()
  const key = await keyOf(alg)
  let verifications = 0
  const counting: LoadedKey = {
    ...key,
    verify: (token) => {
      verifications += 1
      return key.verify(token)
    }
  }
  let current: KeyRing = fixedKeyRing([counting])
  const ring: KeyRing = {
    begin() {},
    ready: async (name) => {
      await current.ready(name)
    },
    signingKey: (name) => current.signingKey(name),
    algs: () => current.algs(),
    find: (kid) => current.find(kid),
    findForHint: async (kid) => await current.findForHint(kid),
    refresh: async () => {
      await current.refresh()
    },
    publicJwks: () => current.publicJwks(),
    ages: () => current.ages(),
    close: () => {
      current.close()
    }
  }
  const revoked = revocations(900_000, clock)
  const tokens = accessTokens(
    { issuer: ISSUER, audience: ISSUER, clockSkewSeconds: 60, expiresInSeconds: 900, typ: 'at+jwt' },
    { ring, cache: verifiedTokenCache(100), revocations: revoked, clock, random: systemRandom(), resources: [] }
  )
  return {
    clock,
    revoked,
    tokens,
    key: counting,
    changeRing: (keys: LoadedKey[]) => {
      current = fixedKeyRing(keys)
    },
    verifications: () => verifications
  }
}

/** Authenticates an Authorization header. Throws an error that `authenticate` returns. */
async function authenticate(tokens: AccessTokens, authorization: string | undefined): Promise<AccessTokenClaims> {
  const found = await tokens.authenticate(authorization, null)
  if (found instanceof OAuthError) throw found
  return found
}

/** The functions that accept an access token. */
const WAYS: Record<string, (tokens: AccessTokens, token: string) => Promise<AccessTokenClaims>> = {
  authenticate: async (tokens, token) => await authenticate(tokens, `Bearer ${token}`),
  'authenticate with bEARER': async (tokens, token) => await authenticate(tokens, `bEARER ${token}`),
  verify: async (tokens, token) => await tokens.verify(token, null)
}

/** Tokens that an instance knows, because it has made or verified them. */
const WARM: Record<string, (tokens: AccessTokens) => Promise<string>> = {
  'a token made here': async (tokens) => tokens.mint(SUBJECT),
  'a token verified here': async (tokens) => {
    const { tokens: elsewhere } = await instance()
    const token = elsewhere.mint(SUBJECT)
    await tokens.verify(token, null)
    return token
  }
}

t.test('accepts a token of this instance without verifying its signature', async (t) => {
  for (const alg of ['ES256', 'RS256']) {
    const { tokens, verifications } = await instance(alg)
    const token = tokens.mint(SUBJECT)
    for (const way of Object.values(WAYS)) t.match(await way(tokens, token), { sub: 'u1', sid: 's1', iss: ISSUER })
    t.equal(verifications(), 0, `${alg}: nothing was verified`)
  }
})

t.test('verifies the signature of a token only once', async (t) => {
  const { tokens: elsewhere } = await instance()
  const { tokens, verifications } = await instance()
  const token = elsewhere.mint(SUBJECT)
  const first = await tokens.verify(token, null)
  for (const way of Object.values(WAYS)) t.strictSame(await way(tokens, token), first)
  t.notOk(tokens.authenticate(`Bearer ${token}`, null) instanceof Promise, 'at once')
  t.equal(verifications(), 1)
})

// covers A14 R9068-2.2
t.test('does not let the host set a registered claim, a key binding or an actor', async (t) => {
  const { tokens, key } = await instance()
  const names = [
    'iss',
    'sub',
    'aud',
    'exp',
    'iat',
    'nbf',
    'jti',
    'client_id',
    'scope',
    'sid',
    'auth_time',
    'cnf',
    'act',
    'may_act',
    's_hash',
    'sub_jwk'
  ]
  const forged = key.verify(
    tokens.mint({
      ...SUBJECT,
      extra: { ...Object.fromEntries(names.map((name) => [name, 'forged'])), role: 'reader' }
    })
  ) as Record<string, unknown>
  const plain = key.verify(tokens.mint({ ...SUBJECT, extra: { role: 'reader' } })) as Record<string, unknown>
  t.strictSame({ ...forged, jti: '' }, { ...plain, jti: '' })
})

t.test('returns the same claims for a token of this instance as a verifier reads', async (t) => {
  const { tokens, key } = await instance()
  const token = tokens.mint({
    ...SUBJECT,
    extra: {
      at: new Date(0),
      nothing: undefined,
      name: 'Zoë',
      iss: 'https://evil.example',
      ...(JSON.parse('{"__proto__": {"scope": "admin"}}') as object)
    }
  })
  t.strictSame(tokens.authenticate(`Bearer ${token}`, null), key.verify(token))
  t.match(tokens.authenticate(`Bearer ${token}`, null), {
    iss: ISSUER,
    scope: 'openid',
    at: '1970-01-01T00:00:00.000Z',
    name: 'Zoë'
  })
})

for (const [what, warm] of Object.entries(WARM)) {
  t.test(`${what}: freezes the claims, so that one caller cannot change them for another`, async (t) => {
    const { tokens } = await instance()
    const token = await warm(tokens)
    for (const way of Object.values(WAYS)) {
      const claims = (await way(tokens, token)) as AccessTokenClaims & { roles: string[]; address: { country: string } }
      t.throws(() => {
        ;(claims as { sub: string }).sub = 'u2'
      }, TypeError)
      t.throws(() => {
        claims.roles.push('admin')
      }, TypeError)
      t.throws(() => {
        claims.address.country = 'XX'
      }, TypeError)
      t.throws(() => {
        ;(claims as Record<string, unknown>)['admin'] = true
      }, TypeError)
      t.match(await way(tokens, token), { sub: 'u1', roles: ['reader'], address: { country: 'CH' } })
    }
  })

  for (const [name, way] of Object.entries(WAYS)) {
    t.test(`${what}, ${name}: refuses the token from its expiry on`, async (t) => {
      const { tokens, clock } = await instance()
      const token = await warm(tokens)
      const { exp } = await way(tokens, token)
      clock.step(exp * 1000 - clock.now() - 1)
      t.ok(await way(tokens, token))
      clock.step(1)
      await t.rejects(way(tokens, token), { ...refused, detail: 'exp' })
    })

    t.test(`${what}, ${name}: refuses the token after its family was revoked on this instance`, async (t) => {
      const { tokens, revoked } = await instance()
      const token = await warm(tokens)
      revoked.add('s2')
      t.ok(await way(tokens, token))
      revoked.add('s1')
      await t.rejects(way(tokens, token), { ...refused, message: 'The token was revoked.' })
    })

    t.test(`${what}, ${name}: refuses the token while its key is not in the key ring`, async (t) => {
      const { tokens, key, changeRing } = await instance()
      const token = await warm(tokens)
      t.ok(await way(tokens, token))
      const other = await keyOf('EdDSA')
      for (const keys of [[other], [{ ...other, kid: key.kid }]]) {
        changeRing(keys)
        await t.rejects(way(tokens, token), refused)
      }
      changeRing([key])
      t.ok(await way(tokens, token))
    })

    t.test(`${what}, ${name}: refuses a modified token and other lookalikes`, async (t) => {
      const { tokens } = await instance()
      const token = await warm(tokens)
      const [header = '', payload = '', signature = ''] = token.split('.')
      const admin = Buffer.from(JSON.stringify({ ...(await tokens.verify(token, null)), scope: 'admin' })).toString(
        'base64url'
      )
      const swap = (text: string, at: number): string =>
        text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1)
      const lookAlikes = [
        `${header}.${admin}.${signature}`,
        `${swap(header, 9)}.${payload}.${signature}`,
        `${header}.${swap(payload, 5)}.${signature}`,
        `${header}.${payload}.${swap(signature, 0)}`,
        `${header}.${payload}.${swap(signature, 84)}`,
        `${header}.${payload}.${signature}=`,
        `${header}.${payload}.${signature.slice(0, -1)}`,
        signature,
        signature.slice(-12),
        `.${signature}`,
        `${token} `,
        `\t${token}`
      ]
      for (const lookAlike of lookAlikes) {
        await t.rejects(way(tokens, lookAlike), refused, lookAlike)
      }
      for (const header of [
        undefined,
        token,
        `Basic ${token}`,
        `Bearer \t${token}`,
        `Bearer\t${token}`,
        `Bearer ${token}, Bearer ${token}`,
        '',
        'Bearer '
      ]) {
        await t.rejects(authenticate(tokens, header), refused, header === undefined ? 'none' : `"${header}"`)
      }
      t.ok(await authenticate(tokens, `Bearer   ${token}`), 'C6 after any number of spaces')
      t.ok(await way(tokens, token), 'the real one goes on')
    })
  }
}
