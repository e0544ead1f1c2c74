/** An account without a password, of which the last passkey or the last linked account is taken away: it goes where a code by mail still lets its owner in. */
import type { LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import { oidc } from '../../../lib/connections/index.ts'
import { type AuthorityOptions, memoryFactorStore, memoryUserStore } from '../../../lib/index.ts'
import { authAs, softPasskey } from '../../../lib/testing/index.ts'
import { ISSUER, type TestApp, testApp } from '../../support/app.ts'

const connections = [oidc({ id: 'idp', issuer: 'https://idp.example', clientId: 'us', clientSecret: 'a secret of ours', domains: ['elsewhere.example'], enforce: true })]

interface Ann { username: string, email: string | null, emailVerified: boolean }
const CONFIRMED: Ann = { username: 'ann', email: 'ann@example.com', emailVerified: true }

async function appOf (t: Test, user: Ann, options: Partial<AuthorityOptions>): Promise<TestApp> {
  const { email, ...named } = user
  const users = memoryUserStore([{ id: 'ann', passwordHash: null, ...named, ...(email === null ? {} : { email }) }])
  const subject = await testApp({ users, factors: memoryFactorStore(), connections, secret: 'a secret of at least 32 characters, for this test', ...options })
  t.teardown(subject.close)
  return subject
}

const outcome = (reply: LightMyRequestResponse): unknown => reply.statusCode === 204 ? 'gone' : reply.json<{ error: string }>().error

async function withoutPasskey (t: Test, user: Ann, options: Partial<AuthorityOptions>): Promise<unknown> {
  const { app } = await appOf(t, user, options)
  const headers = await authAs(app, { id: 'ann' }, { acr: 'phr' })
  const { options: creation } = (await app.inject({ method: 'POST', url: '/auth/factors/passkeys/options', headers, payload: {} })).json()
  await app.inject({ method: 'POST', url: '/auth/factors/passkeys', headers, payload: { credential: softPasskey({ origin: ISSUER }).create(creation) } })
  const { factors: [passkey] } = await app.authority.factors('ann')
  return outcome(await app.inject({ method: 'DELETE', url: `/auth/factors/${passkey?.id ?? ''}`, headers }))
}

async function withoutLink (t: Test, user: Ann, options: Partial<AuthorityOptions>): Promise<unknown> {
  const { app } = await appOf(t, user, options)
  await app.authority.linkIdentity('ann', { issuer: 'https://idp.example', subject: 'ann', connection: 'idp' })
  const [link] = await app.authority.identities('ann')
  return outcome(await app.inject({ method: 'DELETE', url: `/auth/connections/${link?.id ?? ''}`, headers: await authAs(app, { id: 'ann' }, { acr: 'password' }) }))
}

const TABLE: Array<[what: string, user: Partial<Ann>, options: Partial<AuthorityOptions>, isLast: boolean]> = [
  ['a code lets them in', {}, { emailSignIn: {} }, false],
  ['a code to the username lets them in', { username: 'ann@example.com', email: null }, { emailSignIn: {} }, false],
  ['codes are off', {}, {}, true],
  ['people of this domain get none', { email: 'ann@elsewhere.example' }, { emailSignIn: {} }, true],
  ['there is no address', { email: null }, { emailSignIn: {} }, true]
]

for (const [what, user, options, isLast] of TABLE) {
  t.test(what, async (t) => {
    t.equal(await withoutPasskey(t, { ...CONFIRMED, ...user }, options), isLast ? 'last_factor' : 'gone', 'the passkey')
    t.equal(await withoutLink(t, { ...CONFIRMED, ...user }, options), isLast ? 'last_sign_in_method' : 'gone', 'the link')
  })
}

t.test('an address that nobody has confirmed may be mistyped', async (t) => {
  t.equal(await withoutLink(t, { ...CONFIRMED, emailVerified: false }, { emailSignIn: {} }), 'last_sign_in_method')
})
