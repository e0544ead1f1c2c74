import t from '../../support/tap.ts'
import { endProvisional, linkByHost, linkIdOf, listLinks, unlinkIdentity } from '../../../lib/accounts/identities.ts'
import { removeAccount } from '../../../lib/accounts/remove-account.ts'
import { confirmPasswordReset, requestPasswordReset } from '../../../lib/accounts/reset-password.ts'
import { disownAccount, requestEmailVerification } from '../../../lib/accounts/verify-email.ts'
import { changePassword } from '../../../lib/accounts/change-password.ts'
import { parallel, tally } from '../../../lib/testing/contract.ts'
import type { UserStore } from '../../../lib/ports/user-store.ts'
import { NEXT_PASSWORD, origin, outcomeOf, PASSWORD, turns, world, type World, staying } from './world.ts'

const AT_OP = { issuer: 'https://op.example', subject: 'subject-canary', connection: 'op', email: 'ada@op.example' }
const OTHER = { ...AT_OP, subject: 'subject-other', connection: 'other' }
const asUser = { by: 'user', locale: 'de', origin } as const

const connectionsOf = async (w: World, userId: string): Promise<string[]> =>
  (await listLinks(userId, w.deps)).map(({ connection }) => connection)

async function resetToken(w: World): Promise<string> {
  await requestPasswordReset({ username: 'ada@example.com', origin }, w.deps)
  await w.idle()
  return w.messages.at(-1)?.token ?? ''
}

t.test('links an identity for the host once, with one event and one message', async (t) => {
  const w = await world()
  const ada = await w.addUser({ emailVerified: true })
  const bob = await w.addUser({ username: 'bob@example.com', email: 'bob@example.com' })
  t.equal(await linkByHost(ada.id, AT_OP, w.deps), 'linked')
  t.equal(await linkByHost(ada.id, AT_OP, w.deps), 'already_linked')
  t.equal(await linkByHost(bob.id, AT_OP, w.deps), 'taken')
  t.equal(await linkByHost('nobody', OTHER, w.deps), 'unknown_user')
  await turns()
  t.same(await listLinks(ada.id, w.deps), [{ ...AT_OP, linkedAt: w.clock.now(), lastUsedAt: w.clock.now() }])
  t.same(
    w.told.map(({ name }) => name),
    ['identity_linked', 'message_sent']
  )
  t.same(w.told[0]?.payload, { time: w.now(), requestId: null, userId: ada.id, connection: 'op', by: 'host' })
  t.match(w.messages, [{ kind: 'identity_linked', user: { email: 'ada@example.com' }, locale: 'en' }])
  for (const canary of [AT_OP.subject, AT_OP.email])
    t.notOk(JSON.stringify([w.told, w.messages]).includes(canary), 'neither subject nor address')
})

t.test('rejects a malformed identity, and a valid one if the store has no methods for links', async (t) => {
  const w = await world()
  const { id } = await w.addUser()
  for (const [name, values] of Object.entries({
    issuer: [undefined, null, '', 1],
    subject: [undefined, null, '', 7, {}],
    connection: [undefined, '']
  })) {
    for (const value of values)
      await t.rejects(linkByHost(id, { ...AT_OP, [name]: value }, w.deps), {
        name: 'TypeError',
        message: new RegExp(name)
      })
  }
  t.same(await listLinks(id, w.deps), [])
  const bare = await world({
    users: ({ linkIdentity: _link, listIdentities: _list, unlinkIdentity: _unlink, ...store }): UserStore => store
  })
  const user = await bare.addUser()
  t.match(await outcomeOf(linkByHost(user.id, AT_OP, bare.deps)), { error: 'invalid_request', statusCode: 400 })
  t.same(await listLinks(user.id, bare.deps), [])
  t.equal(await unlinkIdentity(user, linkIdOf(AT_OP), asUser, bare.deps), 'unknown')
  await endProvisional(user, { ...asUser, by: 'password_reset' }, bare.deps)
})

