import t from '../../support/tap.ts'
import { checkEmailChange, confirmEmailChange } from '../../../lib/accounts/change-email.ts'
import { requestEmailChange } from '../../../lib/accounts/request-email-change.ts'
import { changePassword } from '../../../lib/accounts/change-password.ts'
import { confirmPasswordReset, requestPasswordReset } from '../../../lib/accounts/reset-password.ts'
import { register } from '../../../lib/accounts/register.ts'
import { requestEmailVerification, verifyEmail } from '../../../lib/accounts/verify-email.ts'
import type { User } from '../../../lib/ports/user-store.ts'
import { faulty } from './faulty.ts'
import { INVALID_LINK, NEXT_PASSWORD, origin, outcomeOf, PASSWORD, world, staying, connectionWay } from './world.ts'
import type { World, WorldOptions } from './world.ts'

const ADA = 'ada@example.com'
const NEW = 'ada@new.example'
const SID = 'asked-by'

/** The messages as kind and address. */
const mailed = (w: World): Array<[string, string | undefined]> => w.messages.map(({ kind, user }) => [kind, user.email])
const addressesOf = (user: User | null): unknown[] => [user?.username, user?.email, user?.emailVerified]

async function ask(w: World, user: User, email = NEW): Promise<string> {
  await requestEmailChange({ user, sid: SID, email, locale: undefined, origin }, w.deps)
  await w.idle()
  return w.messages.filter(({ kind }) => kind === 'email_change').at(-1)?.token ?? ''
}

async function asked(
  options: WorldOptions = {},
  fields: Partial<User> = {}
): Promise<{ w: World; user: User; token: string }> {
  const w = await world(options)
  const user = await w.addUser({ emailVerified: true, ...fields })
  return { w, user, token: await ask(w, user) }
}

t.test('changes the address only through the link, and notifies the former address', async (t) => {
  const { w, user, token } = await asked()
  t.match(w.messages, [
    { kind: 'email_change_requested', user: { id: user.id, email: ADA, username: ADA }, url: undefined },
    {
      kind: 'email_change',
      user: { id: user.id, email: NEW, username: ADA, emailVerified: false },
      url: `https://auth.example.com/email_change#token=${token}`,
      expiresAt: new Date(w.clock.now() + 86_400_000)
    }
  ])
  t.notOk(w.messages.some((message) => 'passwordHash' in message.user))
  t.same(addressesOf(await w.store.findById(user.id)), [ADA, ADA, true])
  const told = (): typeof w.told => w.told.filter(({ name }) => name !== 'message_sent')
  t.strictSame(told(), [
    { name: 'email_change_requested', payload: { time: w.now(), ...origin, userId: user.id, sid: SID } }
  ])
  t.match(await checkEmailChange(token, w.deps), { address: NEW, sentAt: w.clock.now(), isMade: false })
  w.messages.length = 0
  await verifyEmail({ token, locale: undefined, origin }, w.deps)
  t.same(addressesOf(await w.store.findById(user.id)), [NEW, NEW, true], 'address and username in one')
  t.equal((await w.store.findByUsername(NEW))?.id, user.id)
  t.equal(await w.store.findByUsername(ADA), null)
  t.same(mailed(w), [['email_changed', ADA]], 'the former address is told')
  t.strictSame(told().at(-1), { name: 'email_changed', payload: { time: w.now(), ...origin, userId: user.id } })
})

t.test('keeps a username that is not an email address when the address changes', async (t) => {
  const { w, user, token } = await asked({}, { username: 'ada' })
  await confirmEmailChange({ token, locale: undefined, origin }, w.deps)
  t.same(addressesOf(await w.store.findById(user.id)), ['ada', NEW, true])
})

t.test('converts the new address to lower case, and rejects an invalid or unchanged one', async (t) => {
  const w = await world()
  const user = await w.addUser()
  await ask(w, user, 'ADA@NEW.example')
  t.same(mailed(w).at(-1), ['email_change', NEW])
  for (const email of [
    '',
    'ada',
    'a@b',
    'ada@new.example, eve@evil.example',
    '"a b"@new.example',
    'ada@new.example\r\nbcc: eve@evil.example',
    'ada@new\0.example',
    'ada\ud800@new.example',
    'ada\uff20new.example',
    ` ${NEW}`,
    `${'a'.repeat(250)}@new.example`,
    '\u212ada@new.example',
    ADA,
    'Ada@Example.com'
  ]) {
    t.match(
      await outcomeOf(requestEmailChange({ user, sid: SID, email, locale: undefined, origin }, w.deps)),
      { error: 'invalid_request', message: /^email: / },
      JSON.stringify(email.slice(0, 40))
    )
  }
  t.equal(w.count('email_change_requested'), 1)
})

