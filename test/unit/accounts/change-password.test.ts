import t from '../../support/tap.ts'
import { changePassword } from '../../../lib/accounts/change-password.ts'
import { confirmPasswordReset, requestPasswordReset } from '../../../lib/accounts/reset-password.ts'
import { NEXT_PASSWORD, origin, outcomeOf, PASSWORD, turns, world, sidFor, staying } from './world.ts'

const WRONG = { error: 'invalid_grant', message: 'The current password is wrong.', statusCode: 400, headers: {} }

// covers ASVS-6.2.2 ASVS-7.4.3
t.test('ends the other sessions and the reset link of the user after a password change', async (t) => {
  const w = await world()
  const user = await w.addUser()
  for (const sid of ['mine', 'phone', 'thief']) await w.addSession(user.id, sid)
  await w.addSession('another', 'theirs')
  await w.state.oneTimeTokens.put({
    purpose: 'password_reset',
    digest: sidFor(user.id, 'd'),
    userId: user.id,
    expiresAt: w.clock.now() + 1000
  })
  await changePassword(
    {
      userId: user.id,
      stays: staying(sidFor(user.id, 'mine')),
      currentPassword: PASSWORD,
      newPassword: NEXT_PASSWORD,
      origin
    },
    w.deps
  )
  await turns()
  const stored = (await w.passwordHashOf(user.id)) ?? null
  t.equal(await w.deps.hashing.verify(stored, NEXT_PASSWORD), 'match')
  t.equal(await w.deps.hashing.verify(stored, PASSWORD), 'no_match')
  t.strictSame(await w.sids(user.id), ['mine'])
  t.strictSame(await w.sids('another'), ['theirs'])
  t.equal(await w.state.oneTimeTokens.find('password_reset', sidFor(user.id, 'd'), w.clock.now()), null)
  t.match(w.told, [
    { name: 'logged_out', payload: { by: 'password_changed' } },
    {
      name: 'password_changed',
      payload: {
        userId: user.id,
        sid: sidFor(user.id, 'mine'),
        by: 'change',
        requestId: origin.requestId,
        ip: origin.ip
      }
    }
  ])
  t.match(w.messages, [{ kind: 'password_changed', user: { id: user.id, email: 'ada@example.com' } }])
  t.equal(w.messages.length, 1)
  t.notMatch(JSON.stringify(w.told), new RegExp(`${PASSWORD}|${NEXT_PASSWORD}|argon2`))
})

// covers ASVS-6.2.3 ASVS-7.5.1
t.test('keeps password and sessions when the current password is wrong, or the user disabled or unknown', async (t) => {
  const w = await world()
  const user = await w.addUser()
  const disabled = await w.addUser({ username: 'disabled', disabled: true })
  await w.addSession(user.id, 'phone')
  const before = await w.passwordHashOf(user.id)
  for (const [userId, currentPassword, reason] of [
    [user.id, 'not the password', 'wrong_password'],
    [user.id, '', 'wrong_password'],
    [user.id, 'x'.repeat(2000), 'wrong_password'],
    [disabled.id, PASSWORD, 'disabled'],
    ['nobody', PASSWORD, 'unknown_user']
  ] as const) {
    const { outcome, hashes } = await w.hashesOf(() =>
      changePassword({ userId, currentPassword, newPassword: NEXT_PASSWORD, origin }, w.deps)
    )
    t.strictSame(outcome, WRONG)
    t.equal(hashes, 1)
    t.equal(w.reasons().at(-1), reason)
  }
  t.equal(await w.passwordHashOf(user.id), before)
  t.strictSame(await w.sids(user.id), ['phone'])
  t.equal(w.count('password_changed'), 0)
})

// covers ASVS-6.2.4 ASVS-6.2.11
t.test('rejects a new password that is short, common, or based on the username or email address', async (t) => {
  const w = await world()
  const user = await w.addUser({ email: 'countess@example.org' })
  for (const newPassword of ['short', 'password1', 'ada@example.com1', 'countess1234']) {
    t.match(
      await outcomeOf(changePassword({ userId: user.id, currentPassword: PASSWORD, newPassword, origin }, w.deps)),
      { error: 'invalid_password', statusCode: 400 },
      newPassword
    )
  }
  t.equal(w.count('password_changed'), 0)
})

// covers ASVS-2.3.4
t.test('changes the password once when 50 changes run in parallel', async (t) => {
  const w = await world()
  const user = await w.addUser()
  const outcomes = await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      outcomeOf(
        changePassword(
          { userId: user.id, currentPassword: PASSWORD, newPassword: `${NEXT_PASSWORD} ${index}`, origin },
          w.deps
        )
      )
    )
  )
  t.equal(outcomes.filter((outcome) => outcome === 'done').length, 1)
  t.strictSame(
    outcomes.filter((outcome) => outcome !== 'done'),
    Array.from({ length: 49 }, () => WRONG)
  )
  t.equal(
    await w.deps.hashing.verify(
      (await w.passwordHashOf(user.id)) ?? null,
      `${NEXT_PASSWORD} ${outcomes.indexOf('done')}`
    ),
    'match'
  )
})

t.test('changes the password while a sign-in replaces the outdated hash', async (t) => {
  const w = await world()
  const user = await w.addUser()
  const hash = async (password: string): Promise<string> => {
    await w.store.setPasswordHash(user.id, await w.deps.hashing.hash(PASSWORD))
    return await w.deps.hashing.hash(password)
  }
  await changePassword(
    { userId: user.id, currentPassword: PASSWORD, newPassword: NEXT_PASSWORD, origin },
    { ...w.deps, hashing: { ...w.deps.hashing, hash } }
  )
  t.equal(await w.deps.hashing.verify((await w.passwordHashOf(user.id)) ?? null, NEXT_PASSWORD), 'match')
})

t.test('invalidates reset links after a password change even if the store cannot discard them', async (t) => {
  const w = await world()
  const user = await w.addUser()
  await w.addSession(user.id, 'thief')
  await requestPasswordReset({ username: 'ada@example.com', origin }, w.deps)
  await w.idle()
  const token = w.messages.at(-1)?.token ?? ''
  const oneTimeTokens = {
    ...w.state.oneTimeTokens,
    discard: async () => {
      throw new Error('down')
    }
  }
  await changePassword(
    { userId: user.id, currentPassword: PASSWORD, newPassword: NEXT_PASSWORD, origin },
    { ...w.deps, oneTimeTokens }
  )
  t.match(w.errors, [{ error: { message: 'down' }, what: 'what a password change leaves behind could not be removed' }])
  t.strictSame(await w.sids(user.id), [])
  t.match(await outcomeOf(confirmPasswordReset({ token, password: 'another good password', origin }, w.deps)), {
    error: 'invalid_token'
  })
})
