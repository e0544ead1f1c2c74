import { admittedFor } from '../../support/admitted.ts'
import t from '../../support/tap.ts'
import type { Client } from '../../../lib/ports/client-store.ts'
import { digest } from '../../../lib/protocol/digest.ts'
import { newCredentialId, sidOf } from '../../../lib/protocol/credential.ts'
import { introspect, type Introspection } from '../../../lib/oauth/presented-token.ts'
import type { GrantDeps } from '../../../lib/oauth/deps.ts'
import { clients, ISSUER, type World, world } from '../tokens/world.ts'

const INACTIVE = { active: false }

async function ask(one: World, caller: string, token: string): Promise<Introspection> {
  const client = clients.find(({ clientId }) => clientId === caller) as Client
  const answer = await introspect(token, client, {
    ...one,
    accounts: { issuer: ISSUER, users: one.users, clock: one.clock },
    refreshToken: { reuseGraceMs: 10_000 }
  } as unknown as GrantDeps)
  return JSON.parse(JSON.stringify(answer)) as Introspection
}

// covers R7662-2.2 R7662-5
t.test('describes an active access token without personal data', async (t) => {
  const one = await world()
  const { accessToken, sid } = await one.signIn({ clientId: 'own', scope: 'openid email' })
  const answer = await ask(one, 'own', accessToken)
  const now = one.clock.now() / 1000
  t.match(answer, { jti: /^.{22}$/ })
  t.strictSame(
    { ...answer, jti: '' },
    {
      active: true,
      scope: 'openid email',
      client_id: 'own',
      sub: 'u1',
      aud: ISSUER,
      iss: ISSUER,
      exp: now + 900,
      iat: now,
      jti: '',
      token_type: 'Bearer',
      auth_time: now,
      acr: 'password',
      amr: ['pwd'],
      sid
    }
  )
})

// covers R7662-2.2
t.test('distinguishes a refresh token from an access token, and does not use it up', async (t) => {
  const one = await world()
  const { refreshToken, sid } = await one.signIn({ clientId: 'own', scope: 'openid' })
  const before = await one.state.tokens.findFamily(sid, one.clock.now())
  one.clock.step(1000)
  const now = one.clock.now() / 1000
  t.strictSame(await ask(one, 'own', refreshToken), {
    active: true,
    scope: 'openid',
    client_id: 'own',
    sub: 'u1',
    iss: ISSUER,
    exp: now - 1 + 3600,
    auth_time: now - 1,
    acr: 'password',
    amr: ['pwd'],
    sid
  })
  t.strictSame(await one.state.tokens.findFamily(sid, one.clock.now()), before)
})

t.test('describes an access token that a client got for itself', async (t) => {
  const one = await world()
  const token = one.accessTokens.mint({ sub: 'own', client_id: 'own', scopes: admittedFor('read') })
  t.match(await ask(one, 'own', token), { active: true, sub: 'own', client_id: 'own', scope: 'read' })
  t.strictSame(
    await ask(one, 'own', one.accessTokens.mint({ sub: 'u1', client_id: 'own', scopes: admittedFor('read') })),
    INACTIVE,
    "a user's token that belongs to no session"
  )
})

// covers R7662-4 ADV-CVE-2026-37979
t.test('shows an access token only to its client and audience, and a refresh token only to its client', async (t) => {
  // Which callers see an access token that was issued to `owner` for `audience`.
  const cases: Array<[owner: string | null, audience: string | string[], seenBy: string[]]> = [
    [null, ISSUER, ['own']],
    ['spa', ISSUER, ['own']],
    ['other', ISSUER, ['own', 'other']],
    ['spa', 'https://api.example.com', []],
    ['spa', ['https://api.example.com', 'api'], ['api']],
    ['spa', 'api', ['api']],
    ['other', 'api', ['api', 'other']],
    [null, ['api', ISSUER], ['own', 'api']]
  ]
  for (const [owner, audience, seenBy] of cases) {
    const one = await world({ audience })
    const { accessToken, refreshToken } = await one.signIn({ clientId: owner })
    for (const caller of ['own', 'api', 'other']) {
      const name = `${caller} asks about a token of ${owner} for ${String(audience)}`
      const answer = await ask(one, caller, accessToken)
      if (seenBy.includes(caller)) t.match(answer, { active: true }, name)
      else t.strictSame(answer, INACTIVE, name)
      const refresh = await ask(one, caller, refreshToken)
      if (caller === owner) t.match(refresh, { active: true }, `${name}, refresh`)
      else t.strictSame(refresh, INACTIVE, `${name}, refresh`)
    }
  }
})

