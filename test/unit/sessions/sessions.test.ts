import t from 'tap'
import { sessions as createSessions } from '../../../lib/sessions/sessions.ts'
import { NEW_BROWSER, origin, sessionWorld, type SessionWorld } from './session-world.ts'

/** Ann in two browsers, each with what an app and a shop were given, and a device of hers that used no browser. */
async function annEverywhere (world: SessionWorld): Promise<{ here: string, there: string }> {
  const [here, there] = await Promise.all([world.browser.start('ann', NEW_BROWSER), world.browser.start('ann', NEW_BROWSER)])
  for (const [place, { session: { sid: sessionSid } }] of Object.entries({ here, there })) {
    await world.addFamily({ sid: `${place}-app`, clientId: 'app', sessionSid, offline: false })
    await world.addFamily({ sid: `${place}-app-offline`, clientId: 'app', sessionSid })
    await world.addFamily({ sid: `${place}-shop`, clientId: 'shop', sessionSid, offline: false })
    await world.addFamily({ sid: `${place}-shop-offline`, clientId: 'shop', sessionSid })
    await world.addCode({ sid: `${place}-code`, sessionSid, offline: true })
  }
  await world.addFamily({ sid: 'device', clientId: null })
  await world.addFamily({ sid: 'bobs', userId: 'bob' })
  return { here: here.session.sid, there: there.session.sid }
}

const ALL = ['device', ...['here', 'there'].flatMap((place) => [`${place}-app`, `${place}-app-offline`, `${place}-shop`, `${place}-shop-offline`])]
const without = (...gone: string[]): string[] => ALL.filter((sid) => !gone.includes(sid))

t.test('revoking a browser session ends its codes and what is not offline', async (t) => {
  const world = sessionWorld()
  const { here, there } = await annEverywhere(world)
  t.equal(await world.sessions.revoke('ann', here, 'user', origin), true)
  t.strictSame(await world.browsers(), [there])
  t.strictSame(await world.families(), without('here-app', 'here-shop'))
  t.equal(await world.redeems('here-code'), false)
  t.equal(await world.redeems('there-code'), true)
  t.equal(world.loggedOut.length, 1, 'one event tells of all')
  t.strictSame(world.loggedOut[0]?.sids.toSorted((a, b) => a.localeCompare(b)), [here, 'here-app', 'here-code', 'here-shop'].toSorted((a, b) => a.localeCompare(b)))
  t.match(world.ended, [[{ sid: here }]])
  for (const sid of ['here-app', 'here-shop']) t.equal(world.revocations.has(sid), true, sid)
  t.equal(world.revocations.has('here-app-offline'), false)
  t.equal(await world.sessions.revoke('ann', here, 'user', origin), false, 'a second time')
  t.equal(world.loggedOut.length, 1)
})

t.test('the client that asks for the sign-out loses its offline families too; others keep theirs', async (t) => {
  const world = sessionWorld()
  const { here } = await annEverywhere(world)
  t.equal(await world.sessions.revokeBrowserSession('ann', here, 'user', { clientId: 'app', origin }), true)
  t.strictSame(await world.families(), without('here-app', 'here-app-offline', 'here-shop'))
})

// covers ASVS-8.2.2
t.test('revoking a family or a browser session: the user\'s own only', async (t) => {
  const world = sessionWorld()
  const { here, there } = await annEverywhere(world)
  for (const sid of [here, there, 'device', 'here-app', 'nothing', '']) t.equal(await world.sessions.revoke('bob', sid, 'user', origin), false, sid)
  t.equal(await world.sessions.revokeBrowserSession('bob', here, 'user', { origin }), false)
  t.strictSame(await world.families(), ALL)
  t.strictSame((await world.browsers()).length, 2)
  t.strictSame(world.loggedOut, [])
  t.equal(await world.sessions.revoke('ann', 'device', 'user', origin), true)
  t.strictSame(await world.families(), without('device'))
  t.strictSame(world.ended, [], 'a family is no browser session')
})

// covers ASVS-7.4.3 ASVS-7.4.5
t.test('revokeAll ends families, codes and browser sessions, but those of exceptSid', async (t) => {
  const cases: Array<[string, (sids: { here: string, there: string }) => string | undefined, string[], Array<'here' | 'there'>]> = [
    ['nothing kept', () => undefined, [], []],
    ['a family with its browser session', () => 'here-app', ['here-app'], ['here']],
    ['a family without one', () => 'device', ['device'], []],
    ['a browser session', ({ there }) => there, [], ['there']],
    ['unknown', () => 'unknown', [], []],
    ['another user\'s', () => 'bobs', [], []]
  ]
  for (const [what, except, families, browsers] of cases) {
    await t.test(what, async (t) => {
      const world = sessionWorld()
      const sids = await annEverywhere(world)
      await world.sessions.revokeAll('ann', 'password_changed', { exceptSid: except(sids), origin })
      t.strictSame(await world.families(), families)
      t.strictSame(await world.browsers(), browsers.map((place) => sids[place]))
      t.strictSame(await world.families('bob'), ['bobs'])
      for (const code of ['here-code', 'there-code']) t.equal(await world.redeems(code), false)
      t.equal(world.loggedOut.length, 1)
      t.equal(world.ended.flat().length, 2 - browsers.length)
      for (const sid of ALL) t.equal(world.revocations.has(sid), !families.includes(sid), sid)
    })
  }
})

