/**
 * An account without a password loses its last passkey or link. That is allowed only if an emailed code still lets its
 * owner in.
 */
import { setImmediate } from 'node:timers/promises'
import type { LightMyRequestResponse } from 'fastify'
import t, { type Test } from '../../support/tap.ts'
import { oidc } from '../../../lib/connections/index.ts'
import { type AuthorityOptions, memoryFactorStore, memoryUserStore } from '../../../lib/index.ts'
import { authAs, softPasskey } from '../../../lib/testing/index.ts'
import { ISSUER, type TestApp, testApp } from '../../support/app.ts'

const connections = [
  oidc({
    id: 'idp',
    issuer: 'https://idp.example',
    clientId: 'us',
    clientSecret: 'a secret of ours',
    domains: ['elsewhere.example'],
    enforce: true
  })
]

interface Ann {
  username: string
  email: string | null
  emailVerified: boolean
}
const CONFIRMED: Ann = { username: 'ann', email: 'ann@example.com', emailVerified: true }

async function appOf(t: Test, user: Ann, options: Partial<AuthorityOptions>): Promise<TestApp> {
  const { email, ...named } = user
  const users = memoryUserStore([{ id: 'ann', passwordHash: null, ...named, ...(email === null ? {} : { email }) }])
  const subject = await testApp({
    users,
    factors: memoryFactorStore(),
    connections,
    secret: 'a secret of at least 32 characters, for this test',
    ...options
  })
  t.teardown(subject.close)
  return subject
}

const outcome = (reply: LightMyRequestResponse): unknown =>
  reply.statusCode === 204 ? 'gone' : reply.json<{ error: string }>().error

/** Holds calls until two have arrived. */
function meeting(): () => Promise<void> {
  const waiting: Array<() => void> = []
  return async () => {
    if (waiting.length === 1)
      waiting.forEach((go) => {
        go()
      })
    else
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
      })
  }
}

type App = TestApp['app']
type Headers = Awaited<ReturnType<typeof authAs>>

async function addPasskey(app: App, headers: Headers): Promise<void> {
  const { options: creation } = (
    await app.inject({ method: 'POST', url: '/auth/factors/passkeys/options', headers, payload: {} })
  ).json()
  await app.inject({
    method: 'POST',
    url: '/auth/factors/passkeys',
    headers,
    payload: { credential: softPasskey({ origin: ISSUER }).create(creation) }
  })
}

async function removePasskey(app: App, headers: Headers): Promise<LightMyRequestResponse> {
  const {
    factors: [passkey]
  } = await app.authority.factors('ann')
  return await app.inject({ method: 'DELETE', url: `/auth/factors/${passkey?.id ?? ''}`, headers })
}

async function removeLink(app: App, headers: Headers): Promise<LightMyRequestResponse> {
  const [link] = await app.authority.identities('ann')
  return await app.inject({ method: 'DELETE', url: `/auth/connections/${link?.id ?? ''}`, headers })
}

async function withoutPasskey(t: Test, user: Ann, options: Partial<AuthorityOptions>): Promise<unknown> {
  const { app } = await appOf(t, user, options)
  const headers = await authAs(app, { id: 'ann' }, { acr: 'phr' })
  await addPasskey(app, headers)
  return outcome(await removePasskey(app, headers))
}

async function withoutLink(t: Test, user: Ann, options: Partial<AuthorityOptions>): Promise<unknown> {
  const { app } = await appOf(t, user, options)
  await app.authority.linkIdentity('ann', { issuer: 'https://idp.example', subject: 'ann', connection: 'idp' })
  return outcome(await removeLink(app, await authAs(app, { id: 'ann' }, { acr: 'password' })))
}

const TABLE: Array<[what: string, user: Partial<Ann>, options: Partial<AuthorityOptions>, isLast: boolean]> = [
  ['removes the last passkey or link if an email code signs in', {}, { emailSignIn: {} }, false],
  [
    'removes the last passkey or link if a code to the username signs in',
    { username: 'ann@example.com', email: null },
    { emailSignIn: {} },
    false
  ],
  ['keeps the last passkey or link if email codes are off', {}, {}, true],
  ['keeps the last passkey or link if the user has no address', { email: null }, { emailSignIn: {} }, true]
]

for (const [what, user, options, isLast] of TABLE) {
  t.test(what, async (t) => {
    t.equal(await withoutPasskey(t, { ...CONFIRMED, ...user }, options), isLast ? 'last_factor' : 'gone', 'the passkey')
    t.equal(
      await withoutLink(t, { ...CONFIRMED, ...user }, options),
      isLast ? 'last_sign_in_method' : 'gone',
      'the link'
    )
  })
}