t.test('derives a unique link id that reveals neither the issuer nor the subject', async (t) => {
  const ids = [
    AT_OP,
    OTHER,
    { issuer: 'a', subject: 'bc' },
    { issuer: 'ab', subject: 'c' },
    { issuer: 'a","b', subject: 'c' },
    { issuer: 'a', subject: 'b","c' }
  ].map(linkIdOf)
  t.equal(new Set(ids).size, ids.length)
  for (const id of ids) t.match(id, /^[\w-]{43}$/)
  t.notMatch(ids[0], /op|canary/)
})

// covers FED-13
t.test('keeps the last working link, and does not restore a link that another user took', async (t) => {
  const initial = [
    { id: 'u1', username: 'ada@example.com', passwordHash: null, emailVerified: true },
    { id: 'u2', username: 'bob@example.com', passwordHash: null }
  ]
  let meanwhile = async (): Promise<void> => {}
  const calls: string[] = []
  const w = await world({
    initial,
    users: (store) => ({
      ...store,
      async unlinkIdentity(...given) {
        const outcome = await store.unlinkIdentity(...given)
        calls.push(given[1].subject)
        await meanwhile()
        return outcome
      }
    })
  })
  const [ada] = await Promise.all(initial.map(async ({ id }) => await w.store.findById(id)))
  if (ada === null || ada === undefined) throw new Error('no user')
  for (const link of [AT_OP, OTHER, { ...AT_OP, subject: 'old', connection: 'former' }])
    await linkByHost(ada.id, link, w.deps)
  const take = async (link: typeof OTHER): Promise<void> => {
    const links = await listLinks(ada.id, w.deps)
    meanwhile = async () => {
      meanwhile = async () => {}
      // Another removal came first, and a person signed up with the removed identity.
      await w.store.unlinkIdentity(ada.id, links.find(({ subject }) => subject === AT_OP.subject) ?? link, true)
      await linkByHost('u2', link, w.deps)
    }
  }
  await take(OTHER)
  t.equal(await unlinkIdentity(ada, linkIdOf(OTHER), asUser, w.deps), 'unlinked')
  t.same(await connectionsOf(w, ada.id), ['former'])
  t.same(await connectionsOf(w, 'u2'), ['other'])
  await linkByHost(ada.id, AT_OP, w.deps)
  calls.length = 0
  t.equal(await unlinkIdentity(ada, linkIdOf(AT_OP), asUser, w.deps), 'last_sign_in_method')
  t.same(calls, [], 'the store was not asked to')
})

// covers FED-13
t.test('keeps at least one working link when both working links are removed in parallel', async (t) => {
  for (let round = 0; round < 50; round++) {
    const w = await world({
      initial: [{ id: 'u1', username: 'ada@example.com', passwordHash: null, emailVerified: true }]
    })
    const ada = await w.store.findById('u1')
    if (ada === null) throw new Error('no user')
    for (const link of [AT_OP, OTHER, { ...AT_OP, subject: 'old', connection: 'former' }])
      await linkByHost(ada.id, link, w.deps)
    const before = await listLinks(ada.id, w.deps)
    const outcomes = await Promise.all(
      [AT_OP, OTHER].map(async (link) => await unlinkIdentity(ada, linkIdOf(link), asUser, w.deps))
    )
    const left = (await listLinks(ada.id, w.deps)).filter(({ connection }) => connection !== 'former')
    t.ok(left.length > 0, 'a way in is left')
    t.equal(outcomes.filter((outcome) => outcome === 'unlinked').length, 2 - left.length)
    t.ok(
      outcomes.every((outcome) => outcome === 'unlinked' || outcome === 'last_sign_in_method'),
      outcomes.join()
    )
    for (const link of left)
      t.ok(
        before.some((one) => JSON.stringify(one) === JSON.stringify(link)),
        'as it was'
      )
    t.equal(w.count('identity_unlinked'), 2 - left.length)
  }
})

