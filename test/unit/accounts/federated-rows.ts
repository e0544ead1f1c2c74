/** FED-10 and FED-12: the results of a sign-in at a provider, row by row, on any user store. */
import type { Test } from 'tap'
import { memoryState } from '../../../lib/adapters/memory/record-store.ts'
import { systemRandom } from '../../../lib/adapters/node/system.ts'
import type { FederatedPerson } from '../../../lib/features/connections/person.ts'
import { federatedSignIn, linkToAccount } from '../../../lib/features/connections/sign-in.ts'
import { UpstreamError } from '../../../lib/errors.ts'
import type { Connection } from '../../../lib/ports/upstream.ts'
import type { LinkedIdentity, User, UserStore } from '../../../lib/ports/user-store.ts'
import { browserSessions } from '../../../lib/sessions/browser-sessions.ts'
import { delayed } from '../../../lib/testing/doubles.ts'
import { origin, world } from './world.ts'

export type IdentityStore = Required<UserStore>

const ISSUER = 'https://sso.example.com'
const EMAIL = 'ada@example.com'

const CONNECTION: Connection = {
  id: 'acme',
  name: 'Acme',
  callbackUrl: 'https://auth.example.com/auth/connect/acme/callback',
  linking: 'confirm',
  registration: true,
  sync: 'create',
  upstream: {
    authorizationUrl: async () => '',
    revoke: async () => {},
    verifyIdToken: async () => {
      throw new Error('not asked')
    },
    authenticate: async () => {
      throw new Error('not asked here')
    }
  },
  domains: [],
  enforce: false,
  acceptsIssuer: (issuer) => issuer === ISSUER,
  audiences: [],
  appNonce: true,
  keep: () => undefined,
  withdraw: async () => {},
  formPost: false,
  provesFreshness: false,
  button: { brand: null, mark: null, label: null, logoUrl: null },
  enabled: async () => true,
  shown: async () => true,
  profile: () => ({}),
  assurance: () => ({}),
  onSignIn: null
}

export const personOf = (subject = 'ada-1', email: string | undefined = EMAIL): FederatedPerson => ({
  issuer: ISSUER,
  subject,
  ...(email === undefined ? {} : { email }),
  profile: {},
  proof: { method: 'connection', at: 1 }
})
const NO_EMAIL = (subject = 'ada-1'): FederatedPerson => ({
  issuer: ISSUER,
  subject,
  profile: {},
  proof: { method: 'connection', at: 1 }
})
const linkOf = (subject: string): LinkedIdentity => ({
  issuer: ISSUER,
  subject,
  connection: 'acme',
  linkedAt: 1,
  lastUsedAt: 1
})

export async function federatedWorld(
  store: UserStore,
  { verifyEmail = false, connection = {} }: { verifyEmail?: boolean; connection?: Partial<Connection> } = {}
) {
  const w = await world({ users: () => store, verifyEmail })
  const state = memoryState()
  const deps = {
    accounts: w.deps,
    browserSessions: browserSessions(
      { expiresInMs: 3_600_000, idleTimeoutMs: 3_600_000 },
      { store: delayed(state.browserSessions), sessions: w.deps.sessions, clock: w.clock, random: systemRandom() }
    )
  }
  const acme: Connection = { ...CONNECTION, ...connection }
  return {
    ...w,
    deps,
    acme,
    /** The outcome as a word, and the user whom the outcome concerns, if it concerns one. */
    async signIn(
      person: FederatedPerson,
      { authoritative = false }: { authoritative?: boolean } = {}
    ): Promise<{ outcome: string; userId: string | null }> {
      try {
        const outcome = await federatedSignIn(
          {
            connection: acme,
            person,
            authoritative,
            browser: { cookie: undefined, session: null, isKnown: () => true, origin },
            clientId: null,
            locale: undefined,
            reserveSignUp: async () => {},
            complete: (profile) => ({ ...profile })
          },
          deps
        )
        if (outcome.to === 'session')
          return { outcome: outcome.isNew ? 'registered' : 'signed_in', userId: outcome.begun.user.id }
        return { outcome: outcome.to, userId: outcome.to === 'confirm' ? outcome.userId : null }
      } catch (error) {
        if (!(error instanceof UpstreamError)) throw error
        return { outcome: error.reason, userId: null }
      }
    },
    async link(user: User, person: FederatedPerson): Promise<string> {
      try {
        await linkToAccount(
          {
            connection: acme,
            person,
            user,
            stays: { sid: 'sid', browser: null },
            contested: null,
            origin,
            locale: undefined
          },
          w.deps
        )
        return 'done'
      } catch (error) {
        if (!(error instanceof UpstreamError)) throw error
        return error.reason
      }
    }
  }
}

