import t from '../../support/tap.ts'
import { PARTITION_LENGTH } from '../../../lib/protocol/digest.ts'
import { confirmAuthentic } from '../../../lib/accounts/authenticate-password.ts'
import { requestEmailChange } from '../../../lib/accounts/request-email-change.ts'
import { removeAccount } from '../../../lib/accounts/remove-account.ts'
import { requestPasswordReset } from '../../../lib/accounts/reset-password.ts'
import { requestEmailVerification } from '../../../lib/accounts/verify-email.ts'
import type { User } from '../../../lib/ports/user-store.ts'
import { digestOfOneTimeToken } from '../../../lib/protocol/credential.ts'
import { faulty } from './faulty.ts'
import { origin, outcomeOf, PASSWORD, world, sidFor, staying } from './world.ts'
import type { World } from './world.ts'

/** A user with refresh token families, a browser session, a consent, and open links. */
async function settled(): Promise<{ w: World; user: User }> {
  const w = await world()
  const user = await w.addUser({ emailVerified: false })
  for (const sid of ['mine', 'other']) await w.addSession(user.id, sid)
  const now = w.clock.now()
  await w.state.browserSessions.createSession(
    {
      sid: sidFor(user.id, 'browser'),
      userId: user.id,
      authenticatedAt: now,
      methods: [{ method: 'password', at: now }],
      createdAt: now,
      lastUsedAt: now,
      expiresAt: now + 1e9,
      idleExpiresAt: now + 1e9,
      userAgent: null,
      clientIds: []
    },
    'digest'
  )
  await w.state.consents.grantConsent({
    userId: user.id,
    clientId: 'allowed',
    scopes: ['openid'],
    grantedAt: now,
    expiresAt: now + 1e9
  })
  await requestPasswordReset({ username: user.username, locale: undefined, origin }, w.deps)
  await requestEmailVerification(user, { locale: undefined, origin }, w.deps)
  await requestEmailChange(
    { user, sid: sidFor(user.id, 'mine'), email: 'ada@new.example', locale: undefined, origin },
    w.deps
  )
  await w.idle()
  return { w, user }
}

/** The sessions, consents and open links of the user in the state. */
async function leftOf(w: World, { id }: User): Promise<string[]> {
  const now = w.clock.now()
  const links = await Promise.all(
    w.messages.map(async ({ kind, token = '' }) =>
      kind === 'password_reset' || kind === 'verify_email' || kind === 'email_change'
        ? await w.state.oneTimeTokens.find(kind, digestOfOneTimeToken(token) ?? '', now)
        : null
    )
  )
  return [
    ...(await w.sids(id)),
    ...(await w.state.browserSessions.listSessionsOfUser(id, now)).map(({ sid }) => sid.slice(PARTITION_LENGTH)),
    ...(await w.state.consents.listConsents(id, now)).map(({ clientId }) => clientId),
    ...links.flatMap((link) => (link === null ? [] : [link.purpose]))
  ]
}

t.test('removes the account with its sessions, consents and links', async (t) => {
  const { w, user } = await settled()
  t.same((await leftOf(w, user)).toSorted(), [
    'allowed',
    'browser',
    'email_change',
    'mine',
    'other',
    'password_reset',
    'verify_email'
  ])
  w.told.length = 0
  await removeAccount({ user, stays: staying(sidFor(user.id, 'mine')), locale: undefined, origin }, w.deps)
  await w.idle()
  t.same(await leftOf(w, user), [])
  t.equal(await w.store.findById(user.id), null)
  t.same(
    w.told.filter(({ name }) => name !== 'message_sent').map(({ name, payload }) => [name, payload.by, payload.sids]),
    [
      ['logged_out', 'account_removed', ['browser', 'other'].map((name) => sidFor(user.id, name))],
      ['consent_revoked', 'account_removed', undefined],
      ['account_removed', undefined, undefined],
      ['logged_out', 'account_removed', [sidFor(user.id, 'mine')]]
    ]
  )
  t.match(w.told.find(({ name }) => name === 'account_removed')?.payload, {
    userId: user.id,
    sid: sidFor(user.id, 'mine'),
    ...origin
  })
  t.match(w.messages.at(-1), { kind: 'account_removed', user: { email: user.email } })
  t.notOk('passwordHash' in (w.messages.at(-1)?.user ?? {}))
})