// covers FED-13
t.test('unlinks an identity by its link id, but not the last sign-in method', async (t) => {
  const w = await world({
    initial: [{ id: 'u1', username: 'ada@example.com', passwordHash: null, emailVerified: true }]
  })
  const bob = await w.addUser({ username: 'bob@example.com', email: 'bob@example.com' })
  const ada = await w.store.findById('u1')
  if (ada === null) throw new Error('no user')
  for (const link of [AT_OP, OTHER]) await linkByHost(ada.id, link, w.deps)
  await turns()
  w.told.length = 0
  w.messages.length = 0
  for (const [user, id] of [
    [bob, linkIdOf(AT_OP)],
    [ada, 'none'],
    [ada, AT_OP.subject],
    [ada, '']
  ] as const)
    t.equal(await unlinkIdentity(user, id, asUser, w.deps), 'unknown')
  t.equal(await unlinkIdentity(ada, linkIdOf(AT_OP), asUser, w.deps), 'unlinked')
  t.equal(await unlinkIdentity(ada, linkIdOf(OTHER), asUser, w.deps), 'last_sign_in_method')
  await turns()
  t.same(await connectionsOf(w, ada.id), ['other'])
  t.same(w.told[0], {
    name: 'identity_unlinked',
    payload: { ...origin, time: w.now(), userId: ada.id, connection: 'op', by: 'user' }
  })
  t.equal(w.count('identity_unlinked'), 1)
  t.match(w.messages, [{ kind: 'identity_unlinked', locale: 'de', user: { username: 'ada@example.com' } }])
  t.notOk(JSON.stringify(w.told).includes('canary'))
})

// covers FED-13
t.test('unlinks one of the last two identities in 50 parallel calls', async (t) => {
  const w = await world({ initial: [{ id: 'u1', username: 'ada', passwordHash: null }] })
  for (const link of [AT_OP, OTHER]) await linkByHost('u1', link, w.deps)
  const ada = await w.store.findById('u1')
  if (ada === null) throw new Error('no user')
  const outcomes = await parallel(
    50,
    async (index) => await unlinkIdentity(ada, linkIdOf(index % 2 === 0 ? AT_OP : OTHER), asUser, w.deps)
  )
  t.equal(tally(outcomes)['unlinked'], 1)
  t.equal((await connectionsOf(w, 'u1')).length, 1)
  t.equal(w.count('identity_unlinked'), 1)
})

// covers FED-11 ADV-CVE-2026-44166
t.test('removes links from before the address was confirmed, and keeps later ones, at a password reset', async (t) => {
  const w = await world()
  const ada = await w.addUser({ emailVerified: false })
  t.equal(await linkByHost(ada.id, AT_OP, w.deps), 'linked', 'by whoever signed up with the address')
  await w.store.setEmailVerified(ada.id)
  t.equal(await linkByHost(ada.id, OTHER, w.deps), 'linked', 'by the owner of the mailbox')
  const token = await resetToken(w)
  t.equal(await outcomeOf(confirmPasswordReset({ token, password: NEXT_PASSWORD, origin }, w.deps)), 'done')
  await turns()
  t.same(await connectionsOf(w, ada.id), ['other'])
  t.match(
    w.told.find(({ name }) => name === 'identity_unlinked'),
    { payload: { ...origin, connection: 'op', by: 'password_reset' } }
  )
  t.equal(w.count('identity_unlinked'), 1)
  t.equal(await w.store.findByIdentity(AT_OP), null)
})

t.test('does not mark a link as provisional for a user without an address', async (t) => {
  const w = await world({ initial: [{ id: 'u1', username: 'ada', passwordHash: null }] })
  await linkByHost('u1', AT_OP, w.deps)
  t.same(
    (await listLinks('u1', w.deps)).map(({ provisional }) => provisional),
    [undefined]
  )
})