t.test('accepts a request for a taken address, sends no link, and notifies the owner of the address', async (t) => {
  const w = await world()
  const user = await w.addUser()
  const eve = await w.addUser({ username: NEW, email: NEW, emailVerified: true })
  t.equal(await ask(w, user), '', 'no link')
  t.same(mailed(w), [
    ['email_change_requested', ADA],
    ['already_registered', NEW]
  ])
  t.equal(w.count('email_change_requested'), 1)
  t.same(addressesOf(await w.store.findById(eve.id)), [NEW, NEW, true])
})

t.test('rejects the link after another account has registered the address', async (t) => {
  const { w, user, token } = await asked()
  await register({ username: NEW, password: PASSWORD, fields: {}, locale: undefined, origin }, w.deps)
  w.messages.length = 0
  t.strictSame(await outcomeOf(confirmEmailChange({ token, locale: undefined, origin }, w.deps)), INVALID_LINK)
  await w.idle()
  t.same(addressesOf(await w.store.findById(user.id)), [ADA, ADA, true])
  t.ok(mailed(w).some(([kind, email]) => kind === 'already_registered' && email === NEW))
  t.equal(w.count('email_changed'), 0)
})

t.test('gives an address to only one of two accounts that change to it in parallel', async (t) => {
  const { w, user, token } = await asked()
  const bob = await w.addUser({ username: 'bob@example.com', email: 'bob@example.com' })
  const other = await ask(w, bob)
  const outcomes = await Promise.all(
    [token, other].map(
      async (one) => await outcomeOf(confirmEmailChange({ token: one, locale: undefined, origin }, w.deps))
    )
  )
  t.equal(outcomes.filter((outcome) => outcome === 'done').length, 1)
  const owner = await w.store.findByUsername(NEW)
  t.equal(owner?.id, outcomes[0] === 'done' ? user.id : bob.id)
  t.equal(w.count('email_changed'), 1)
})

t.test('changes the address once when one link is used 50 times in parallel', async (t) => {
  const { w, user, token } = await asked()
  w.messages.length = 0
  const outcomes = await Promise.all(
    Array.from({ length: 50 }, () => outcomeOf(confirmEmailChange({ token, locale: undefined, origin }, w.deps)))
  )
  t.equal(outcomes.filter((outcome) => outcome === 'done').length, 1)
  t.strictSame(
    outcomes.filter((outcome) => outcome !== 'done'),
    Array.from({ length: 49 }, () => INVALID_LINK)
  )
  t.equal(w.count('email_changed'), 1)
  t.same(mailed(w), [['email_changed', ADA]])
  t.equal((await w.store.findById(user.id))?.['version'], 2)
  t.strictSame(
    await outcomeOf(confirmEmailChange({ token, locale: undefined, origin }, w.deps)),
    INVALID_LINK,
    'and no second time'
  )
})

t.test('changes the address despite two concurrent updates, and answers 503 if the updates do not stop', async (t) => {
  const { w, user, token } = await asked()
  let times = 0
  const update: World['store']['update'] = async (...args) => {
    if (times++ < 2) await w.store.update(user.id, { nickname: `Ada ${times}` })
    return await w.store.update(...args)
  }
  await confirmEmailChange({ token, locale: undefined, origin }, { ...w.deps, users: { ...w.deps.users, update } })
  t.match(await w.store.findById(user.id), { username: NEW, email: NEW, nickname: 'Ada 2' })
  t.equal(w.count('email_changed'), 1)
  const again = await ask(w, (await w.store.findById(user.id)) as User, ADA)
  const restless: World['store']['update'] = async (...args) => {
    await w.store.update(user.id, { nickname: 'again' })
    return await w.store.update(...args)
  }
  t.match(
    await outcomeOf(
      confirmEmailChange(
        { token: again, locale: undefined, origin },
        { ...w.deps, users: { ...w.deps.users, update: restless } }
      )
    ),
    { error: 'temporarily_unavailable' }
  )
  t.equal(
    await outcomeOf(confirmEmailChange({ token: again, locale: undefined, origin }, w.deps)),
    'done',
    'and it works once that is over'
  )
})

