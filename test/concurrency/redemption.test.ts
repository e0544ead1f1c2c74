import t from '../support/tap.ts'
import { parallel, tally } from '../../lib/testing/contract.ts'
import { bearer, type LightMyRequestResponse, PASSWORD, signIn, signUp } from '../support/app.ts'
import { answerOf, authorizeAs, authorizePath, basic, CALLBACK, LOGGED_OUT, redeem, SECRET } from '../support/openid.ts'
import { formAction, type TestBrowser } from '../support/browser.ts'
import { aliveOf, DELAYS, later, refresh, THIRD, THIRD_SECRET, type World, WORLDS } from './support/race.ts'

const OFFLINE = { scope: 'openid offline_access' }

/** A code of the third-party client: signs in and gives consent. */
async function thirdCode(browser: TestBrowser, username: string): Promise<string> {
  let { reply, url } = await browser.follow(await browser.get(authorizePath(THIRD)))
  if (url.includes('/auth/login?'))
    ({ reply, url } = await browser.follow(await browser.submit(url, { username, password: PASSWORD })))
  if (url.includes('/auth/consent?'))
    ({ reply, url } = await browser.follow(await browser.submit(formAction(reply.body), { decision: 'allow' })))
  const { code } = answerOf(url)
  if (code === undefined) throw new Error(`${reply.statusCode} at ${url}`)
  return code
}

/** Turns to wait, for a redemption after several requests. */
const FAR_LATER = [120, 240]

interface Person {
  sub: string
  username: string
  browser: TestBrowser
}

/** A new user in an existing world, because starting a world takes longer than a race. */
async function newPerson(world: World, username: string): Promise<Person> {
  return { ...(await signUp(world.app, username)), browser: world.browser() }
}

const redeemThird = async ({ app }: World, code: string): Promise<LightMyRequestResponse> =>
  await redeem(app, code, { client_id: undefined, redirect_uri: THIRD.redirect_uri }, basic('third', SECRET))