t.test('frees the username and leaves other users unchanged', async (t) => {
  const { w, user } = await settled()
  const bob = await w.addUser({ username: 'bob@example.com', email: 'bob@example.com' })
  await w.addSession(bob.id, 'of-bob')
  await removeAccount({ user, stays: staying(sidFor(user.id, 'mine')), locale: undefined, origin }, w.deps)
  t.same(await w.sids(bob.id), ['of-bob'])
  const next = await w.addUser()
  t.not(next.id, user.id)
  t.same(await w.sids(next.id), [], 'who has the name next has nothing of it')
})

t.test('reports success to each of ten parallel removals of one account', async (t) => {
  const { w, user } = await settled()
  const outcomes = await Promise.all(
    Array.from({ length: 10 }, () =>
      outcomeOf(removeAccount({ user, stays: staying(sidFor(user.id, 'mine')), locale: undefined, origin }, w.deps))
    )
  )
  t.same(new Set(outcomes), new Set(['done']))
  t.same(await leftOf(w, user), [])
})

t.test('ends a session that started during the removal, and rejects the sign-in at its final check', async (t) => {
  const { w, user } = await settled()
  const remove: World['store']['remove'] = async (id) => {
    await w.addSession(id, 'in-between')
    await w.store.remove(id)
  }
  await removeAccount(
    { user, stays: staying(sidFor(user.id, 'mine')), locale: undefined, origin },
    { ...w.deps, users: { ...w.deps.users, remove } }
  )
  t.same(await leftOf(w, user), [])
  t.equal(
    await confirmAuthentic(user, PASSWORD, w.deps, { clientId: null, origin }),
    null,
    'the last look of a sign-in'
  )
})

// covers SS-06
t.test('removes the account and its records after a retry, whichever store call failed', async (t) => {
  const { w, user } = await settled()
  const { deps, calls } = faulty(w, 0, 'not done')
  await removeAccount({ user, stays: staying(sidFor(user.id, 'mine')), locale: undefined, origin }, deps)
  const steps = calls().length
  t.ok(steps >= 15, `${steps} calls`)
  for (const fault of ['not done', 'lost', 'from there on'] as const) {
    for (let failing = 1; failing <= steps; failing++) {
      const at = `${fault}: ${failing} of ${steps}, ${calls()[failing - 1] ?? ''}`
      const { w, user } = await settled()
      const { deps, heal } = faulty(w, failing, fault)
      const failed = await outcomeOf(
        removeAccount({ user, stays: staying(sidFor(user.id, 'mine')), locale: undefined, origin }, deps)
      ).catch(() => 'down')
      const isGone = (await w.store.findById(user.id)) === null
      t.equal(
        failed === 'done',
        isGone,
        `${at}: said to be removed where it is, for nobody could ask again, and nowhere else`
      )
      // While the account exists, the session of the request must remain, so that the user can ask again. After the
      // removal, records may remain until the retry, because each use of a record checks the user.
      if (!isGone) {
        const left = await w.sids(user.id)
        t.ok(left.includes('mine'), `${at}: can be asked again, ${left.join()}`)
      }
      heal()
      if (failed !== 'done')
        t.equal(
          await outcomeOf(
            removeAccount({ user, stays: staying(sidFor(user.id, 'mine')), locale: undefined, origin }, w.deps)
          ),
          'done',
          `${at}: a repeat`
        )
      await w.idle()
      t.equal(await w.store.findById(user.id), null, at)
      t.same(await leftOf(w, user), [], at)
    }
  }
})
