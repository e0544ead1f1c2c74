import Database from 'libsql'
import t from '../../support/tap.ts'
import { decideFederated } from '../../../lib/features/connections/person.ts'
import { memoryUserStore } from '../../../lib/adapters/memory/user-store.ts'
import type { SqliteDatabase } from '../../../lib/adapters/sqlite/database.ts'
import { sqliteUserStore } from '../../../lib/adapters/sqlite/user-store.ts'
import { federatedRows, federatedWorld, type IdentityStore, personOf } from './federated-rows.ts'

t.test('follows the rules of a provider sign-in with the memory user store', async (t) => {
  federatedRows(t, async () => memoryUserStore())
})
t.test('follows the rules of a provider sign-in with the SQLite user store', async (t) => {
  federatedRows(t, async () => {
    const store = sqliteUserStore(new Database(':memory:') as unknown as SqliteDatabase) as unknown as IdentityStore & {
      prepare(): Promise<void>
    }
    await store.prepare?.()
    return store
  })
})

const FACTS = {
  mode: ['signin', 'link'],
  enabled: [true, false],
  emailAccepted: [true, false],
  identity: ['unknown', 'theirs', 'anothers'],
  disabled: [true, false],
  account: [true, false],
  accountVerified: [true, false],
  authoritative: [true, false],
  linking: ['confirm', 'verified-email', 'never'],
  registers: [true, false],
  complete: [true, false]
} as const

type Facts = Parameters<typeof decideFederated>[0]

t.test('signs in, links or registers only where the linking rules allow, for every combination of facts', async (t) => {
  let states = [{}]
  for (const [fact, values] of Object.entries(FACTS))
    states = states.flatMap((state) => values.map((value) => ({ ...state, [fact]: value })))
  const wrong: string[] = []
  for (const state of states as Facts[]) {
    const decision = decideFederated(state)
    const name = typeof decision === 'object' ? decision.refused : decision
    const must = (holds: boolean, rule: string): void => {
      if (!holds) wrong.push(`${rule}: ${JSON.stringify(state)} -> ${name}`)
    }
    must(state.enabled || name === 'disabled', 'nobody comes through a connection that is off')
    must(!state.disabled || typeof decision === 'object', 'a disabled user is refused')
    must(name !== 'signed_in' || (state.mode === 'signin' && state.identity === 'theirs'), 'only the identity signs in')
    must(
      name !== 'link_by_email' ||
        (state.linking === 'verified-email' &&
          state.authoritative &&
          state.accountVerified &&
          state.account &&
          state.identity !== 'theirs'),
      'an address links under three conditions alone'
    )
    must(
      name !== 'register' || (state.registers && state.complete && !state.account && state.mode === 'signin'),
      'an account is made only where that is allowed, and no other has the address'
    )
    must(
      !(state.mode === 'link' && state.identity === 'anothers') || typeof decision === 'object',
      'an identity of another never moves'
    )
    must(!['link', 'already_linked'].includes(name) || state.mode === 'link', 'a sign-in links nothing by that row')
  }
  t.equal(states.length, 2 ** 9 * 9)
  t.strictSame(wrong.slice(0, 5), [])
})

t.test('updates profile fields only with sync: always, and keeps username, email and disabled state', async (t) => {
  for (const sync of ['create', 'always'] as const) {
    const store = memoryUserStore()
    const w = await federatedWorld(store, { connection: { sync } })
    await w.signIn({
      ...personOf(),
      profile: {
        name: 'Ada',
        id: 'eve',
        username: 'eve',
        email: 'eve@example.com',
        emailVerified: false,
        disabled: true,
        passwordHash: 'x',
        sub: 'eve',
        ['__proto__']: { admin: true }
      }
    })
    const user = await store.findByUsername('ada@example.com')
    t.match(user, {
      name: 'Ada',
      username: 'ada@example.com',
      email: 'ada@example.com',
      emailVerified: true,
      passwordHash: null
    })
    t.notOk(user?.disabled)
    await w.signIn({
      ...personOf('ada-1', 'new@example.com'),
      profile: { name: 'Ada L.', email: 'new@example.com', disabled: true, username: 'eve' }
    })
    t.match(
      await store.findById(user?.id ?? ''),
      { name: sync === 'always' ? 'Ada L.' : 'Ada', username: 'ada@example.com', email: 'ada@example.com' },
      sync
    )
    t.notOk((await store.findById(user?.id ?? ''))?.disabled)
  }
})

t.test('registers a user under a longer username when the generated one is taken', async (t) => {
  const store = memoryUserStore()
  const w = await federatedWorld(store)
  const { userId } = await w.signIn({
    issuer: 'https://sso.example.com',
    subject: 'ada-1',
    profile: {},
    proof: { method: 'connection', at: 1 }
  })
  const name = (await store.findById(userId ?? ''))?.username ?? ''
  const other = memoryUserStore()
  await other.create({ username: name, passwordHash: 'x' })
  const again = await federatedWorld(other)
  t.equal(
    (
      await again.signIn({
        issuer: 'https://sso.example.com',
        subject: 'ada-1',
        profile: {},
        proof: { method: 'connection', at: 1 }
      })
    ).outcome,
    'registered'
  )
  t.match((await other.findByIdentity({ issuer: 'https://sso.example.com', subject: 'ada-1' }))?.username, name)
})

t.test('passes a store error on and signs nobody in when the store is down', async (t) => {
  for (const method of ['findByIdentity', 'findByUsername', 'createWithIdentity'] as const) {
    const w = await federatedWorld({
      ...memoryUserStore(),
      [method]: async () => {
        throw new Error('the store is down')
      }
    })
    await t.rejects(w.signIn(personOf()), { message: 'the store is down' }, method)
    t.equal(w.count('authenticated'), 0)
  }
})
