import type { Module } from './modules-flow.ts'
import type { Suite } from './suite.ts'

const CLAIMS: Readonly<Record<string, string[]>> = {
  profile: [
    'name',
    'given_name',
    'family_name',
    'middle_name',
    'nickname',
    'profile',
    'picture',
    'website',
    'gender',
    'birthdate',
    'zoneinfo',
    'locale',
    'updated_at',
    'preferred_username'
  ],
  email: ['email', 'email_verified'],
  address: ['address'],
  phone: ['phone_number', 'phone_number_verified']
}

/** The claims of each scope, and the effects of the `claims` parameter. */
export const CLAIMS_MODULES: Readonly<Record<string, Module>> = {
  'oidcc-scope-profile': async (suite) => {
    await checkScopes(suite, ['profile'])
  },
  'oidcc-scope-email': async (suite) => {
    await checkScopes(suite, ['email'])
  },
  'oidcc-scope-address': async (suite) => {
    await checkScopes(suite, ['address'])
  },
  'oidcc-scope-phone': async (suite) => {
    await checkScopes(suite, ['phone'])
  },
  'oidcc-scope-all': async (suite) => {
    await checkScopes(suite, Object.keys(CLAIMS))
  },

  async 'oidcc-alternate-happy-flow'(suite) {
    const { t } = suite
    const { userinfo, tokens } = await suite.signIn({ scope: 'email openid' }, { reversed: true })
    t.strictSame(Object.keys(userinfo).toSorted(), ['email', 'email_verified', 'sub'])
    t.strictSame(tokens.scope?.split(' ').toSorted(), ['email', 'openid'])
  },

  async 'oidcc-claims-essential'(suite) {
    const { t } = suite
    const { userinfo, claims } = await suite.signIn({
      claims: JSON.stringify({ userinfo: { name: { essential: true } } })
    })
    t.strictSame(userinfo, { sub: claims['sub'], name: 'Ann Example' })
  }
}

async function checkScopes(suite: Suite, scopes: readonly string[]): Promise<void> {
  const { t, op } = suite
  const { userinfo, claims } = await suite.signIn({ scope: ['openid', ...scopes].join(' ') })
  t.strictSame(
    Object.keys(userinfo).toSorted(),
    ['sub', ...scopes.flatMap((scope) => CLAIMS[scope] ?? [])].toSorted(),
    'all that the scope asks for, and nothing else'
  )
  t.strictSame(
    Object.keys(claims).filter((name) => Object.values(CLAIMS).flat().includes(name)),
    [],
    'none of it in the ID token, for there is an access token'
  )
  for (const scope of scopes)
    t.ok((op.document['scopes_supported'] as string[]).includes(scope), `${scope} is in the document`)
}
