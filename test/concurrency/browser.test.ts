import { REPLACED_SECRET_MS } from '../../lib/ports/session-store.ts'
import { cookieName } from '../support/cookies.ts'
import t from '../support/tap.ts'
import { parallel, tally } from '../../lib/testing/contract.ts'
import { decodeJwt } from '../support/jwt.ts'
import { type LightMyRequestResponse, PASSWORD, signUp } from '../support/app.ts'
import { formAction } from '../support/browser.ts'
import { answerOf, authorizeAs, authorizePath, redeem } from '../support/openid.ts'
import { aliveOf, DELAYS, later, refresh, THIRD, type World, WORLDS } from './support/race.ts'

const COOKIE = cookieName('session')

/** True for each instance at which a session cookie signs Ann in. */
async function whoIs({ instances, ann }: World, value: string): Promise<boolean[]> {
  return await Promise.all(
    instances.map(async ({ app }) => {
      const reply = await app.inject({
        url: authorizePath({ prompt: 'none' }),
        headers: { cookie: `${COOKIE}=${value}` }
      })
      const { code, error } = answerOf(String(reply.headers.location))
      if (code === undefined && error !== 'login_required')
        throw new Error(`${reply.statusCode} ${String(reply.headers.location)}`)
      return code !== undefined && ann.sub !== ''
    })
  )
}

const cookieOf = (reply: LightMyRequestResponse): string =>
  reply.cookies.find(({ name }) => name === COOKIE)?.value ?? ''