// covers R7662-2.2
t.test('returns the same inactive answer for each kind of invalid token', async (t) => {
  const one = await world()
  const good = await one.signIn({ clientId: 'own' })
  const revoked = await one.signIn({ clientId: 'own' })
  await one.state.tokens.revokeFamily(revoked.sid)
  const gone = await one.signIn({ clientId: 'own', userId: 'gone' })
  const [familyId = ''] = good.refreshToken.split('.')
  const [codeId, codeSecret] = [newCredentialId('u1', 'c'.repeat(21) + 'A'), 'c'.repeat(42) + 'A']
  await one.state.tokens.createCode({
    sid: sidOf(codeId),
    userId: 'u1',
    clientId: 'own',
    scope: 'openid',
    authenticatedAt: 0,
    acr: 'password',
    amr: ['pwd'],
    createdAt: 0,
    sessionSid: null,
    offline: true,
    authorization: '{}',
    codeDigest: digest(codeSecret),
    codeExpiresAt: one.clock.now() + 60_000
  })
  const foreign = await world()
  const cases: Record<string, string> = {
    garbage: 'x',
    long: 'x'.repeat(20_000),
    'revoked access token': revoked.accessToken,
    'revoked refresh token': revoked.refreshToken,
    'access token of a disabled user': gone.accessToken,
    'refresh token of a disabled user': gone.refreshToken,
    'an ID token': await one.idTokens.mint({
      user: { id: 'u1', username: 'ann', passwordHash: null },
      client: { clientId: 'own' },
      scopes: [],
      authentication: { acr: 'password', amr: ['pwd'], authenticatedAt: 0 },
      sid: good.sid,
      accessToken: good.accessToken
    }),
    'a logout token': await one.idTokens.mintLogoutToken({ client: { clientId: 'own' }, userId: 'u1', sid: good.sid }),
    'another secret': `${familyId}.${'A'.repeat(43)}`,
    'an unknown family': `${'A'.repeat(38)}.${'A'.repeat(43)}`,
    'a code': `${codeId}.${codeSecret}`,
    'a session of another store': (await foreign.signIn({ clientId: 'own' })).accessToken,
    'another signature': `${good.accessToken.slice(0, -8)}AAAAAAAA`
  }
  for (const [name, token] of Object.entries(cases)) t.strictSame(await ask(one, 'own', token), INACTIVE, name)
  t.match(await ask(one, 'own', good.refreshToken), { active: true }, 'a guess ends nothing')
  one.clock.step(900_000)
  t.strictSame(await ask(one, 'own', good.accessToken), INACTIVE, 'an expired access token')
  one.clock.step(3_600_000)
  t.strictSame(await ask(one, 'own', good.refreshToken), INACTIVE, 'an expired refresh token')
})

t.test('reports a replaced refresh token as active during the grace time', async (t) => {
  const one = await world()
  const { sid, refreshToken } = await one.signIn({ clientId: 'own' })
  const [, secret = ''] = refreshToken.split('.')
  const now = one.clock.now()
  await one.state.tokens.rotateToken(
    { sid, digest: digest(secret), now, graceMs: 10_000, idleExpiresAt: now + 3_600_000 },
    { digest: 'next', sealed: 'sealed' }
  )
  one.clock.step(9999)
  t.match(await ask(one, 'own', refreshToken), { active: true })
  one.clock.step(2)
  t.strictSame(await ask(one, 'own', refreshToken), INACTIVE)
  t.ok(await one.state.tokens.findFamily(sid, one.clock.now()), 'and asking past that is no replay')
})

// covers ADV-CVE-2020-15223
t.test('passes a store error on instead of reporting an inactive token', async (t) => {
  const one = await world()
  const { accessToken, refreshToken } = await one.signIn({ clientId: 'own' })
  const fail = async (): Promise<never> => {
    throw new Error('down')
  }
  const down = { ...one, sessions: { find: fail }, tokens: { peekToken: fail } } as unknown as World
  for (const token of [accessToken, refreshToken]) await t.rejects(ask(down, 'own', token), { message: 'down' })
})
