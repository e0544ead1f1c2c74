import t, { type Test } from '../../support/tap.ts'
import { memoryFactorStore, memoryUserStore } from '../../../lib/index.ts'
import { type LightMyRequestResponse, PASSWORD, signUp } from '../../support/app.ts'
import type { TestBrowser } from '../../support/browser.ts'
import { cookieName } from '../../support/cookies.ts'
import { giveSecondFactor } from '../../support/second-factor.ts'
import { authorizationRequest as request, noise } from './cookie-room.ts'
import { connectApp, CROSS } from './support.ts'

const SPA = { clientId: 'spa', redirectUris: ['https://spa.example/cb'] }

const bytesIn = ({ cookies }: TestBrowser): number =>
  [...cookies].map(([name, value]) => `${name}=${value}`).join('; ').length
const kindsIn = ({ cookies }: TestBrowser, kind: string): string[] =>
  [...cookies.keys()].filter((name) => name.includes(`authority_${kind}_`))

function within(t: Test, browser: TestBrowser, message: string): void {
  const bytes = bytesIn(browser)
  t.ok(bytes <= 4096, `${message}: ${bytes} bytes`)
}

for (const responseMode of ['query', 'form_post'] as const) {
  t.test(`keeps all cookies of a browser below 4,096 bytes together, with ${responseMode}`, async (t) => {
    const test = await connectApp(t, {
      clients: [SPA],
      connection: { responseMode },
      emailSignIn: {},
      registration: { username: 'any' }
    })
    const { browser } = test
    const answer = async (state: string, code: string): Promise<LightMyRequestResponse> => {
      const reply = await test.app.inject({
        method: 'POST',
        url: '/auth/connect/acme/callback',
        headers: { ...CROSS, 'content-type': 'application/x-www-form-urlencoded' },
        payload: new URLSearchParams({ state, code }).toString()
      })
      for (const { name, value } of reply.cookies) browser.cookies.set(name, value)
      within(t, browser, 'after an answer')
      return reply
    }
    const states: string[] = []
    for (let count = 0; count < 5; count++) {
      const reply = await browser.get(request(noise(900)), CROSS)
      t.equal(reply.statusCode, 303)
      states.push(new URL(reply.headers.location ?? '').searchParams.get('state') ?? '')
      within(t, browser, 'after a start')
      t.ok(kindsIn(browser, 'flow').length <= 2)
      test.clock.step(1000)
      if (responseMode === 'form_post') await answer(noise(43), noise(1500))
    }
    if (responseMode === 'form_post') {
      const reply = await answer(states.at(-1) ?? '', 'good')
      const back = await browser.get(reply.headers.location ?? '', CROSS)
      t.equal(back.statusCode, 200, 'the newest goes on')
    } else t.equal((await test.back(states.at(-1) ?? '')).statusCode, 200, 'the newest goes on')
    within(t, browser, 'after a sign-in')
    t.ok(await test.who())

    for (let count = 0; count < 14; count++) {
      const name = `person-${count}`
      await signUp(test.app, name)
      await browser.submit('/auth/login?prompt=login', { username: name, password: PASSWORD })
      within(t, browser, `after the sign-in of ${name}`)
    }
    const url = request(noise(400)).replace('/auth/authorize', '/auth/email-code')
    await browser.submit(url, { username: 'ann@example.com' })
    t.equal(kindsIn(browser, 'waiting').length, 1)
    within(t, browser, 'after asking for a code')
    await browser.get(request(noise(300)).replace('connection=acme&', ''), CROSS)
    const started = await test.start(`?return_to=/${noise(300)}`)
    t.equal(started.reply.statusCode, 303)
    within(t, browser, 'after a start beside a code')
  })
}

t.test('shows an error page for an authorization request too long for a cookie, and keeps other cookies', async (t) => {
  const test = await connectApp(t, { clients: [SPA], connection: { responseMode: 'form_post' } })
  const first = await test.browser.get(request(noise(300)), CROSS)
  t.equal(first.statusCode, 303)
  const before = [...test.browser.cookies]
  const reply = await test.browser.get(request(noise(2000)), CROSS)
  t.equal(reply.statusCode, 400)
  t.match(reply.body, '>invalid_request · ')
  t.match(reply.body, 'This sign-in needs more room than a browser has for it.')
  t.strictSame([...test.browser.cookies], before)
})

t.test('leaves cookie space for the second step of the account after a provider sign-in', async (t) => {
  const users = memoryUserStore()
  const test = await connectApp(t, { users, factors: memoryFactorStore(), connection: { responseMode: 'form_post' } })
  const { sub } = await signUp(test.app, 'ann@example.com')
  await users.setEmailVerified(sub, 'ann@example.com')
  const { give } = await giveSecondFactor(test, sub)
  test.fake.claims = {
    name: 'Ann Example',
    nickname: noise(300),
    website: `https://${noise(300)}.example`,
    picture: `https://x.example/${noise(900)}`
  }
  const { state } = await test.start('?return_to=/cart')
  const posted = await test.app.inject({
    method: 'POST',
    url: '/auth/connect/acme/callback',
    headers: { ...CROSS, 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ state, code: 'good' }).toString()
  })
  for (const { name, value } of posted.cookies) test.browser.cookies.set(name, value)
  await test.browser.get(posted.headers.location ?? '', CROSS)
  await test.browser.submit('/auth/login', { username: 'ann@example.com', password: PASSWORD })
  t.equal(kindsIn(test.browser, 'link').length, 1, 'the proof is there beside the step')
  await give(test.browser)
  t.match(await test.browser.submit('/auth/connect/confirm', { decision: 'link' }), { statusCode: 303 })
  t.equal((await users.listIdentities(sub)).length, 1)
})

