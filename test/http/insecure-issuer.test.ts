import t from '../support/tap.ts'
import { authorizePath, openidApp } from '../support/openid.ts'
import { PASSWORD } from '../support/app.ts'

// covers H12
t.test('signs in at an http issuer on another host, with cookies without Secure and __Host-', async (t) => {
  const issuer = 'http://192.168.1.5:3000'
  const { app, browser, close } = await openidApp({ issuer, allowInsecureIssuer: true })
  t.teardown(close)
  t.match((await app.inject('/.well-known/openid-configuration')).json(), {
    issuer,
    authorization_endpoint: `${issuer}/auth/authorize`
  })
  const { url } = await browser.follow(await browser.get(authorizePath()))
  const signedIn = await browser.submit(url, { username: 'ann', password: PASSWORD })
  const cookies = [signedIn.headers['set-cookie'] ?? []].flat()
  t.ok(cookies.length > 0)
  for (const cookie of cookies) {
    t.notMatch(cookie, /Secure|__Host-/, 'a browser would throw it away')
    t.match(cookie, /HttpOnly; SameSite=Lax/)
  }
  t.match(
    (await browser.follow(signedIn)).url,
    /^https:\/\/app\.example\/cb\?code=.*iss=http%3A%2F%2F192\.168\.1\.5%3A3000/
  )
})
