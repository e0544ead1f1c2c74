import t from '../../support/tap.ts'
import { partitionOf } from '../../../lib/protocol/digest.ts'
import { sessions as createSessions, type StayingSignIn } from '../../../lib/sessions/sessions.ts'
import { NEW_BROWSER, origin, sessionWorld, type SessionWorld } from './session-world.ts'

const anns = (name: string): string => partitionOf('ann') + name
const BOBS = `${partitionOf('bob')}bobs`

/** Starts two browser sessions of Ann with families and codes of two clients, and a family without a browser. */
async function annEverywhere(world: SessionWorld): Promise<{ here: string; there: string }> {
  const [here, there] = await Promise.all([
    world.browser.start('ann', world.byPassword(), NEW_BROWSER),
    world.browser.start('ann', world.byPassword(), NEW_BROWSER)
  ])
  for (const [
    place,
    {
      session: { sid: sessionSid }
    }
  ] of Object.entries({ here, there })) {
    await world.addFamily({ sid: anns(`${place}-app`), clientId: 'app', sessionSid, offline: false })
    await world.addFamily({ sid: anns(`${place}-app-offline`), clientId: 'app', sessionSid })
    await world.addFamily({ sid: anns(`${place}-shop`), clientId: 'shop', sessionSid, offline: false })
    await world.addFamily({ sid: anns(`${place}-shop-offline`), clientId: 'shop', sessionSid })
    await world.addCode({ sid: anns(`${place}-code`), sessionSid, offline: true })
  }
  await world.addFamily({ sid: anns('device'), clientId: null })
  await world.addFamily({ sid: BOBS, userId: 'bob' })
  return { here: here.session.sid, there: there.session.sid }
}

const ALL = [
  anns('device'),
  ...['here', 'there'].flatMap((place) => [
    anns(`${place}-app`),
    anns(`${place}-app-offline`),
    anns(`${place}-shop`),
    anns(`${place}-shop-offline`)
  ])
]
const without = (...gone: string[]): string[] => ALL.filter((sid) => !gone.includes(sid))

t.test('ends the codes and online families of a revoked browser session', async (t) => {
  const world = sessionWorld()
  const { here, there } = await annEverywhere(world)
  t.equal(await world.sessions.revoke('ann', here, 'user', origin), true)
  t.strictSame(await world.browsers(), [there])
  t.strictSame(await world.families(), without(anns('here-app'), anns('here-shop')))
  t.equal(await world.redeems(anns('here-code')), false)
  t.equal(await world.redeems(anns('there-code')), true)
  t.equal(world.loggedOut.length, 1, 'one event tells of all')
  t.strictSame(
    world.loggedOut[0]?.sids.toSorted((a, b) => a.localeCompare(b)),
    [here, anns('here-app'), anns('here-code'), anns('here-shop')].toSorted((a, b) => a.localeCompare(b))
  )
  t.match(world.ended, [[{ sid: here }]])
  for (const sid of [anns('here-app'), anns('here-shop')]) t.equal(world.revocations.has(sid), true, sid)
  t.equal(world.revocations.has(anns('here-app-offline')), false)
  t.equal(await world.sessions.revoke('ann', here, 'user', origin), false, 'a second time')
  t.equal(world.loggedOut.length, 1)
})

t.test('ends the offline families of the client that requests the sign-out, and of no other', async (t) => {
  const world = sessionWorld()
  const { here } = await annEverywhere(world)
  t.equal(await world.sessions.revokeBrowserSession('ann', here, 'user', { clientId: 'app', origin }), true)
  t.strictSame(await world.families(), without(anns('here-app'), anns('here-app-offline'), anns('here-shop')))
})