for (const [where, make] of WORLDS) {
  // covers ASVS-2.3.4 R6749-4.1.2
  t.test(`accepts one of 50 parallel redemptions of a code, and revokes its tokens (${where})`, async (t) => {
    const world = await make(t)
    const { code = '' } = await authorizeAs(world.browser(), authorizePath(OFFLINE))
    const replies = await parallel(50, async () => await redeem(world.app, code))
    t.strictSame(tally(replies.map((reply) => `${reply.statusCode} ${reply.json<{ error?: string }>().error ?? ''}`)), {
      '200 ': 1,
      '400 invalid_grant': 49
    })
    const won = replies
      .find(({ statusCode }) => statusCode === 200)
      ?.json<{ access_token: string; refresh_token: string }>()
    t.ok(won?.refresh_token)
    if (won !== undefined) t.strictSame(await aliveOf(world, won), [])
    t.match(await world.app.authority.sessions(world.ann.sub), [{ kind: 'browser' }], 'the browser session goes on')
    const reused = world.instances
      .flatMap(({ events }) => events)
      .filter(({ name, payload }) => name === 'logged_out' && payload.by === 'code_reused')
    t.equal(reused.length, 1, 'told once')
  })

  /** Ways to end the tokens of a code, each of which races with its redemption. */
  const rivals: ReadonlyArray<{
    name: string
    third?: boolean
    scope: string
    end: (world: World, person: Person) => Promise<unknown>
  }> = [
    {
      name: 'sign-out',
      scope: 'openid',
      end: async (_world, { browser }) => await browser.submit('/auth/logout', { decision: 'sign_out' })
    },
    {
      name: 'sign-out by its own client',
      scope: 'openid offline_access',
      end: async (_world, { browser }) =>
        await browser.submit(
          `/auth/logout?${new URLSearchParams({ client_id: 'spa', post_logout_redirect_uri: LOGGED_OUT }).toString()}`,
          { decision: 'sign_out' }
        )
    },
    {
      name: 'a password change',
      scope: 'openid offline_access',
      async end({ app }, { username }) {
        const { access_token: token } = await signIn(app, username)
        const reply = await app.inject({
          method: 'POST',
          url: '/auth/password',
          headers: bearer(token),
          payload: { current_password: PASSWORD, new_password: 'a wholly new password' }
        })
        if (reply.statusCode !== 204) throw new Error(reply.body)
      }
    },
    {
      name: 'revokeUser',
      scope: 'openid offline_access',
      end: async ({ app }, { sub }) => {
        await app.authority.revokeUser(sub)
      }
    },
    {
      name: 'revokeConsent',
      third: true,
      scope: 'openid offline_access',
      end: async ({ app }, { sub }) => {
        await app.authority.revokeConsent(sub, 'third')
      }
    }
  ]
  for (const { name, third = false, scope, end } of rivals) {
    // covers ASVS-7.4.1
    t.test(`leaves no session or token of a redemption that races ${name} (${where})`, async (t) => {
      const statuses: string[] = []
      const world = await make(t)
      for (const [index, delay] of [...DELAYS, ...DELAYS, ...FAR_LATER].entries()) {
        const person = await newPerson(world, `ann-${index}`)
        const { browser, username, sub } = person
        const code = third
          ? await thirdCode(browser, username)
          : ((await authorizeAs(browser, authorizePath({ scope }), { username })).code ?? '')
        const redeemed = async (): Promise<LightMyRequestResponse> =>
          third ? await redeemThird(world, code) : await redeem(world.app, code)
        // Gives each of the two requests a head start once.
        const [reply] =
          index < DELAYS.length
            ? await Promise.all([redeemed(), later(delay, async () => await end(world, person))])
            : await Promise.all([later(delay, redeemed), end(world, person)])
        statuses.push(String(reply.statusCode))
        if (reply.statusCode === 200)
          t.strictSame(await aliveOf(world, reply.json(), third ? THIRD_SECRET : { id: 'spa' }), [], `delay ${delay}`)
        else t.match(reply.json(), { error: 'invalid_grant' })
        t.equal(
          (third ? await redeemThird(world, code) : await redeem(world.app, code)).statusCode,
          400,
          'and its code is used up'
        )
        for (const { app } of world.instances)
          t.strictSame(
            (await app.authority.sessions(sub)).filter(({ clientId }) => clientId !== null),
            []
          )
      }
      t.same(Object.keys(tally(statuses)).toSorted(), ['200', '400'], 'both have won')
    })
  }

  t.test(`keeps only tokens with offline_access after a sign-out (${where})`, async (t) => {
    const world = await make(t)
    const browser = world.browser()
    const offline = await redeem(world.app, (await authorizeAs(browser, authorizePath(OFFLINE))).code ?? '')
    const online = await redeem(
      world.app,
      (await authorizeAs(browser, authorizePath({ client_id: 'web', redirect_uri: CALLBACK }))).code ?? '',
      { client_id: undefined },
      basic('web', SECRET)
    )
    const { code: waiting = '' } = await authorizeAs(browser, authorizePath(OFFLINE))
    await browser.submit('/auth/logout', { decision: 'sign_out' })
    t.strictSame(await aliveOf(world, online.json()), [])
    t.equal((await redeem(world.app, waiting)).statusCode, 400, 'a code that waits is no offline access yet')
    t.equal((await refresh(world, offline.json<{ refresh_token: string }>().refresh_token)).statusCode, 200)
  })

  // covers ASVS-10.7.3
  t.test(`ends unredeemed codes when consent is withdrawn, also in a race (${where})`, async (t) => {
    const world = await make(t)
    for (const delay of [null, ...DELAYS]) {
      const { browser, username, sub } = await newPerson(world, `ann-${delay}`)
      const first = await thirdCode(browser, username)
      if (delay === null) {
        t.equal(await world.app.authority.revokeConsent(sub, 'third'), true)
        t.match((await redeemThird(world, first)).json(), { error: 'invalid_grant' })
      } else {
        const [reply] = await Promise.all([
          browser.get(authorizePath({ ...THIRD, prompt: undefined })),
          later(delay, async () => await world.app.authority.revokeConsent(sub, 'third'))
        ])
        const { code } = answerOf(String(reply.headers.location).replace(/^\//, 'http://localhost:3000/'))
        if (code !== undefined)
          t.match((await redeemThird(world, code)).json(), { error: 'invalid_grant' }, `delay ${delay}`)
        t.match(
          await browser.follow(await browser.get(authorizePath({ ...THIRD, prompt: undefined }))),
          { url: /\/auth\/consent\?/ },
          'the person is asked again'
        )
      }
    }
  })
}