t.test('rejects a link that is invalid, expired, replaced, or older than a change of the account', async (t) => {
  const table: Record<string, (w: World, user: User, token: string) => Promise<string>> = {
    'after 24 hours': async (w, _user, token) => {
      w.clock.step(86_400_000)
      return token
    },
    'after another address was asked for': async (w, user, token) => {
      const second = await ask(w, user, 'ada@third.example')
      t.not(second, token)
      return token
    },
    'after the address was changed by the host': async (w, user, token) => {
      await w.store.update(user.id, { email: 'ada@host.example' })
      return token
    },
    'after a new password, as the former address can set one': async (w, _user, token) => {
      await requestPasswordReset({ username: ADA, locale: undefined, origin }, w.deps)
      await w.idle()
      await confirmPasswordReset(
        { token: w.messages.at(-1)?.token ?? '', password: NEXT_PASSWORD, locale: undefined, origin },
        w.deps
      )
      return token
    },
    'after the host gave the account another password hash': async (w, user, token) => {
      await w.store.setPasswordHash(
        user.id,
        await w.hasher.hash(NEXT_PASSWORD, { memoryCost: 64, timeCost: 1, parallelism: 1 })
      )
      return token
    },
    'after a change of the password': async (w, user, token) => {
      await changePassword(
        {
          userId: user.id,
          stays: staying(SID),
          currentPassword: PASSWORD,
          newPassword: NEXT_PASSWORD,
          locale: undefined,
          origin
        },
        w.deps
      )
      return token
    },
    'of a disabled account': async (w, user, token) => {
      await w.store.update(user.id, { disabled: true })
      return token
    },
    'of a removed account': async (w, user, token) => {
      await w.store.remove(user.id)
      return token
    },
    'with another address written into it': async (_w, _user, token) =>
      token.slice(0, 91) + Buffer.from('eve@evil.example').toString('base64url'),
    'with nothing in it': async (_w, _user, token) => token.slice(0, 91),
    'cut off': async (_w, _user, token) => token.slice(0, -1),
    'made up': async () => 'x'.repeat(120),
    huge: async () => 'x'.repeat(512),
    'for another purpose': async (w, user) => {
      await requestEmailVerification({ ...user, emailVerified: false }, { locale: undefined, origin }, w.deps)
      await w.idle()
      return (w.messages.at(-1)?.token ?? '') + 'A'.repeat(40)
    }
  }
  for (const [what, spoil] of Object.entries(table)) {
    const { w, user, token } = await asked()
    const spoilt = await spoil(w, user, token)
    const before = await w.store.findById(user.id)
    t.strictSame(
      await outcomeOf(confirmEmailChange({ token: spoilt, locale: undefined, origin }, w.deps)),
      INVALID_LINK,
      what
    )
    t.strictSame(await outcomeOf(checkEmailChange(spoilt, w.deps)), INVALID_LINK, what)
    t.same(await w.store.findById(user.id), before, what)
    t.equal(w.count('email_changed'), 0, what)
  }
})

t.test('invalidates the reset and verification links to the former address after the change', async (t) => {
  const { w, user, token } = await asked()
  await requestPasswordReset({ username: ADA, locale: undefined, origin }, w.deps)
  await requestEmailVerification({ ...user, emailVerified: false }, { locale: undefined, origin }, w.deps)
  await w.idle()
  const links = new Map(w.messages.map(({ kind, token: link }) => [kind, link ?? '']))
  await confirmEmailChange({ token, locale: undefined, origin }, w.deps)
  // Restore the former address, so that only the change itself can have invalidated the links.
  await w.store.update(user.id, { username: ADA, email: ADA, emailVerified: false })
  t.strictSame(
    await outcomeOf(
      confirmPasswordReset(
        { token: links.get('password_reset') ?? '', password: NEXT_PASSWORD, locale: undefined, origin },
        w.deps
      )
    ),
    INVALID_LINK
  )
  t.strictSame(
    await outcomeOf(verifyEmail({ token: links.get('verify_email') ?? '', locale: undefined, origin }, w.deps)),
    INVALID_LINK
  )
})

t.test('sends one link and one notice to an address in five minutes, despite more requests', async (t) => {
  const { w, user } = await asked({ bounded: true })
  await ask(w, user)
  await ask(w, user, 'ada@third.example')
  t.same(mailed(w), [
    ['email_change_requested', ADA],
    ['email_change', NEW],
    ['email_change', 'ada@third.example']
  ])
  w.clock.step(5 * 60_000)
  await ask(w, user)
  t.equal(w.messages.length, 5)
})