interface Row {
  row: string
  connection?: Partial<Connection>
  account?: Partial<User>
  /** The user to whom the identity is linked before. */
  linkedTo?: 'account' | 'another'
  person?: FederatedPerson
  authoritative?: boolean
  /**
   * The outcome as described, with a disabled account, without registration, and with required email verification.
   */
  is: [plain: string, disabled: string | null, closed: string, verifyEmail: string]
}

const VERIFIED = { emailVerified: true } as const
const ROWS: Row[] = [
  {
    row: 'a known identity is its owner, whatever the address says',
    account: { email: 'else@example.com' },
    linkedTo: 'account',
    is: ['signed_in', 'disabled', 'signed_in', 'signed_in']
  },
  {
    row: 'a known identity, and an account of somebody else with the address',
    account: {},
    linkedTo: 'another',
    is: ['signed_in', 'signed_in', 'signed_in', 'signed_in']
  },
  { row: 'a new identity with an address', is: ['registered', null, 'closed', 'registered'] },
  { row: 'a new identity without an address', person: NO_EMAIL(), is: ['registered', null, 'closed', 'email'] },
  { row: 'an account has the address: confirm', account: VERIFIED, is: ['confirm', 'disabled', 'confirm', 'confirm'] },
  {
    row: 'an account has the address: confirm, even where all is verified',
    account: VERIFIED,
    authoritative: true,
    is: ['confirm', 'disabled', 'confirm', 'confirm']
  },
  {
    row: 'verified-email with all three',
    connection: { linking: 'verified-email' },
    account: VERIFIED,
    authoritative: true,
    is: ['signed_in', 'disabled', 'signed_in', 'signed_in']
  },
  {
    row: 'verified-email, and the provider does not decide on the mailbox',
    connection: { linking: 'verified-email' },
    account: VERIFIED,
    is: ['confirm', 'disabled', 'confirm', 'confirm']
  },
  {
    row: 'verified-email, and the account is not verified',
    connection: { linking: 'verified-email' },
    account: {},
    authoritative: true,
    is: ['confirm', 'disabled', 'confirm', 'confirm']
  },
  {
    row: 'verified-email, and the account has another address by now',
    connection: { linking: 'verified-email' },
    account: { ...VERIFIED, email: 'else@example.com' },
    authoritative: true,
    is: ['confirm', 'disabled', 'confirm', 'confirm']
  },
  {
    row: 'never',
    connection: { linking: 'never' },
    account: VERIFIED,
    authoritative: true,
    is: ['other_way', 'disabled', 'other_way', 'other_way']
  },
  {
    row: 'a connection that is off',
    connection: { enabled: async () => false },
    account: VERIFIED,
    linkedTo: 'account',
    is: ['disabled', 'disabled', 'disabled', 'disabled']
  },
  { row: 'an address of another domain', connection: { domains: ['acme.com'] }, is: ['email', null, 'email', 'email'] },
  {
    row: 'a subdomain is another domain',
    connection: { domains: ['example.com'] },
    person: personOf('ada-1', 'ada@sub.example.com'),
    is: ['email', null, 'email', 'email']
  },
  {
    row: 'no address, and only some domains',
    connection: { domains: ['example.com'] },
    person: NO_EMAIL(),
    is: ['email', null, 'email', 'email']
  },
  {
    row: 'a known identity whose address left the domain',
    connection: { domains: ['acme.com'] },
    account: {},
    linkedTo: 'account',
    is: ['email', 'email', 'email', 'email']
  },
  {
    row: 'an address of the domain',
    connection: { domains: ['example.com'] },
    is: ['registered', null, 'closed', 'registered']
  }
]

