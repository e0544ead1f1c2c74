import t from '../support/tap.ts'
import { bearer } from '../support/app.ts'
import { testBrowser } from '../support/browser.ts'
import { authorizeAs, authorizePath, openidApp, tokensOf } from '../support/openid.ts'

// covers L4
t.test('ends the session that a server names by an ID token hint, also an expired one', async (t) => {
  for (const how of ['GET', 'POST'] as const) {
    const subject = await openidApp()
    const elsewhere = await openidApp({ issuer: 'http://localhost:3001' })
    t.teardown(subject.close)
    t.teardown(elsewhere.close)
    const { app, browser, clock, events } = subject
    const { access_token: access, id_token: hint = '' } = await tokensOf(subject)
    const foreign = (await tokensOf(elsewhere)).id_token ?? ''
    const out = async (token: string): Promise<{ status: number; body: string }> => {
      const reply =
        how === 'GET'
          ? await app.inject({ url: `/auth/logout?id_token_hint=${token}` })
          : await app.inject({
              method: 'POST',
              url: '/auth/logout',
              headers: { 'content-type': 'application/x-www-form-urlencoded' },
              payload: `id_token_hint=${token}`
            })
      return { status: reply.statusCode, body: reply.body }
    }
    const [header = '', payload = '', signature = ''] = hint.split('.')
    for (const [what, bad] of Object.entries({
      "another issuer's": foreign,
      'an access token': access,
      forged: `${header}.${payload}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`,
      unsigned: `${Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')}.${payload}.`,
      junk: 'x'
    })) {
      t.notMatch((await out(bad)).body, 'You are signed out', `${how} ${what}`)
    }
    t.match(await authorizeAs(browser, authorizePath({ prompt: 'none' })), { code: /./ }, 'still signed in')
    clock.step(3_600_000)
    events.length = 0
    const done = await out(hint)
    t.equal(done.status, 200, how)
    t.match(done.body, 'You are signed out')
    t.match(events, [{ name: 'logged_out', payload: { userId: subject.ann.sub, by: 'user' } }])
    t.match(
      await authorizeAs(browser, authorizePath({ prompt: 'none' })),
      { error: 'login_required' },
      'nobody is signed in in the browser'
    )
    t.equal((await app.inject({ url: '/auth/userinfo', headers: bearer(access) })).statusCode, 401)
    const again = await testBrowser(app).follow(await testBrowser(app).get(`/auth/logout?id_token_hint=${hint}`))
    t.match(again.reply.body, 'Nobody was signed in here')
  }
})
