import t from '../../support/tap.ts'
import { changePassword } from '../../../lib/accounts/change-password.ts'
import type { AccountsDeps } from '../../../lib/accounts/deps.ts'
import { confirmPasswordReset, requestPasswordReset } from '../../../lib/accounts/reset-password.ts'
import { createEvents } from '../../../lib/events/emitter.ts'
import { revocations, sessions as createSessions } from '../../../lib/sessions/sessions.ts'
import { faulty } from './faulty.ts'
import { INVALID_LINK, NEXT_PASSWORD, origin, outcomeOf, PASSWORD, world, sidFor, staying } from './world.ts'
import type { World } from './world.ts'

/** A user with a session, and a thief with a session, a browser session and a consent by the same password. */
async function robbed(): Promise<{ w: World; userId: string }> {
  const w = await world()
  const { id: userId } = await w.addUser()
  for (const sid of ['mine', 'thief']) await w.addSession(userId, sid)
  const now = w.clock.now()
  await w.state.browserSessions.createSession(
    {
      sid: sidFor(userId, 'thief-browser'),
      userId,
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
    userId,
    clientId: 'thiefs-client',
    scopes: ['openid'],
    grantedAt: now,
    expiresAt: now + 1e9
  })
  w.clock.step(60_000)
  return { w, userId }
}

/** The thief's tokens and sessions that still work for a refresh or an authorization request. */
async function thiefs(w: World, userId: string): Promise<string[]> {
  const user = await w.store.findById(userId)
  if (user === null) throw new Error('There is no such user.')
  const now = w.clock.now()
  const signIns = [
    ...(await w.state.tokens.listFamiliesOfUser(userId, now)),
    ...(await w.state.browserSessions.listSessionsOfUser(userId, now))
  ]
  const alive: string[] = []
  for (const signIn of signIns)
    if (signIn.sid !== sidFor(userId, 'mine') && !(await w.deps.sessions.isOver(user, signIn))) alive.push(signIn.sid)
  return [...alive, ...(await w.state.consents.listConsents(userId, now)).map(({ clientId }) => clientId)]
}

const signsIn = async (w: World, userId: string, password: string): Promise<boolean> =>
  (await w.deps.hashing.verify((await w.passwordHashOf(userId)) ?? null, password)) === 'match'

interface Flow {
  name: string
  /** Sets `NEXT_PASSWORD`. */
  begin: (w: World, userId: string) => Promise<(deps: AccountsDeps) => Promise<void>>
  /** The names of the sessions that stay. */
  stays: string[]
}

const FLOWS: Flow[] = [
  {
    name: 'password reset',
    async begin(w) {
      await requestPasswordReset({ username: 'ada@example.com', origin }, w.deps)
      await w.idle()
      const token = w.messages.at(-1)?.token ?? ''
      return async (deps) => {
        await confirmPasswordReset({ token, password: NEXT_PASSWORD, origin }, deps)
      }
    },
    stays: []
  },
  {
    name: 'password change',
    begin: async (_w, userId) => async (deps) => {
      await changePassword(
        {
          userId,
          stays: staying(sidFor(userId, 'mine')),
          currentPassword: PASSWORD,
          newPassword: NEXT_PASSWORD,
          origin
        },
        deps
      )
    },
    stays: ['mine']
  }
]