t.test('sets the new address after a retry of the link, whichever store call failed', async (t) => {
  const first = await asked()
  const { deps, calls } = faulty(first.w, 0, 'not done')
  await confirmEmailChange({ token: first.token, locale: undefined, origin }, deps)
  const steps = calls().length
  t.ok(steps >= 5, `${steps} calls`)
  for (const fault of ['not done', 'lost', 'from there on'] as const) {
    for (let failing = 1; failing <= steps; failing++) {
      const at = `${fault}: ${failing} of ${steps}, ${calls()[failing - 1] ?? ''}`
      const { w, user, token } = await asked()
      await requestPasswordReset({ username: ADA, locale: undefined, origin }, w.deps)
      await w.idle()
      const reset = w.messages.at(-1)?.token ?? ''
      w.messages.length = 0
      const { deps, heal } = faulty(w, failing, fault)
      const failed = await outcomeOf(confirmEmailChange({ token, locale: undefined, origin }, deps)).catch(() => 'down')
      const [username, email, verified] = addressesOf(await w.store.findById(user.id))
      t.ok(
        (username === ADA && email === ADA) || (username === NEW && email === NEW && verified === true),
        `${at}: ${String(username)} ${String(email)}`
      )
      heal()
      // If the link was used up and only the answer was lost, the change is made and the link is no longer good.
      const isUsedUp = fault === 'lost' && (calls()[failing - 1] ?? '') === 'oneTimeTokens.consume'
      if (failed !== 'done')
        t.strictSame(
          await outcomeOf(confirmEmailChange({ token, locale: undefined, origin }, w.deps)),
          isUsedUp ? INVALID_LINK : 'done',
          `${at}: a repeat`
        )
      t.same(addressesOf(await w.store.findById(user.id)), [NEW, NEW, true], at)
      await w.store.update(user.id, { username: ADA, email: ADA })
      t.strictSame(
        await outcomeOf(
          confirmPasswordReset({ token: reset, password: NEXT_PASSWORD, locale: undefined, origin }, w.deps)
        ),
        INVALID_LINK,
        `${at}: no link is left`
      )
      t.ok(mailed(w).filter(([kind]) => kind === 'email_changed').length <= 1, at)
    }
  }
})

t.test('rejects a new address in a domain that a connection enforces', async (t) => {
  const w = await world({ enforcedDomains: ['acme.example'] })
  const user = await w.addUser({ emailVerified: true })
  for (const email of ['ada@acme.example', 'ADA@ACME.EXAMPLE']) {
    t.match(await outcomeOf(requestEmailChange({ user, sid: SID, email, locale: undefined, origin }, w.deps)), {
      error: 'invalid_request',
      message: 'email: People of this domain sign in through a connection.',
      statusCode: 400
    })
  }
  await w.idle()
  t.same(mailed(w), [])
  t.notOk(w.told.some(({ name }) => name === 'email_change_requested'))
  t.notSame(await ask(w, user, 'ada@sub.acme.example'), '', 'a domain below it is another one')
})

t.test('rejects a link once a connection enforces the domain of its address', async (t) => {
  const { w, user } = await asked()
  const token = await ask(w, user, 'ada@acme.example')
  const deps = { ...w.deps, connections: new Map([['op', connectionWay(['acme.example'])]]) }
  t.strictSame(await outcomeOf(confirmEmailChange({ token, locale: undefined, origin }, deps)), INVALID_LINK)
  t.same(addressesOf(await w.store.findById(user.id)), [ADA, ADA, true])
  t.equal(
    await outcomeOf(confirmEmailChange({ token, locale: undefined, origin }, w.deps)),
    'done',
    'and is not used up'
  )
})

t.test('rejects a new address if a connection enforces the domain of the current address', async (t) => {
  const w = await world({ enforcedDomains: ['acme.example'] })
  const user = await w.addUser({ username: 'ada@acme.example', email: 'ada@acme.example', emailVerified: true })
  for (const email of ['ada@home.example', 'ada.king@acme.example'])
    t.match(await outcomeOf(requestEmailChange({ user, sid: SID, email, locale: undefined, origin }, w.deps)), {
      error: 'invalid_request',
      message: 'email: People of this domain sign in through a connection.',
      statusCode: 400
    })
  await w.idle()
  t.same(mailed(w), [])
})
