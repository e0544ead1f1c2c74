import t from '../../support/tap.ts'
import { REPLACED_SECRET_MS } from '../../../lib/ports/session-store.ts'
import { partitionOf } from '../../../lib/protocol/digest.ts'
import { formatCredential, parseCredential } from '../../../lib/protocol/credential.ts'
import { EXPIRES_IN, HOUR, IDLE_TIMEOUT, MINUTE, NEW_BROWSER, origin, sessionWorld } from './session-world.ts'

t.test('finds a session only by the cookie that it was started with', async (t) => {
  const { browser, byPassword, random, state } = sessionWorld()
  const { session, cookie } = await browser.start('ann', byPassword(), NEW_BROWSER)
  t.match(session, { userId: 'ann', userAgent: 'Firefox', clientIds: [], authenticatedAt: session.createdAt })
  t.strictSame(await browser.find(cookie), session)
  const { id: sessionId, secret } = parseCredential(cookie) ?? { id: '', secret: '' }
  for (const [what, other] of Object.entries({
    none: undefined,
    empty: '',
    'public name': session.sid,
    'id alone': sessionId,
    'public name with the secret': `${session.sid}.${secret}`,
    'other secret': formatCredential(sessionId, random.secret()),
    'other id': formatCredential(`abc${random.id()}`, secret),
    'more behind it': `${cookie}x`,
    quoted: `"${cookie}"`
  }))
    t.equal(await browser.find(other), null, what)
  t.notMatch(
    JSON.stringify(await state.browserSessions.listSessionsOfUser('ann', 0)),
    new RegExp(`${sessionId}|${secret}`),
    'the store keeps neither part'
  )
})

// covers ASVS-7.2.4
t.test('issues another cookie on a new sign-in, and rejects the former one after its grace time', async (t) => {
  const { browser, byPassword, clock, browsers, loggedOut } = sessionWorld()
  const first = await browser.start('ann', byPassword(), NEW_BROWSER)
  await browser.use(first.session, 'app')
  clock.step(HOUR)
  const former = await browser.find(first.cookie)
  const second = await browser.start('ann', byPassword(), { session: former, cookie: first.cookie, origin })
  t.not(second.cookie, first.cookie)
  const found = await browser.find(second.cookie)
  t.strictSame(found, second.session)
  t.match(
    found,
    {
      sid: first.session.sid,
      createdAt: first.session.createdAt,
      authenticatedAt: clock.now(),
      expiresAt: clock.now() + EXPIRES_IN,
      clientIds: ['app']
    },
    'it goes on, with its clients, from now'
  )
  t.strictSame(await browsers(), [first.session.sid])
  t.strictSame(loggedOut, [], 'nobody was signed out')
  t.equal((await browser.find(first.cookie))?.authenticatedAt, first.session.authenticatedAt, 'with its own proofs')
  clock.step(REPLACED_SECRET_MS)
  t.equal(await browser.find(first.cookie), null)
})

// covers ASVS-7.2.4
t.test('starts a session under a new id when the browser sends a cookie of no session', async (t) => {
  const { browser, byPassword, random, sidOf } = sessionWorld()
  const planted = formatCredential(`abc${random.id()}`, random.secret())
  const { session, cookie } = await browser.start('ann', byPassword(), {
    session: await browser.find(planted),
    cookie: planted,
    origin
  })
  t.not(session.sid, sidOf(planted))
  t.not(cookie.split('.')[0], planted.split('.')[0])
  t.equal(await browser.find(planted), null)
})

// covers ASVS-7.2.4
t.test('ends the session of the former user when another user signs in in the same browser', async (t) => {
  const world = sessionWorld()
  const { browser, byPassword } = world
  const eves = (name: string): string => partitionOf('eve') + name
  const first = await browser.start('eve', byPassword(), NEW_BROWSER)
  await browser.use(first.session, 'app')
  await world.addFamily({ sid: eves('online'), userId: 'eve', sessionSid: first.session.sid, offline: false })
  await world.addFamily({ sid: eves('offline'), userId: 'eve', sessionSid: first.session.sid, offline: true })
  const second = await browser.start('ann', byPassword(), {
    session: await browser.find(first.cookie),
    cookie: first.cookie,
    origin
  })
  t.not(second.session.sid, first.session.sid)
  t.equal(await browser.find(first.cookie), null)
  t.strictSame(await world.families('eve'), [eves('offline')])
  t.match(world.loggedOut, [{ userId: 'eve', sids: [first.session.sid, eves('online')], by: 'user', ip: origin.ip }])
  t.match(world.ended, [[{ sid: first.session.sid, clientIds: ['app'] }]])
})

t.test('starts a new session if the former one has ended meanwhile', async (t) => {
  const { browser, byPassword, sessions, browsers } = sessionWorld()
  const first = await browser.start('ann', byPassword(), NEW_BROWSER)
  await sessions.revokeAll('ann', 'host', { origin })
  const second = await browser.start('ann', byPassword(), { session: first.session, cookie: first.cookie, origin })
  t.not(second.session.sid, first.session.sid)
  t.strictSame(await browsers(), [second.session.sid])
})

