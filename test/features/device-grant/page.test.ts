/** The page of the device grant: who may decide, and the limits of guesses. */
import t from '../../support/tap.ts'
import type { Client } from '../../../lib/index.ts'
import { PASSWORD, signUp } from '../../support/app.ts'
import { formAction, testBrowser } from '../../support/browser.ts'
import { deviceWorld, SECRET, TV, DEVICE_GRANT } from './world.ts'

t.test('ADV-BA-1.6.11 lets only the user who entered the code first decide about the device', async (t) => {
  const { app, ask, decide, enter, poll, signedIn } = await deviceWorld(t)
  await signUp(app, 'eve')
  const { device_code, user_code } = await ask()
  const [ann, eve] = [await signedIn(), await signedIn('eve')]
  const action = formAction((await enter(ann, user_code)).body)
  t.equal((await enter(eve, user_code)).statusCode, 400)
  t.equal((await eve.submit(action, { user_code, decision: 'allow' })).statusCode, 400)
  t.match((await poll(device_code)).json(), { error: 'authorization_pending' })
  t.equal((await decide(ann, user_code, 'allow')).statusCode, 303)
})

t.test('asks for the decision again when a form names another session than that of the browser', async (t) => {
  const { ask, poll, signedIn } = await deviceWorld(t)
  const { device_code, user_code } = await ask()
  const browser = await signedIn()
  const reply = await browser.submit('/device?session=other', { user_code, decision: 'allow' })
  t.match(reply.body, /value="allow"/)
  t.match((await poll(device_code)).json(), { error: 'authorization_pending' })
})

t.test('asks for a new sign-in and the code again if the sign-in became stale on the page', async (t) => {
  const { ask, clock, enter, poll, signedIn } = await deviceWorld(t)
  const { device_code, user_code } = await ask()
  const browser = await signedIn()
  const allow = { user_code, decision: 'allow' }
  const old = await enter(browser, user_code)
  clock.step(301_000)
  const led = await browser.submit(formAction(old.body), allow)
  t.match(led, { statusCode: 303, headers: { location: /^\/auth\/reauthenticate\?/ } })
  t.match((await poll(device_code)).json(), { error: 'authorization_pending' })
  const { body: proof } = await browser.get(String(led.headers.location))
  const back = await browser.submit(formAction(proof), { current_password: PASSWORD })
  t.equal(back.headers.location, `/device?user_code=${user_code}`)
  const { reply } = await browser.follow(back)
  t.notMatch(reply.body, /value="allow"/, 'the page asks for the code again')
  const page = await enter(browser, user_code)
  t.equal((await browser.submit(formAction(page.body), allow)).headers.location, '/device?done=allowed')
  clock.step(5000)
  t.equal((await poll(device_code)).statusCode, 200)
})

t.test('R8628-5.1 limits well-formed wrong codes of an address, and does not count malformed ones', async (t) => {
  const { app, ask, clock, enter, signedIn } = await deviceWorld(t, { rateLimit: { login: false, register: false } })
  await signUp(app, 'eve')
  const { user_code } = await ask()
  const wrong = user_code.startsWith('B') ? 'CCCC-CCCC' : 'BBBB-BBBB'
  const browser = await signedIn()
  for (let tries = 0; tries < 3; tries++) t.equal((await enter(browser, user_code)).statusCode, 200)
  for (let tries = 0; tries < 5; tries++) t.equal((await enter(browser, 'bad')).statusCode, 400, 'a slip is no guess')
  for (let tries = 0; tries < 5; tries++) t.equal((await enter(browser, wrong)).statusCode, 400)
  t.equal((await enter(browser, user_code)).statusCode, 429)
  const eve = await signedIn('eve')
  t.equal((await enter(eve, user_code)).statusCode, 429, 'from the same address')
  clock.step(600_000)
  t.equal((await enter(eve, (await ask()).user_code)).statusCode, 303, 'and a new sign-in')
})

const SAFE: Client = { clientId: 'safe', grantTypes: [DEVICE_GRANT], clientSecret: SECRET }
const basic = `Basic ${Buffer.from(`safe:${SECRET}`).toString('base64')}`

t.test('limits device requests of an address by clients without a secret, but not with one', async (t) => {
  const { ask, post } = await deviceWorld(t, { rateLimit: { device: { max: 1 } }, clients: [TV, SAFE] })
  for (let asked = 0; asked < 20; asked++) await ask()
  t.equal((await post('/auth/device', { client_id: 'tv' })).statusCode, 429)
  t.equal((await post('/auth/device', {}, { authorization: basic })).statusCode, 200)
})

t.test('does not reveal whether a user code exists before the user has signed in', async (t) => {
  const { app, ask } = await deviceWorld(t)
  const { user_code } = await ask()
  const stranger = testBrowser(app)
  const [good, wrong] = [
    await stranger.submit('/device', { user_code }),
    await stranger.submit('/device', { user_code: 'BBBB-BBBC' })
  ]
  t.equal(good.statusCode, wrong.statusCode)
  t.equal(good.headers.location, `/auth/login?return_to=${encodeURIComponent(`/device?user_code=${user_code}`)}`)
})
