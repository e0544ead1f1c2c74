/** The hook `mfa.required` fails at any of its calls: no user is let in, and nothing is lost. */
import t, { type Test } from '../../support/tap.ts'
import { bearer, PASSWORD, signIn } from '../../support/app.ts'
import { cookieName } from '../../support/cookies.ts'
import { testBrowser } from '../../support/browser.ts'
import { codeFor, factorApp, type FactorApp, formOf, logIn, signedInAnywhere } from '../../support/factors.ts'
import { answerOf, authorizePath, CLIENTS, KEYS } from '../../support/openid.ts'

interface Hook {
  /** The number of calls that succeed before one fails. */
  looks: number
  failed: boolean
}

/** The hook returns false until it fails. */
async function failing(t: Test, options: { enrolled: boolean }): Promise<FactorApp & { hook: Hook }> {
  const hook: Hook = { looks: Infinity, failed: false }
  const required = async (): Promise<boolean> => {
    if (hook.looks-- > 0) return false
    hook.failed = true
    throw new Error('The hook is down.')
  }
  const subject = await factorApp(
    t,
    { keys: KEYS, clients: CLIENTS, mfa: { required } },
    options.enrolled ? {} : options
  )
  return { ...subject, hook }
}

/** Runs `act` with a hook that fails at its first call, then at its second, and so on, until no call fails. */
async function eachLook(hook: Hook, act: (look: number) => Promise<void>): Promise<number> {
  for (let look = 0; ; look++) {
    Object.assign(hook, { looks: look, failed: false })
    await act(look)
    const wasMet = hook.failed
    hook.looks = Infinity
    if (!wasMet) return look
  }
}

for (const enrolled of [false, true]) {
  const whose = enrolled ? 'a user with an app' : 'a user without a second factor'

  t.test(`answers 503 at each failing call of mfa.required for a sign-in of ${whose}, then recovers`, async (t) => {
    const subject = await failing(t, { enrolled })
    const { app, hook, sub, clock, secret } = subject
    const before = (await app.authority.sessions(sub)).length
    const looks = await eachLook(hook, async (look) => {
      const browser = testBrowser(app)
      clock.step(60_000)
      let reply = await logIn(browser)
      if (reply.headers.location === '/auth/second-factor') {
        const { action } = formOf((await browser.get('/auth/second-factor')).body)
        reply = await browser.submit(action, { code: codeFor(secret, clock.now()) })
        if (hook.failed && reply.statusCode === 503) {
          hook.looks = Infinity
          t.same(await signedInAnywhere(browser), [])
          t.equal(
            (await browser.submit(action, { code: codeFor(secret, clock.now()) })).statusCode,
            303,
            'the same code'
          )
          return
        }
      }
      hook.looks = Infinity
      t.equal(reply.statusCode, hook.failed ? 503 : 303, `look ${look}`)
      t.equal((await signedInAnywhere(browser)).length > 0, !hook.failed)
    })
    t.ok(looks > 0 || enrolled)
    t.ok((await app.authority.sessions(sub)).length > before)
  })
}

t.test('answers 503 to the password grant at each failing call of mfa.required', async (t) => {
  const { app, hook, sub } = await failing(t, { enrolled: false })
  const payload = { grant_type: 'password', username: 'ann', password: PASSWORD }
  const looks = await eachLook(hook, async (look) => {
    const reply = await app.inject({ method: 'POST', url: '/auth/token', payload })
    hook.looks = Infinity
    t.equal(reply.statusCode, hook.failed ? 503 : 200, `look ${look}`)
    t.equal((await app.authority.sessions(sub)).length, hook.failed ? 0 : 1)
  })
  t.ok(looks > 0)
})

t.test('answers 503 to a session while mfa.required fails, and accepts the session afterwards', async (t) => {
  const { app, hook } = await failing(t, { enrolled: false })
  const browser = testBrowser(app)
  await logIn(browser)
  const cookie = browser.cookies.get(cookieName('session'))
  for (const url of ['/auth/account', '/auth/security', '/auth/session']) {
    await eachLook(hook, async (look) => {
      const reply = await browser.get(url, { 'sec-fetch-site': 'same-origin' })
      t.equal(reply.statusCode, hook.failed ? 503 : 200, `${url} at look ${look}`)
      t.equal(browser.cookies.get(cookieName('session')), cookie)
    })
  }
  await eachLook(hook, async (look) => {
    const answer = answerOf(String((await browser.get(authorizePath())).headers.location))
    const wanted = hook.failed
      ? { error: 'temporarily_unavailable', code: undefined }
      : { error: undefined, code: String }
    t.match(answer, wanted, `look ${look}`)
  })
  t.equal((await browser.get('/auth/account')).statusCode, 200)
})

t.test('keeps the refresh token valid while mfa.required fails', async (t) => {
  const { app, hook } = await failing(t, { enrolled: false })
  let { refresh_token: token } = await signIn(app)
  const looks = await eachLook(hook, async (look) => {
    const refresh = async () => await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(token) })
    let reply = await refresh()
    t.equal(reply.statusCode, hook.failed ? 503 : 200, `look ${look}`)
    if (hook.failed) {
      hook.looks = Infinity
      reply = await refresh()
      t.equal(reply.statusCode, 200)
    }
    token = reply.json<{ refresh_token: string }>().refresh_token
  })
  t.type(looks, 'number')
})