// covers FED-11
t.test('removes the links of a disowned account, and sends no message about them', async (t) => {
  const w = await world()
  const ada = await w.addUser({ emailVerified: false })
  await linkByHost(ada.id, AT_OP, w.deps)
  await requestEmailVerification(ada, { locale: undefined, origin }, w.deps)
  await w.idle()
  w.messages.splice(0, w.messages.length - 1)
  await disownAccount({ token: w.messages[0]?.token ?? '', origin }, w.deps)
  await turns()
  t.same(await connectionsOf(w, ada.id), [])
  t.match(w.told.find(({ name }) => name === 'identity_unlinked')?.payload, { by: 'disowned' })
  t.same(
    w.messages.map(({ kind }) => kind),
    ['verify_email']
  )
})

t.test('keeps a link when the user changes the password', async (t) => {
  const w = await world()
  const ada = await w.addUser({ emailVerified: false })
  await linkByHost(ada.id, AT_OP, w.deps)
  await changePassword({ userId: ada.id, currentPassword: PASSWORD, newPassword: NEXT_PASSWORD, origin }, w.deps)
  t.same(await connectionsOf(w, ada.id), ['op'])
})

// covers FED-11
t.test('removes a link that is created during a password reset', async (t) => {
  const w = await world({
    users: (store) => ({
      ...store,
      async setPasswordHash(id, next, expected, changedAt) {
        const done = await store.setPasswordHash(id, next, expected, changedAt)
        await store.linkIdentity(id, { ...AT_OP, linkedAt: 1, lastUsedAt: 1, provisional: true })
        return done
      }
    })
  })
  const ada = await w.addUser({ emailVerified: false })
  const token = await resetToken(w)
  await confirmPasswordReset({ token, password: NEXT_PASSWORD, origin }, w.deps)
  t.same(await connectionsOf(w, ada.id), [])
})

t.test('completes a password reset on retry when the links could not be removed', async (t) => {
  let down = false
  const w = await world({
    users: (store) => ({
      ...store,
      async listIdentities(id) {
        if (down) throw new Error('the store is down')
        return await store.listIdentities(id)
      }
    })
  })
  const ada = await w.addUser({ emailVerified: false })
  await linkByHost(ada.id, AT_OP, w.deps)
  await w.addSession(ada.id, 'thief')
  const token = await resetToken(w)
  down = true
  await t.rejects(confirmPasswordReset({ token, password: NEXT_PASSWORD, origin }, w.deps), /the store is down/)
  t.same(await w.sids(ada.id), [])
  down = false
  await confirmPasswordReset({ token, password: NEXT_PASSWORD, origin }, w.deps)
  t.same(await connectionsOf(w, ada.id), [])
  t.equal(await w.deps.hashing.verify((await w.passwordHashOf(ada.id)) ?? null, NEXT_PASSWORD), 'match')
})

t.test('keeps the link that created the user when a reset sets the first password', async (t) => {
  const w = await world()
  const ada = await w.deps.users.createWithIdentity?.(
    { username: 'ada@example.com', email: 'ada@example.com', emailVerified: true, passwordHash: null },
    { ...AT_OP, linkedAt: 1, lastUsedAt: 1 }
  )
  const token = await resetToken(w)
  await confirmPasswordReset({ token, password: NEXT_PASSWORD, origin }, w.deps)
  t.same(await connectionsOf(w, ada?.id ?? ''), ['op'])
  t.equal(await w.deps.hashing.verify((await w.passwordHashOf(ada?.id ?? '')) ?? null, NEXT_PASSWORD), 'match')
})

t.test('removes the links of a removed account', async (t) => {
  const w = await world()
  const ada = await w.addUser()
  await linkByHost(ada.id, AT_OP, w.deps)
  await removeAccount({ user: ada, stays: staying('sid'), locale: undefined, origin }, w.deps)
  t.equal(await w.store.findByIdentity(AT_OP), null)
  t.same(await listLinks(ada.id, w.deps), [])
})