t.test('renews the session for one of two parallel sign-ins, and starts another for the second', async (t) => {
  const { browser, byPassword, clock, loggedOut } = sessionWorld()
  const first = await browser.start('ann', byPassword(), NEW_BROWSER)
  const both = await Promise.all(
    [1, 2].map(
      async () => await browser.start('ann', byPassword(), { session: first.session, cookie: first.cookie, origin })
    )
  )
  t.equal(both.filter(({ session }) => session.sid === first.session.sid).length, 1)
  clock.step(REPLACED_SECRET_MS)
  for (const { cookie, session } of both) t.strictSame(await browser.find(cookie), session)
  t.equal(await browser.find(first.cookie), null)
  t.strictSame(loggedOut, [], 'neither ends the other')
})

// covers ASVS-7.3.1
t.test('ends a session that is not used, and extends it on each use', async (t) => {
  const { browser, byPassword, clock } = sessionWorld()
  const { session, cookie } = await browser.start('ann', byPassword(), NEW_BROWSER)
  clock.step(IDLE_TIMEOUT - 1)
  t.ok(await browser.find(cookie), 'a moment before')
  t.equal(await browser.use(session), true)
  clock.step(IDLE_TIMEOUT - 1)
  t.ok(await browser.find(cookie), 'it slid')
  clock.step(1)
  t.equal(await browser.find(cookie), null, 'looking at it did not count')
  t.equal(await browser.use(session), false)
  t.equal(await browser.find(cookie), null)
})

// covers ASVS-7.3.2
t.test('extends the absolute expiry only on a new sign-in, not on use', async (t) => {
  const { browser, byPassword, clock } = sessionWorld()
  const { session, cookie } = await browser.start('ann', byPassword(), NEW_BROWSER)
  while (clock.now() + HOUR < session.expiresAt) {
    clock.step(HOUR)
    t.equal(await browser.use(session), true)
  }
  clock.step(session.expiresAt - clock.now() - 1)
  const last = await browser.find(cookie)
  t.ok(last)
  t.ok((last?.idleExpiresAt ?? Infinity) <= session.expiresAt)
  const renewed = await browser.start('ann', byPassword(), { session: last, cookie, origin })
  clock.step(REPLACED_SECRET_MS)
  t.equal(await browser.find(cookie), null)
  t.ok(await browser.find(renewed.cookie))

  const active = sessionWorld()
  const other = await active.browser.start('ann', active.byPassword(), NEW_BROWSER)
  while (active.clock.now() < other.session.expiresAt) {
    active.clock.step(MINUTE * 30)
    await active.browser.use(other.session)
  }
  t.equal(await active.browser.find(other.cookie), null)
})

// covers ASVS-7.3.2
t.test('keeps the absolute expiry on a second factor, and ignores the sign-in time of a provider', async (t) => {
  const { browser, byPassword, clock } = sessionWorld()
  const { session, cookie } = await browser.start('ann', byPassword(), NEW_BROWSER)
  clock.step(HOUR)
  const byCode = await browser.renew([...session.methods, { method: 'otp', at: clock.now() }], {
    cookie,
    session
  })
  t.match(byCode?.session, { expiresAt: session.expiresAt, idleExpiresAt: clock.now() + IDLE_TIMEOUT })
  const byBoth = await browser.renew([...byPassword(), { method: 'otp', at: clock.now() }], {
    cookie: byCode?.cookie,
    session: byCode?.session ?? null
  })
  t.equal(byBoth?.session.expiresAt, clock.now() + EXPIRES_IN)

  const connected = await browser.start(
    'bob',
    [{ method: 'connection', at: clock.now() - 48 * HOUR, here: clock.now() }],
    NEW_BROWSER
  )
  t.equal(connected.session.expiresAt, clock.now() + EXPIRES_IN)
})

// covers ASVS-7.4.1
t.test('neither finds nor uses an ended session, and reports its end once', async (t) => {
  const { browser, byPassword, sessions, loggedOut, ended } = sessionWorld()
  const { session, cookie } = await browser.start('ann', byPassword(), NEW_BROWSER)
  await browser.use(session, 'app')
  await browser.use(session, 'shop')
  await browser.use(session, 'app')
  await Promise.all(
    [1, 2, 3].map(async () => {
      await sessions.revokeBrowserSession('ann', session.sid, 'user', { origin })
    })
  )
  t.equal(await browser.find(cookie), null)
  t.equal(await browser.use(session, 'app'), false)
  t.match(loggedOut, [{ userId: 'ann', sids: [session.sid], by: 'user' }])
  t.equal(loggedOut.length, 1, 'told once')
  t.match(ended, [[{ sid: session.sid, clientIds: ['app', 'shop'] }]])
  t.equal(ended.length, 1)
})