// covers ASVS-8.2.2
t.test('revokes a family or browser session only for its own user', async (t) => {
  const world = sessionWorld()
  const { here, there } = await annEverywhere(world)
  for (const sid of [here, there, anns('device'), anns('here-app'), 'nothing', ''])
    t.equal(await world.sessions.revoke('bob', sid, 'user', origin), false, sid)
  t.equal(await world.sessions.revokeBrowserSession('bob', here, 'user', { origin }), false)
  t.strictSame(await world.families(), ALL)
  t.strictSame((await world.browsers()).length, 2)
  t.strictSame(world.loggedOut, [])
  t.equal(await world.sessions.revoke('ann', anns('device'), 'user', origin), true)
  t.strictSame(await world.families(), without(anns('device')))
  t.strictSame(world.ended, [], 'a family is no browser session')
})

/** The sign-in to keep, without a cookie. */
const staying = (sid: string | undefined): StayingSignIn | null => (sid === undefined ? null : { sid, browser: null })

// covers ASVS-7.4.3 ASVS-7.4.5
t.test('revokeAll ends families, codes and browser sessions except the sign-in to keep', async (t) => {
  const cases: Array<
    [string, (sids: { here: string; there: string }) => string | undefined, string[], Array<'here' | 'there'>]
  > = [
    ['nothing kept', () => undefined, [], []],
    ['a family with its browser session', () => anns('here-app'), [anns('here-app')], ['here']],
    ['a family without one', () => anns('device'), [anns('device')], []],
    ['a browser session', ({ there }) => there, [], ['there']],
    ['unknown', () => 'unknown', [], []],
    ["another user's", () => BOBS, [], []]
  ]
  for (const [what, except, families, browsers] of cases) {
    await t.test(`revokeAll keeps the right sign-in: ${what}`, async (t) => {
      const world = sessionWorld()
      const sids = await annEverywhere(world)
      await world.sessions.revokeAll('ann', 'password_changed', { stays: staying(except(sids)), origin })
      t.strictSame(await world.families(), families)
      t.strictSame(
        await world.browsers(),
        browsers.map((place) => sids[place])
      )
      t.strictSame(await world.families('bob'), [BOBS])
      for (const code of [anns('here-code'), anns('there-code')]) t.equal(await world.redeems(code), false)
      t.equal(world.loggedOut.length, 1)
      t.equal(world.ended.flat().length, 2 - browsers.length)
      for (const sid of ALL) t.equal(world.revocations.has(sid), !families.includes(sid), sid)
    })
  }
})

t.test('revokeAll ends browser sessions when the store fails for families, or the reverse, and rejects', async (t) => {
  const world = sessionWorld()
  const { here } = await annEverywhere(world)
  const down = async (): Promise<never> => {
    throw new Error('down')
  }
  const noFamilies = createSessions({ ...world.deps, tokens: { ...world.state.tokens, revokeFamiliesOfUser: down } })
  await t.rejects(noFamilies.revokeAll('ann', 'disabled', { stays: staying(here), origin }), { message: 'down' })
  t.strictSame(await world.browsers(), [here])
  t.equal(world.ended.flat().length, 1)
  t.equal(world.loggedOut.length, 1)
  const noBrowsers = createSessions({
    ...world.deps,
    browserSessions: { ...world.state.browserSessions, revokeSessionsOfUser: down }
  })
  await t.rejects(noBrowsers.revokeAll('ann', 'disabled', { origin }), { message: 'down' })
  t.strictSame(await world.families(), [])
  t.equal(world.loggedOut.length, 2)
})

