/** Signs in to the example server with a second instance as the provider, without JavaScript. */
import t from '../support/tap.ts'
import { freePort } from '../support/free-port.ts'
import { example } from './support/example-server.ts'
import { formBrowser } from './support/form-browser.ts'

const { start } = example(t)

t.test('signs a user up by a connection to another instance', async (t) => {
  const [port, otherPort] = [await freePort(), await freePort()]
  const server = await start(port, { OTHER_PORT: String(otherPort) })
  t.match(
    server.output(),
    /callback URL of the connection \\"other\\" is http:\/\/localhost:\d+\/auth\/connect\/other\/callback/
  )
  const home = `http://localhost:${port}`
  const [here, there] = [formBrowser(home), formBrowser(`http://127.0.0.1:${otherPort}`)]

  const page = await here.get('/auth/login')
  const [, button = ''] = /<a[^>]* href="([^"]*\/auth\/connect\/other[^"]*)"/.exec(page.text) ?? []
  const gone = await here.get(button.replaceAll('&amp;', '&'), { 'sec-fetch-site': 'same-origin' })
  t.equal(gone.url.origin, `http://127.0.0.1:${otherPort}`)
  const signIn = await there.get(gone.url.href)
  const [, signUp = ''] = /href="([^"]*\/auth\/signup[^"]*)"/.exec(signIn.text) ?? []
  const back = await there.submit(await there.get(signUp.replaceAll('&amp;', '&')), {
    username: 'ann@example.com',
    password: 'seven green boats at dawn',
    confirmation: 'seven green boats at dawn'
  })
  t.equal(back.url.origin, home)
  t.equal(back.url.pathname, '/auth/connect/other/callback')
  const arrived = await here.get(back.url.href)
  t.equal(arrived.status, 200, arrived.text)
  const account = await here.get('/auth/account')
  t.equal(account.url.pathname, '/auth/account')
  t.equal(account.status, 200)
  t.match(
    account.text,
    /other-[a-z0-9]+/,
    'an address that nobody has verified is none, so the account has a name made for it'
  )
  await server.kill('SIGTERM')
})