t.test('a store that fails in one half: the other half ends and is told, and the failure comes out', async (t) => {
  const world = sessionWorld()
  const { here } = await annEverywhere(world)
  const down = async (): Promise<never> => { throw new Error('down') }
  const noFamilies = createSessions({ ...world.deps, tokens: { ...world.state.tokens, revokeFamiliesOfUser: down } })
  await t.rejects(noFamilies.revokeAll('ann', 'disabled', { exceptSid: here, origin }), { message: 'down' })
  t.strictSame(await world.browsers(), [here])
  t.equal(world.ended.flat().length, 1)
  t.equal(world.loggedOut.length, 1)
  const noBrowsers = createSessions({ ...world.deps, browserSessions: { ...world.state.browserSessions, revokeSessionsOfUser: down } })
  await t.rejects(noBrowsers.revokeAll('ann', 'disabled', { origin }), { message: 'down' })
  t.strictSame(await world.families(), [])
  t.equal(world.loggedOut.length, 2)
})

t.test('a sign-out that fails at any of its steps, and is tried again as the browser would, leaves nothing of the session', async (t) => {
  const steps = ['revokeFamiliesOfSession', 'revokeSession', 'revokeFamiliesOfSession'] as const
  for (const carriedOut of [false, true]) {
    for (const failing of steps.keys()) {
      const world = sessionWorld()
      const { session, cookie } = await world.browser.start('ann', NEW_BROWSER)
      await world.addFamily({ sid: 'family', sessionSid: session.sid, offline: false })
      await world.addCode({ sid: 'code', sessionSid: session.sid })
      let step = -1
      const failsOnce = <A extends unknown[], R>(method: (...args: A) => Promise<R>) => async (...args: A): Promise<R> => {
        if (++step !== failing) return await method(...args)
        if (carriedOut) await method(...args)
        throw new Error('down')
      }
      const { tokens, browserSessions } = world.state
      const sessions = createSessions({
        ...world.deps,
        tokens: { ...tokens, revokeFamiliesOfSession: failsOnce(tokens.revokeFamiliesOfSession) },
        browserSessions: { ...browserSessions, revokeSession: failsOnce(browserSessions.revokeSession) }
      })
      await t.rejects(sessions.revokeBrowserSession('ann', session.sid, 'user', { origin }), { message: 'down' })
      const found = await world.browser.find(cookie)
      if (found !== null) await sessions.revokeBrowserSession('ann', found.sid, 'user', { origin })
      const what = `${steps[failing]} (${failing})${carriedOut ? ', its answer lost' : ''}`
      t.strictSame([await world.families(), await world.browsers(), await world.redeems('code')], [[], [], false], what)
    }
  }
})

t.test('all that a client was given for a user ends, and nothing else', async (t) => {
  const world = sessionWorld()
  await annEverywhere(world)
  await world.sessions.revokeFamiliesOfClient('ann', 'shop', 'host', origin)
  await world.sessions.revokeFamiliesOfClient('ann', 'unknown', 'host', origin)
  t.strictSame(await world.families(), without('here-shop', 'here-shop-offline', 'there-shop', 'there-shop-offline'))
  t.equal(world.loggedOut.length, 1)
  t.equal(world.loggedOut[0]?.sids.length, 4)
})

t.test('a code that is made while its session ends is dead, wherever between the steps it is made', async (t) => {
  for (const moment of ['before', 'after 1', 'after 2', 'parallel']) {
    const world = sessionWorld()
    const { session } = await world.browser.start('ann', NEW_BROWSER)
    const issue = async (): Promise<void> => {
      await world.addCode({ sid: 'code', sessionSid: session.sid })
      if (!await world.browser.use(session, 'app')) await world.sessions.revoke('ann', 'code', 'user', origin)
    }
    let steps = 0
    const afterFirst = async <T>(step: Promise<T>): Promise<T> => {
      const result = await step
      if (`after ${++steps}` === moment) await issue()
      return result
    }
    const sessions = createSessions({
      ...world.deps,
      browserSessions: { ...world.state.browserSessions, revokeSession: (...args) => afterFirst(world.state.browserSessions.revokeSession(...args)) },
      tokens: { ...world.state.tokens, revokeFamiliesOfSession: (...args) => afterFirst(world.state.tokens.revokeFamiliesOfSession(...args)) }
    })
    if (moment === 'before') await issue()
    await Promise.all([sessions.revokeBrowserSession('ann', session.sid, 'user', { origin }), moment === 'parallel' ? issue() : null])
    t.equal(steps, 3)
    t.equal(await world.redeems('code'), false, moment)
  }
})

t.test('what can be no id of a session is no question to the stores: one that can\'t hold it would seem to be out of reach', async (t) => {
  const { deps } = sessionWorld()
  const asked: string[] = []
  const sessions = createSessions({
    ...deps,
    tokens: { ...deps.tokens, revokeFamily: async (sid) => { asked.push(sid); return false } },
    browserSessions: { ...deps.browserSessions, revokeSession: async (sid) => { asked.push(sid); return null } }
  })
  for (const id of ['', '\0', 'a\0', 'a\n', '\ud800', '../x', 'ä', 'x'.repeat(129)]) t.equal(await sessions.revoke('ann', id, 'user', origin), false)
  t.strictSame(asked, [])
})