for (const { name, begin, stays } of FLOWS) {
  // covers B2 A9
  t.test(
    `${name}: ends the sessions and consents of a thief once the new password works, whichever store call fails`,
    async (t) => {
      const { w, userId } = await robbed()
      const { deps, calls } = faulty(w, 0, 'not done')
      await (
        await begin(w, userId)
      )(deps)
      t.strictSame(await thiefs(w, userId), [], 'without a fault')
      t.strictSame(await w.sids(userId), stays)
      const steps = calls().length
      t.ok(steps >= 10)

      for (const fault of ['not done', 'lost', 'from there on'] as const) {
        for (let failing = 1; failing <= steps; failing++) {
          const at = `${fault}: ${failing} of ${steps}, ${calls()[failing - 1] ?? ''}`
          const { w, userId } = await robbed()
          const attempt = await begin(w, userId)
          const { deps, heal } = faulty(w, failing, fault)
          const failed = await outcomeOf(attempt(deps)).catch((error: unknown) => error)
          // Work after the last session has ended may fail without an error for the caller.
          if (failed === 'done') t.ok(await signsIn(w, userId, NEXT_PASSWORD), `${at}: confirmed, and so it is`)
          if (await signsIn(w, userId, NEXT_PASSWORD))
            t.strictSame(await thiefs(w, userId), [], `${at}: nothing of the thief's works beside the new password`)
          heal()
          if (failed !== 'done') t.equal(await outcomeOf(attempt(deps)), 'done', `${at}: a repeat succeeds`)
          t.ok(await signsIn(w, userId, NEXT_PASSWORD), at)
          t.strictSame(await thiefs(w, userId), [], at)
          t.strictSame(await w.sids(userId), stays, at)
        }
      }
    }
  )

  // covers B2
  t.test(`${name}: ends a session that the old password opened during the change`, async (t) => {
    const { w, userId } = await robbed()
    const setPasswordHash: World['store']['setPasswordHash'] = async (...args) => {
      await w.addSession(userId, 'in-between')
      return await w.store.setPasswordHash(...args)
    }
    await (
      await begin(w, userId)
    )({ ...w.deps, users: { ...w.deps.users, setPasswordHash } })
    t.strictSame(await w.sids(userId), stays)
  })

  // covers B2
  t.test(`${name}: rejects sessions from before the change even if the store revoked none`, async (t) => {
    const { w, userId } = await robbed()
    const noRevocation = createSessions({
      tokens: { ...w.state.tokens, revokeFamiliesOfUser: async () => [] },
      browserSessions: { ...w.state.browserSessions, revokeSessionsOfUser: async () => [] },
      oneTimeTokens: w.state.oneTimeTokens,
      revocations: revocations(900_000, w.clock),
      events: createEvents(
        () => 0,
        () => {}
      ),
      clock: w.clock,
      onSessionsEnded() {}
    })
    await (
      await begin(w, userId)
    )({ ...w.deps, sessions: noRevocation })
    t.strictSame(await w.sids(userId), ['mine', 'thief'], 'they are still in the store')
    t.strictSame(await thiefs(w, userId), [])
    const user = await w.store.findById(userId)
    const [mine] = (await w.state.tokens.listFamiliesOfUser(userId, w.clock.now())).filter(
      ({ sid }) => sid === sidFor(userId, 'mine')
    )
    if (user === null || mine === undefined) throw new Error('They are not there.')
    t.equal(await w.deps.sessions.isOver(user, mine), !stays.includes('mine'))
  })
}

// covers B2
t.test('rejects another password from a link that has already set one', async (t) => {
  const { w, userId } = await robbed()
  await requestPasswordReset({ username: 'ada@example.com', origin }, w.deps)
  await w.idle()
  const token = w.messages.at(-1)?.token ?? ''
  const consents = {
    ...w.state.consents,
    listConsents: async () =>
      await ((await w.passwordHashOf(userId)) === before
        ? w.state.consents.listConsents(userId, w.clock.now())
        : Promise.reject(new Error('down')))
  }
  const before = await w.passwordHashOf(userId)
  await t.rejects(confirmPasswordReset({ token, password: NEXT_PASSWORD, origin }, { ...w.deps, consents }), {
    message: 'down'
  })
  t.ok(await signsIn(w, userId, NEXT_PASSWORD))
  t.strictSame(
    await outcomeOf(confirmPasswordReset({ token, password: 'a wholly different one', origin }, w.deps)),
    INVALID_LINK
  )
  t.ok(await signsIn(w, userId, NEXT_PASSWORD))
  t.equal(await outcomeOf(confirmPasswordReset({ token, password: NEXT_PASSWORD, origin }, w.deps)), 'done')
  t.strictSame(
    await outcomeOf(confirmPasswordReset({ token, password: NEXT_PASSWORD, origin }, w.deps)),
    INVALID_LINK,
    'finished'
  )
  t.equal(w.count('password_changed'), 1)
})

// covers B2
t.test('rejects a wrong current password after the same change has finished', async (t) => {
  const { w, userId } = await robbed()
  await changePassword(
    { userId, stays: staying(sidFor(userId, 'mine')), currentPassword: PASSWORD, newPassword: NEXT_PASSWORD, origin },
    w.deps
  )
  t.match(
    await outcomeOf(
      changePassword(
        {
          userId,
          stays: staying(sidFor(userId, 'mine')),
          currentPassword: 'a guess that is wrong',
          newPassword: NEXT_PASSWORD,
          origin
        },
        w.deps
      )
    ),
    { error: 'invalid_grant' }
  )
})