t.test(
  'ends the whole session or nothing when a sign-out fails at any step while another tab redeems a code',
  async (t) => {
    for (const carriedOut of [false, true]) {
      for (const moment of ['before', 'after']) {
        // Let one step after the other fail, until the sign-out has no further step.
        for (let failing = 0, wasMet = true; wasMet; failing++) {
          const world = sessionWorld()
          const { session, cookie } = await world.browser.start('ann', world.byPassword(), NEW_BROWSER)
          await world.addFamily({ sid: anns('family'), sessionSid: session.sid, offline: false })
          for (const sid of [anns('waiting'), anns('redeemed')]) await world.addCode({ sid, sessionSid: session.sid })
          const otherTab = async (): Promise<void> => {
            await world.addCode(
              { sid: anns('other-tab'), sessionSid: session.sid },
              world.browser.useOf(session, 'app')
            )
            await world.redeems(anns('redeemed'))
          }
          let step = -1
          const faulty = <Store extends object>(store: Store): Store =>
            new Proxy(store, {
              get:
                (target, name) =>
                async (...args: unknown[]) => {
                  const call = async (): Promise<unknown> =>
                    await (target as Record<PropertyKey, (...args: unknown[]) => Promise<unknown>>)[name]?.(...args)
                  if (++step !== failing) return await call()
                  if (moment === 'before') await otherTab()
                  if (carriedOut) await call()
                  if (moment === 'after') await otherTab()
                  throw new Error('down')
                }
            })
          const sessions = createSessions({
            ...world.deps,
            tokens: faulty(world.state.tokens),
            browserSessions: faulty(world.state.browserSessions)
          })
          wasMet = await sessions.revokeBrowserSession('ann', session.sid, 'user', { origin }).then(
            () => false,
            () => true
          )
          const what = `step ${failing}${carriedOut ? ', its answer lost' : ''}, the other tab ${moment} it`
          const isSignedIn = (await world.browser.find(cookie)) !== null
          if (!isSignedIn)
            t.strictSame(
              [await world.families(), await world.redeems(anns('waiting')), await world.redeems(anns('other-tab'))],
              [[], false, false],
              `${what}: nothing is left`
            )
          else {
            t.ok((await world.families()).includes(anns('family')), `${what}: nothing has ended`)
            await world.sessions.revokeBrowserSession('ann', session.sid, 'user', { origin })
            t.strictSame(
              [await world.browsers(), await world.families(), await world.redeems(anns('other-tab'))],
              [[], [], false],
              `${what}: and a repeat ends it all`
            )
          }
        }
      }
    }
  }
)

t.test('ends all families of a client for a user, and no others', async (t) => {
  const world = sessionWorld()
  await annEverywhere(world)
  await world.sessions.revokeFamiliesOfClient('ann', 'shop', 'host', origin)
  await world.sessions.revokeFamiliesOfClient('ann', 'unknown', 'host', origin)
  t.strictSame(
    await world.families(),
    without(anns('here-shop'), anns('here-shop-offline'), anns('there-shop'), anns('there-shop-offline'))
  )
  t.equal(world.loggedOut.length, 1)
  t.equal(world.loggedOut[0]?.sids.length, 4)
})

t.test('does not redeem a code that was issued while its session was ending', async (t) => {
  for (const order of ['code first', 'sign-out first']) {
    const world = sessionWorld()
    const { session } = await world.browser.start('ann', world.byPassword(), NEW_BROWSER)
    const calls = [
      async () =>
        await world.addCode({ sid: anns('code'), sessionSid: session.sid }, world.browser.useOf(session, 'app')),
      async () => await world.sessions.revokeBrowserSession('ann', session.sid, 'user', { origin })
    ]
    await Promise.all((order === 'code first' ? calls : calls.toReversed()).map(async (call) => await call()))
    t.equal(await world.redeems(anns('code')), false, order)
    t.strictSame(await world.browsers(), [])
  }
})

t.test('does not query the stores for a malformed session id', async (t) => {
  const { deps } = sessionWorld()
  const asked: string[] = []
  const sessions = createSessions({
    ...deps,
    tokens: {
      ...deps.tokens,
      revokeFamily: async (sid) => {
        asked.push(sid)
        return false
      },
      revokeSession: async (_userId, sid) => {
        asked.push(sid)
        return { session: null, sids: [] }
      }
    }
  })
  for (const id of ['', '\0', 'a\0', 'a\n', '\ud800', '../x', 'ä', 'x'.repeat(129)])
    t.equal(await sessions.revoke('ann', id, 'user', origin), false)
  t.strictSame(asked, [])
})
