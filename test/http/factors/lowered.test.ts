/** After a factor is removed, sessions and tokens lose the level that it gave. */
import t from '../../support/tap.ts'
import { bearer } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { factorApp, formOf, logIn } from '../../support/factors.ts'
import { secondFactorOf } from '../../support/second-factor.ts'
import { basic, CLIENTS, KEYS, SECRET, tokensOf } from '../../support/openid.ts'

type Ways = 'by the person' | 'by the host' | 'by a reset' | 'nothing'

// covers SU-10
for (const way of ['by the person', 'by the host', 'by a reset', 'nothing'] satisfies Ways[]) {
  t.test(`ends or lowers the sessions and tokens of a factor only when it is removed: ${way}`, async (t) => {
    const subject = await factorApp(
      t,
      { keys: KEYS, clients: CLIENTS },
      {
        enrolled: false,
        before(host) {
          host.get(
            '/strong',
            {
              onRequest: [
                (...args) => {
                  host.authenticate(...args)
                },
                (...args) => {
                  host.requireAuth({ acr: 'mfa' })(...args)
                }
              ]
            },
            async () => 'open'
          )
          host.get(
            '/who',
            {
              onRequest: (...args) => {
                host.authority.readSession(...args)
              }
            },
            async (request) => ({ acr: request.authSession?.acr ?? null })
          )
        }
      }
    )
    const { app, browser: here, sub, clock } = subject
    await logIn(here)
    const { kind, give } = await secondFactorOf(subject, here)
    clock.step(30_000)
    const there = testBrowser(app)
    await logIn(there)
    await give(there)
    clock.step(30_000)
    const acrIn = async (browser: typeof here): Promise<string | null> =>
      (await browser.get('/who')).json<{ acr: string | null }>().acr
    const of = {
      here: await tokensOf({ app, browser: here }, { scope: 'openid offline_access' }),
      there: await tokensOf({ app, browser: there }, { scope: 'openid offline_access' })
    }
    const worth = async ({ access_token: token, refresh_token: refresh = '' }: typeof of.here) => ({
      strong: (await app.inject({ url: '/strong', headers: bearer(token) })).statusCode,
      told: (
        await app.inject({
          method: 'POST',
          url: '/auth/introspect',
          headers: { ...basic('web', SECRET), 'content-type': 'application/x-www-form-urlencoded' },
          payload: new URLSearchParams({ token }).toString()
        })
      ).json<{ active: boolean }>().active,
      refreshed: (
        await app.inject({
          method: 'POST',
          url: '/auth/token',
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          payload: new URLSearchParams({
            grant_type: 'refresh_token',
            client_id: 'spa',
            refresh_token: refresh
          }).toString()
        })
      ).statusCode
    })
    const {
      factors: [factor]
    } = await app.authority.factors(sub)
    const ways: Record<Ways, () => Promise<unknown>> = {
      async 'by the person'() {
        const { action, fields } = formOf((await here.get('/auth/security')).body)
        t.match(
          (await here.submit(action, { ...fields, decision: 'remove' })).headers.location,
          kind === 'totp' ? /done=factor_removed/ : /done=passkey_removed/
        )
      },
      'by the host': async () => await app.authority.removeFactor(sub, factor?.id ?? ''),
      'by a reset': async () => await app.authority.resetFactors(sub),
      nothing: async () => {}
    }
    const level = kind === 'totp' ? 'mfa' : 'phr'
    t.same([await acrIn(here), await acrIn(there)], [level, level])
    await ways[way]()
    const lives = way === 'nothing'
    t.equal(
      await acrIn(here),
      lives ? level : way === 'by the person' ? 'password' : null,
      'the session that removed it is worth what it began with'
    )
    t.equal(await acrIn(there), lives ? level : null)
    for (const tokens of [of.here, of.there])
      t.same(
        await worth(tokens),
        lives ? { strong: 200, told: true, refreshed: 200 } : { strong: 401, told: false, refreshed: 400 }
      )
  })
}