export function federatedRows(t: Test, newStore: () => Promise<IdentityStore>): void {
  const variants = ['plain', 'disabled', 'closed', 'verifyEmail'] as const
  t.test('FED-10 signs in, registers or rejects as the decision table says for each row', async (t) => {
    for (const { row, connection = {}, account, linkedTo, person = personOf(), authoritative = false, is } of ROWS) {
      for (const [index, variant] of variants.entries()) {
        const expected = is[index]
        if (expected === null || expected === undefined) continue
        const store = await newStore()
        const w = await federatedWorld(store, {
          verifyEmail: variant === 'verifyEmail',
          connection: { ...connection, ...(variant === 'closed' ? { registration: false } : {}) }
        })
        const mine =
          account === undefined
            ? null
            : await store.create({
                username: EMAIL,
                passwordHash: 'x',
                email: EMAIL,
                ...account,
                ...(variant === 'disabled' ? { disabled: true } : {})
              })
        const other =
          linkedTo === 'another'
            ? await store.createWithIdentity({ username: 'other@example.com', passwordHash: null }, linkOf('ada-1'))
            : null
        if (linkedTo === 'account' && mine !== null) await store.linkIdentity(mine.id, linkOf('ada-1'))
        const before = mine === null ? [] : await store.listIdentities(mine.id)
        const { outcome, userId } = await w.signIn(person, { authoritative })
        const name = `${row}, ${variant}`
        t.equal(outcome, expected, name)
        await w.idle()
        const now = await store.findByIdentity(person)
        if (expected === 'signed_in') {
          t.equal(userId, (linkedTo === 'another' ? other : mine)?.id, `${name}: as the owner`)
          t.equal(now?.id, userId, `${name}: and the identity leads there`)
          t.equal(
            (await store.findById(mine?.id ?? ''))?.emailVerified ?? null,
            account?.emailVerified ?? null,
            `${name}: nothing was verified by it`
          )
        } else if (expected === 'registered') {
          t.match(
            now,
            {
              id: userId,
              passwordHash: null,
              ...(person.email === undefined ? {} : { email: person.email, emailVerified: true })
            },
            name
          )
        } else {
          t.equal(
            w.count('authenticated') + w.count('registered') + w.count('identity_linked'),
            0,
            `${name}: nothing happened`
          )
          t.strictSame(mine === null ? [] : await store.listIdentities(mine.id), before, `${name}: no link moved`)
          t.equal(w.count('link_required'), expected === 'confirm' ? 1 : 0, name)
        }
      }
    }
  })

  t.test('FED-10 links an identity to one enabled user only, and links it again without an event', async (t) => {
    const store = await newStore()
    const w = await federatedWorld(store)
    const ada = await store.create({ username: 'ada', passwordHash: 'x' })
    const eve = await store.create({ username: 'eve', passwordHash: 'x' })
    t.equal(await w.link(ada, personOf()), 'done')
    t.match(await store.listIdentities(ada.id), [{ subject: 'ada-1', connection: 'acme', email: EMAIL }])
    t.equal(w.count('identity_linked'), 1)
    t.equal(await w.link(ada, personOf()), 'done', 'once more')
    t.equal(w.count('identity_linked'), 1)
    t.equal(await w.link(eve, personOf()), 'taken')
    t.equal(await w.link({ ...eve, disabled: true }, personOf('eve-1')), 'disabled')
    t.equal(await w.link(ada, personOf('ada-2')), 'done', 'several of one issuer')
    t.strictSame(await store.listIdentities(eve.id), [])
    await store.remove(ada.id)
    t.equal(await w.link(ada, personOf('ada-3')), 'disabled', 'a user who was removed')
    t.equal(await store.findByIdentity(personOf('ada-3')), null)
  })

  t.test('FED-12 gives an identity to one user in parallel sign-ins and links', async (t) => {
    const one = await newStore()
    const first = await federatedWorld(one)
    const same = await Promise.all(Array.from({ length: 50 }, async () => await first.signIn(personOf())))
    t.equal(new Set(same.map(({ userId }) => userId)).size, 1, 'one identity, one user')
    t.strictSame(same.filter(({ outcome }) => outcome === 'registered').length, 1)
    t.ok(
      same.every(({ outcome }) => ['registered', 'signed_in'].includes(outcome)),
      'and all are signed in'
    )
    t.equal((await one.listIdentities(same[0]?.userId ?? '')).length, 1)
    t.equal(first.count('registered'), 1)

    const two = await newStore()
    const second = await federatedWorld(two)
    const both = await Promise.all(
      Array.from({ length: 50 }, async (_value, index) => await second.signIn(personOf(`ada-${index % 2}`)))
    )
    const owner = await two.findByUsername(EMAIL)
    t.equal((await two.listIdentities(owner?.id ?? '')).length, 1, 'two identities with one address: one is linked')
    t.equal(second.count('registered'), 1)
    t.ok(
      both.every(
        ({ outcome, userId }) => userId === owner?.id && ['registered', 'signed_in', 'confirm'].includes(outcome)
      )
    )
    t.ok(
      both.some(({ outcome }) => outcome === 'confirm'),
      'and the other has to confirm'
    )

    const three = await newStore()
    const third = await federatedWorld(three)
    const ada = await three.create({ username: 'ada', passwordHash: 'x' })
    await Promise.all([third.link(ada, personOf()), three.remove(ada.id)])
    t.equal(await three.findByIdentity(personOf()), null, 'link against remove: no link of nobody')

    const four = await newStore()
    const fourth = await federatedWorld(four)
    const users = await Promise.all(
      ['a', 'b', 'c'].map(async (name) => await four.create({ username: `user-${name}`, passwordHash: 'x' }))
    )
    const outcomes = await Promise.all(users.map(async (user) => await fourth.link(user, personOf())))
    t.strictSame(
      outcomes.toSorted((a, b) => a.localeCompare(b)),
      ['done', 'taken', 'taken'],
      'one identity, three users: one has it'
    )
  })
}