for (const [where, make] of WORLDS) {
  // covers ASVS-7.2.4
  t.test(
    `accepts or rejects cookies of 50 parallel sign-ins alike at every instance, and ends the former one (${where})`,
    async (t) => {
      const world = await make(t)
      const browser = world.browser()
      await authorizeAs(browser, authorizePath())
      const former = browser.cookies.get(COOKIE) ?? ''
      t.ok((await whoIs(world, former)).every(Boolean))
      const replies = await parallel(
        50,
        async () => await browser.submit('/auth/login', { username: 'ann', password: PASSWORD })
      )
      t.strictSame(tally(replies.map(({ statusCode }) => String(statusCode))), { 303: 50 })
      const values = replies.map(cookieOf)
      t.equal(new Set([former, ...values]).size, 51, 'a new value each')
      world.clock.step(REPLACED_SECRET_MS)
      t.ok(
        (await whoIs(world, former)).every((found) => !found),
        'the former one is dead after its ten seconds'
      )
      const found = await Promise.all(values.map(async (value) => (await whoIs(world, value)).join()))
      for (const one of new Set(found)) t.ok(new Set(one.split(',')).size === 1, 'the same at every instance')
      t.ok(
        found.some((one) => one.startsWith('true')),
        'somebody is signed in'
      )
      const last = await browser.submit('/auth/login', { username: 'ann', password: PASSWORD })
      t.ok((await whoIs(world, cookieOf(last))).every(Boolean), 'one more sign-in works')
      await browser.submit('/auth/logout', { decision: 'sign_out' })
      t.ok((await whoIs(world, cookieOf(last))).every((one) => !one))
    }
  )

  // covers ASVS-7.4.1
  t.test(`gives no usable code to an authorization request that races a sign-out (${where})`, async (t) => {
    const outcomes: string[] = []
    // In memory an authorization takes so few turns that a sign-out wins only with a head start.
    for (const delay of [-3, -2, -1, ...DELAYS]) {
      const world = await make(t)
      const browser = world.browser()
      await authorizeAs(browser, authorizePath())
      const stolen = browser.cookies.get(COOKIE) ?? ''
      const [reply] = await Promise.all([
        later(-delay, async () => await browser.get(authorizePath({ prompt: 'none', scope: 'openid offline_access' }))),
        later(delay, async () => await browser.submit('/auth/logout', { decision: 'sign_out' }))
      ])
      const { code, error } = answerOf(String(reply.headers.location))
      outcomes.push(code === undefined ? `${error}` : 'code')
      if (code !== undefined) t.equal((await redeem(world.app, code)).statusCode, 400, `delay ${delay}`)
      t.ok((await whoIs(world, stolen)).every((found) => !found))
      t.strictSame(await world.app.authority.sessions(world.ann.sub), [])
      await Promise.all(
        world.instances.map(async ({ close }) => {
          await close()
        })
      )
    }
    t.strictSame(Object.keys(tally(outcomes)).toSorted(), ['code', 'login_required'], 'both have won')
  })

  // covers ASVS-7.4.1
  t.test(
    `ends the former session and leaves at most one new one when a sign-in races revokeUser (${where})`,
    async (t) => {
      const world = await make(t)
      for (const delay of DELAYS) {
        const { sub, username } = await signUp(world.app, `ann-${delay}`)
        const browser = world.browser()
        await authorizeAs(browser, authorizePath(), { username })
        const former = browser.cookies.get(COOKIE) ?? ''
        const [reply] = await Promise.all([
          browser.submit('/auth/login', { username, password: PASSWORD }),
          later(delay, async () => {
            await world.app.authority.revokeUser(sub)
          })
        ])
        t.equal(reply.statusCode, 303)
        t.ok(
          (await whoIs(world, former)).every((found) => !found),
          `the former cookie is dead, delay ${delay}`
        )
        t.ok((await world.app.authority.sessions(sub)).length <= 1, 'no second session is left')
      }
    }
  )

  // covers ASVS-7.2.4
  t.test(`gives a working code to each of two parallel tabs with prompt=login (${where})`, async (t) => {
    const world = await make(t)
    const browser = world.browser()
    await authorizeAs(browser, authorizePath())
    const former = browser.cookies.get(COOKIE) ?? ''
    const codes = await parallel(
      2,
      async (index) =>
        (await authorizeAs(browser, authorizePath({ prompt: 'login', nonce: `tab-${index}` }))).code ?? ''
    )
    for (const [index, code] of codes.entries()) {
      const reply = await redeem(world.app, code)
      t.equal(reply.statusCode, 200)
      t.match(decodeJwt(reply.json<{ id_token: string }>().id_token), {
        claims: { nonce: `tab-${index}`, sub: world.ann.sub }
      })
    }
    t.ok((await whoIs(world, browser.cookies.get(COOKIE) ?? '')).every(Boolean))
    world.clock.step(REPLACED_SECRET_MS)
    t.ok((await whoIs(world, former)).every((found) => !found))
    // The second tab sends a replaced secret, which renews nothing.
    const sessions = (await world.app.authority.sessions(world.ann.sub)).filter(({ kind }) => kind === 'browser')
    t.ok(sessions.length === 1 || sessions.length === 2, 'at most one a tab')
  })

  // covers ASVS-2.3.1
  t.test(`grants a consent that races another sign-in only to the user who saw the page (${where})`, async (t) => {
    const world = await make(t)
    for (const delay of DELAYS) {
      const [ann, bob] = [await signUp(world.app, `ann-${delay}`), await signUp(world.app, `bob-${delay}`)]
      const browser = world.browser()
      await authorizeAs(browser, authorizePath(), { username: ann.username })
      const { reply: page } = await browser.follow(await browser.get(authorizePath(THIRD)))
      const action = formAction(page.body)
      const [reply] = await Promise.all([
        browser.submit(action, { decision: 'allow' }),
        later(delay, async () => await browser.submit('/auth/login', { username: bob.username, password: PASSWORD }))
      ])
      t.ok([200, 303].includes(reply.statusCode))
      t.strictSame(await world.app.authority.consents(bob.sub), [], `delay ${delay}`)
      const again = await browser.submit(action, { decision: 'allow' })
      t.equal(again.statusCode, 200, 'shows the other person the page again')
      t.match(again.body, bob.username)
      t.strictSame(await world.app.authority.consents(bob.sub), [])
      const after = await browser.follow(await browser.get(authorizePath({ ...THIRD, prompt: undefined })))
      t.match(after.url, /\/auth\/consent\?/, 'and asks the next person')
    }
  })

  // covers ASVS-2.3.4
  t.test(`creates one account and one session for 50 parallel sign-ups of one name (${where})`, async (t) => {
    const world = await make(t)
    const replies = await parallel(
      50,
      async () => await world.browser().submit('/auth/signup', { username: 'carl', password: PASSWORD })
    )
    t.strictSame(tally(replies.map(({ statusCode }) => String(statusCode))), { 303: 1, 409: 49 })
    t.equal(replies.filter((reply) => cookieOf(reply) !== '').length, 1)
    const { code = '' } = await authorizeAs(world.browser(), authorizePath(), { username: 'carl' })
    const { sub } = decodeJwt((await redeem(world.app, code)).json<{ id_token: string }>().id_token).claims
    t.equal(
      (await world.app.authority.sessions(String(sub))).filter(({ kind }) => kind === 'browser').length,
      2,
      'that of the sign-up, and this'
    )
  })

  // covers R9700-4.14
  t.test(
    `returns one successor to 50 parallel refreshes, and ends the family on a late replay (${where})`,
    async (t) => {
      const world = await make(t)
      const { code = '' } = await authorizeAs(
        world.browser(),
        authorizePath({ scope: 'openid offline_access', nonce: 'n' })
      )
      const first = (await redeem(world.app, code)).json<{
        access_token: string
        refresh_token: string
        id_token: string
      }>()
      const replies = await parallel(50, async () => await refresh(world, first.refresh_token))
      t.strictSame(tally(replies.map(({ statusCode }) => String(statusCode))), { 200: 50 })
      const answers = replies.map((reply) =>
        reply.json<{ access_token: string; refresh_token: string; id_token: string }>()
      )
      t.equal(new Set(answers.map((answer) => answer.refresh_token)).size, 1)
      const { claims: before } = decodeJwt(first.id_token)
      for (const answer of answers) {
        const { claims } = decodeJwt(answer.id_token)
        t.strictSame(
          [claims.sub, claims.sid, claims.auth_time, claims.aud, claims.nonce],
          [before.sub, before.sid, before.auth_time, before.aud, undefined]
        )
      }
      world.clock.step(11_000)
      t.match((await refresh(world, first.refresh_token)).json(), { error: 'invalid_grant' })
      for (const answer of answers.slice(0, 3)) t.strictSame(await aliveOf(world, answer), [])
    }
  )
}