t.test('keeps the sign-ins that the user began when other sites begin more', async (t) => {
  const users = memoryUserStore()
  const test = await connectApp(t, {
    users,
    clients: [SPA],
    factors: memoryFactorStore(),
    connection: { responseMode: 'form_post' },
    emailSignIn: {}
  })
  const { browser } = test
  const { sub } = await signUp(test.app, 'ann@example.com')
  await users.setEmailVerified(sub, 'ann@example.com')
  const { give } = await giveSecondFactor(test, sub)
  await browser.submit('/auth/login', { username: 'ann@example.com', password: PASSWORD })
  const honest = await test.start('?return_to=/cart')
  await browser.submit('/auth/email-code', { username: 'ann@example.com' })
  for (let count = 0; count < 5; count++) {
    test.clock.step(1000)
    const reply = await browser.get(request(noise(count % 2 === 0 ? 900 : 100)), CROSS)
    t.match(reply.headers.location, /^\/auth\/login/, 'it leads to the sign-in page')
    within(t, browser, 'after a start of another site')
    for (const kind of ['step', 'waiting']) t.equal(kindsIn(browser, kind).length, 1, kind)
  }
  t.equal((await give(browser)).statusCode, 303)
  t.equal(await test.who(), sub)
  const posted = await test.app.inject({
    method: 'POST',
    url: '/auth/connect/acme/callback',
    headers: { ...CROSS, 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ state: honest.state, code: 'good' }).toString()
  })
  for (const { name, value } of posted.cookies) browser.cookies.set(name, value)
  const back = await browser.get(posted.headers.location ?? '', CROSS)
  t.notMatch(back.body, 'No sign-in through this connection has begun')
  t.equal(back.statusCode, 303)
})

t.test('keeps the first sign-in begun by other sites and the newest begun by the user', async (t) => {
  const test = await connectApp(t, { clients: [SPA] })
  const ours = await connectApp(t, { clients: [SPA] })
  await ours.start('?return_to=/old')
  ours.clock.step(1000)
  const honest = await ours.start('?return_to=/cart')
  for (let count = 0; count < 6; count++) {
    ours.clock.step(1000)
    t.equal((await ours.browser.get(request(noise(300)), CROSS)).statusCode, 303)
    t.equal(kindsIn(ours.browser, 'flow').length, 2)
  }
  t.equal((await ours.back(honest.state)).headers.location, '/cart')
  const states: string[] = []
  for (let count = 0; count < 6; count++) {
    const reply = await test.browser.get(request(noise(300)), CROSS)
    states.push(new URL(reply.headers.location ?? '').searchParams.get('state') ?? '')
    test.clock.step(1000)
  }
  t.equal(kindsIn(test.browser, 'flow').length, 2)
  t.equal((await test.back(states[0] ?? '')).statusCode, 200)
})

t.test('stores the query of an authorization request once for several parallel sign-ins', async (t) => {
  const test = await connectApp(t, { clients: [SPA] })
  const url = request(noise(600))
  const first = await test.browser.get(url, CROSS)
  const one = bytesIn(test.browser)
  test.clock.step(1000)
  await test.browser.get(url, CROSS)
  t.equal(kindsIn(test.browser, 'flow').length, 2)
  t.equal(kindsIn(test.browser, 'query').length, 1)
  t.ok(bytesIn(test.browser) - one < 700, `${bytesIn(test.browser) - one} bytes more`)
  const state = new URL(first.headers.location ?? '').searchParams.get('state') ?? ''
  t.equal((await test.back(state)).statusCode, 200, 'the first goes on')
})

t.test('rejects the callback of a sign-in whose query cookie is missing', async (t) => {
  const test = await connectApp(t, { clients: [SPA] })
  const { state } = await test.start('?return_to=/cart')
  for (const name of kindsIn(test.browser, 'query')) test.browser.cookies.delete(name)
  t.equal((await test.back(state)).statusCode, 400)
  t.equal(await test.who(), null)
})

t.test('signs a user in although another site planted cookies with our cookie names', async (t) => {
  const test = await connectApp(t, { clients: [SPA], connection: { responseMode: 'form_post' } })
  const { browser } = test
  await signUp(test.app, 'ann@example.com')
  const name = cookieName('flow')
  const plant = (): void => {
    for (const kind of ['_a_', '_device_', '_prompted_', '_trusted_', '_enrolment_', '_flow_'])
      browser.cookies.set(name.replace('_flow_', kind), 'x'.repeat(900))
    for (const id of ['aaaaaaaa', 'bbbbbbbb']) browser.cookies.set(`${name}_${id}`, 'x'.repeat(900))
  }
  plant()
  t.equal((await browser.get(request(noise(300)), CROSS)).statusCode, 303)
  within(t, browser, 'after a start')
  plant()
  t.equal((await browser.submit('/auth/login', { username: 'ann@example.com', password: PASSWORD })).statusCode, 303)
  t.ok(await test.who())
  within(t, browser, 'after a sign-in')
})