t.test('keeps the link of an account that its connection manages, and removes the passkey', async (t) => {
  const managed = { ...CONFIRMED, email: 'ann@elsewhere.example' }
  t.equal(await withoutLink(t, managed, { emailSignIn: {} }), 'last_sign_in_method')
  t.equal(await withoutPasskey(t, managed, { emailSignIn: {} }), 'gone')
})

t.test('removes either the link or the passkey while the other remains', async (t) => {
  for (const [what, remove] of [
    ['the link', removeLink],
    ['the passkey', removePasskey]
  ] as const) {
    const { app } = await appOf(t, CONFIRMED, {})
    const headers = await authAs(app, { id: 'ann' }, { acr: 'phr' })
    await addPasskey(app, headers)
    await app.authority.linkIdentity('ann', { issuer: 'https://idp.example', subject: 'ann', connection: 'idp' })
    t.equal(outcome(await remove(app, headers)), 'gone', what)
  }
})

t.test('does not count an unconfirmed address as a way to sign in', async (t) => {
  t.equal(await withoutLink(t, { ...CONFIRMED, emailVerified: false }, { emailSignIn: {} }), 'last_sign_in_method')
})

t.test('keeps one of the last passkey and the last link in parallel removals', async (t) => {
  for (const first of ['the passkey', 'the link', 'neither']) {
    const met = meeting()
    const [users, factors] = [
      memoryUserStore([{ id: 'ann', passwordHash: null, username: 'ann' }]),
      memoryFactorStore()
    ]
    const subject = await testApp({
      connections,
      secret: 'a secret of at least 32 characters, for this test',
      factors: {
        ...factors,
        async removeFactor(removal) {
          await met()
          if (first === 'the link') await setImmediate()
          return await factors.removeFactor(removal)
        }
      },
      users: {
        ...users,
        async unlinkIdentity(...args) {
          await met()
          if (first === 'the passkey') await setImmediate()
          return await users.unlinkIdentity(...args)
        }
      }
    })
    t.teardown(subject.close)
    const { app } = subject
    const headers = await authAs(app, { id: 'ann' }, { acr: 'phr' })
    await addPasskey(app, headers)
    await app.authority.linkIdentity('ann', { issuer: 'https://idp.example', subject: 'ann', connection: 'idp' })
    const outcomes = (await Promise.all([removePasskey(app, headers), removeLink(app, headers)])).map(outcome)
    const left = [...(await app.authority.factors('ann')).factors, ...(await app.authority.identities('ann'))]
    t.not(left.length, 0, `${first} went first`)
    t.equal(left.length, outcomes.filter((one) => one !== 'gone').length, 'and what was called gone is gone')
    t.equal(
      subject.events.filter(({ name }) => name === 'factor_removed' || name === 'identity_unlinked').length,
      outcomes.filter((one) => one === 'gone').length,
      'and only that is told'
    )
  }
})

t.test('reports a removal and ends its sessions if the remaining ways to sign in are unreadable', async (t) => {
  const [users, factors] = [memoryUserStore([{ id: 'ann', passwordHash: null, username: 'ann' }]), memoryFactorStore()]
  let isOut = false
  const unlessOut = async <Found>(find: () => Promise<Found>): Promise<Found> => {
    if (isOut) throw new Error('out')
    return await find()
  }
  const subject = await testApp({
    connections,
    secret: 'a secret of at least 32 characters, for this test',
    factors: {
      ...factors,
      async removeFactor(removal) {
        const outcome = await factors.removeFactor(removal)
        isOut = true
        return outcome
      }
    },
    users: {
      ...users,
      findById: async (id) => await unlessOut(async () => await users.findById(id)),
      listIdentities: async (id) => await unlessOut(async () => await users.listIdentities(id)),
      async unlinkIdentity(...args) {
        const outcome = await users.unlinkIdentity(...args)
        isOut = true
        return outcome
      }
    }
  })
  t.teardown(subject.close)
  const { app } = subject
  const told = (name: string): number => subject.events.filter((event) => event.name === name).length
  const mine = await authAs(app, { id: 'ann' }, { acr: 'phr' })
  await addPasskey(app, mine)
  await app.authority.linkIdentity('ann', { issuer: 'https://idp.example', subject: 'ann', connection: 'idp' })
  await app.authority.linkIdentity('ann', { issuer: 'https://idp.example', subject: 'another', connection: 'idp' })
  const others = await authAs(app, { id: 'ann' }, { acr: 'phr' })
  const unlinked = await removeLink(app, mine)
  isOut = false
  t.equal(outcome(unlinked), 'gone')
  t.equal(told('identity_unlinked'), 1)
  const removed = await removePasskey(app, mine)
  isOut = false
  t.equal(outcome(removed), 'gone')
  t.equal(told('factor_removed'), 1)
  t.equal((await app.inject({ url: '/auth/sessions', headers: others })).statusCode, 401, 'the other sign-in')
})
