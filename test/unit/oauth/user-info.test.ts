import { admittedFor } from '../../support/admitted.ts'
import t from '../../support/tap.ts'
import { formatAuthorizationDetails } from '../../../lib/protocol/authorization-request.ts'
import type { GrantDeps } from '../../../lib/oauth/deps.ts'
import { userInfo } from '../../../lib/oauth/presented-token.ts'
import { type World, world } from '../tokens/world.ts'

async function ask(one: World, accessToken: string): Promise<Record<string, unknown>> {
  return await userInfo(await one.accessTokens.verify(accessToken, null), {
    ...one,
    accounts: { users: one.users }
  } as unknown as GrantDeps)
}

// covers OIDF-oidcc-scope-all OIDC-5.4
t.test('returns sub and the claims of the granted scopes only', async (t) => {
  const one = await world()
  const cases: Array<[string, Record<string, unknown>]> = [
    ['openid', { sub: 'u1' }],
    ['openid profile', { sub: 'u1', name: 'Ann', preferred_username: 'ann' }],
    ['openid email offline_access', { sub: 'u1', email: 'ann@example.com', email_verified: true }],
    ['openid phone', { sub: 'u1', phone_number: '+41' }],
    [
      'openid profile email',
      { sub: 'u1', name: 'Ann', preferred_username: 'ann', email: 'ann@example.com', email_verified: true }
    ]
  ]
  for (const [scope, claims] of cases)
    t.strictSame(await ask(one, (await one.signIn({ scope })).accessToken), claims, scope)
})

// covers OIDF-oidcc-claims-essential OIDC-5.5
t.test('returns the claims of the userinfo member, not of the id_token member', async (t) => {
  const one = await world()
  const authorization = formatAuthorizationDetails({
    redirectUri: 'https://a.example/',
    claims: { userinfo: { name: { essential: true }, nickname: null, sub: { value: 'u2' } }, id_token: { email: null } }
  })
  t.strictSame(await ask(one, (await one.signIn({ clientId: 'spa', authorization })).accessToken), {
    sub: 'u1',
    name: 'Ann'
  })
})

// covers ASVS-8.2.3
t.test('adds custom claims, and standard claims if requested, but no sub of the claims function', async (t) => {
  const uses: unknown[] = []
  const one = await world({
    claims: (_user, context) => {
      uses.push(context)
      return {
        role: 'admin',
        name: 'Dr Ann',
        email: 'dr@example.com',
        preferred_username: undefined,
        picture: null,
        sub: 'u2'
      }
    }
  })
  t.strictSame(await ask(one, (await one.signIn({ scope: 'openid profile', clientId: 'spa' })).accessToken), {
    sub: 'u1',
    name: 'Dr Ann',
    role: 'admin'
  })
  t.strictSame(uses, [{ scopes: ['openid', 'profile'], client: { clientId: 'spa' }, use: 'userinfo' }])
})

// covers OIDC-5.3.1
t.test('rejects a token without a session, such as the token of a client itself', async (t) => {
  const one = await world()
  await t.rejects(ask(one, one.accessTokens.mint({ sub: 'own', client_id: 'own', scopes: admittedFor('openid') })), {
    error: 'invalid_token'
  } as unknown as Error)
  await t.rejects(
    ask(one, one.accessTokens.mint({ sub: 'u1', client_id: 'u1', scopes: admittedFor('openid') })),
    { error: 'invalid_token' } as unknown as Error,
    'R9700-4.15 a client that is called like a user'
  )
})

// covers OIDF-oidcc-codereuse-30seconds
t.test(
  'rejects a token of a revoked session, of a disabled or unknown user, or of the session of another user',
  async (t) => {
    const one = await world()
    const revoked = await one.signIn()
    t.strictSame(await ask(one, revoked.accessToken), { sub: 'u1' })
    await one.state.tokens.revokeFamily(revoked.sid)
    await t.rejects(ask(one, revoked.accessToken), { error: 'invalid_token', statusCode: 401 } as unknown as Error)
    await t.rejects(ask(one, (await one.signIn({ userId: 'gone' })).accessToken), {
      error: 'invalid_token'
    } as unknown as Error)
    await t.rejects(ask(one, (await one.signIn({ userId: 'nobody' })).accessToken), {
      error: 'invalid_token'
    } as unknown as Error)
    const { sid } = await one.signIn()
    await t.rejects(
      ask(one, one.accessTokens.mint({ sub: 'gone', scopes: admittedFor('openid'), sid })),
      { error: 'invalid_token' } as unknown as Error,
      'a session of another user'
    )
  }
)
