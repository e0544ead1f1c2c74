/** The limits and attacks of the cookie of a browser that waits for a message. */
import t from '../support/tap.ts'
import { memoryUserStore } from '../../lib/index.ts'
import { PASSWORD } from '../support/app.ts'
import { formAction, testBrowser } from '../support/browser.ts'
import { cookieName } from '../support/cookies.ts'
import { CLIENTS } from '../support/openid.ts'
import { giveSecondFactor } from '../support/second-factor.ts'
import { turns } from '../unit/accounts/world.ts'
import { appOf, BOB, hasSession, known, NEXT, press, queryOf, send } from './support/journeys.ts'

t.test('signs nobody in by a confirmation or reset link that another browser asked for', async (t) => {
  const subject = await appOf(t)
  const { browser, other } = subject
  await known(subject)
  await send(t, browser, 'forgot', 'victim')
  await turns()
  await other.submit('/auth/signup', { username: 'eve@example.com', password: PASSWORD })
  const link = await subject.link()
  const { url } = await press(browser, link)
  t.match(url, /\/auth\/verify-email\?done=confirmed$/)
  t.notOk(hasSession(browser), 'a sign-up')
  await turns()
  const reset = testBrowser(subject.app)
  await reset.submit('/auth/forgot-password', { username: 'eve@example.com' })
  t.match((await press(browser, await subject.link(), { password: NEXT })).url, /\/auth\/reset-password\?done=reset$/)
  t.notOk(hasSession(browser), 'a reset')
})

t.test('confirms the address by the link but signs nobody in after a change of the password', async (t) => {
  const subject = await appOf(t)
  const { browser } = subject
  await send(t, browser, 'signUp', 'one')
  const link = await subject.link()
  await subject.users.setPasswordHash((await subject.user()).id, 'another hash')
  const { url } = await press(browser, link)
  t.match(url, '/auth/verify-email?')
  t.notOk(hasSession(browser))
})

t.test('signs nobody in if the account is disabled before or during the reset', async (t) => {
  for (const at of ['before', 'during']) {
    const users = memoryUserStore()
    let isOn = true
    const { findById, setPasswordHash } = users
    users.findById = async (id) => {
      const user = await findById.call(users, id)
      return user && { ...user, disabled: !isOn }
    }
    users.setPasswordHash = async (...given) => {
      const done = await setPasswordHash.apply(users, given)
      isOn = false
      return done
    }
    const subject = await appOf(t, users)
    const { browser } = subject
    await known(subject)
    await send(t, browser, 'forgot', 'one')
    const link = await subject.link()
    isOn = at === 'during'
    const { reply } = await press(browser, link, { password: NEXT })
    t.equal(reply.statusCode, at === 'before' ? 400 : 200, at)
    t.notOk(hasSession(browser), at)
  }
})

t.test('reports that the password was set if the store fails before the sign-in', async (t) => {
  const users = memoryUserStore()
  let isDown = false
  const { findById, setPasswordHash } = users
  users.findById = async (id) => {
    if (isDown) throw new Error('the store is down')
    return await findById.call(users, id)
  }
  users.setPasswordHash = async (...given) => {
    const done = await setPasswordHash.apply(users, given)
    isDown = true
    return done
  }
  const subject = await appOf(t, users)
  const { browser } = subject
  await known(subject)
  await send(t, browser, 'forgot', 'one')
  const { url, reply } = await press(browser, await subject.link(), { password: NEXT })
  t.match(url, /\/auth\/reset-password\?.*done=reset$/)
  t.equal(reply.statusCode, 200)
  t.notOk(hasSession(browser))
})

t.test('answers 503 to a link while the client store is down, and leads to the client afterwards', async (t) => {
  let isDown = false
  const findById = async (id: string) => {
    if (isDown) throw new Error('the store is down')
    return CLIENTS.find(({ clientId }) => clientId === id) ?? null
  }
  for (const [page, form, next] of [
    ['signUp', {}, /\/cb\?code=/],
    ['forgot', { password: NEXT }, /\/cb\?code=/]
  ] as const) {
    const subject = await appOf(t, memoryUserStore(), { clients: { findById } })
    const { browser } = subject
    if (page === 'forgot') await known(subject)
    await send(t, browser, page, 'one')
    const link = await subject.link()
    isDown = true
    t.equal((await browser.get(link)).statusCode, 503, page)
    t.equal((await press(browser, link, form)).reply.statusCode, 503, page)
    isDown = false
    t.match((await press(browser, link, form)).url, next, page)
  }
})

t.test('confirms the address but signs nobody in thirteen hours after the sign-up', async (t) => {
  const subject = await appOf(t)
  const { browser, clock } = subject
  await send(t, browser, 'signUp', 'one')
  const link = await subject.link()
  clock.step(13 * 60 * 60_000)
  t.match((await press(browser, link)).url, '/auth/verify-email?')
  t.notOk(hasSession(browser))
})

t.test('confirms the address but signs nobody in if max_age requires a more recent sign-in', async (t) => {
  const subject = await appOf(t)
  const { browser, clock } = subject
  for (const [name, maxAge, next] of [
    ['early', 600, '/cb?'],
    ['late', 60, '/auth/verify-email?']
  ] as const) {
    const username = `${name}@example.com`
    const query = `${queryOf(name)}&max_age=${maxAge}`
    await browser.submit(`/auth/signup${query}`, { username, password: PASSWORD })
    const link = await subject.link()
    clock.step(300_000)
    const { url } = await press(browser, link)
    t.match(url, next, name)
    if (next === '/cb?') continue
    const { url: done } = await browser.follow(
      await browser.submit(`/auth/login${query}`, { username, password: PASSWORD })
    )
    t.match(done, '/cb?', 'one sign-in is enough')
  }
})

t.test('asks for the second step after a reset in the browser that asked for the link', async (t) => {
  const subject = await appOf(t)
  const { browser } = subject
  await known(subject)
  await giveSecondFactor(subject, (await subject.user()).id)
  await send(t, browser, 'forgot', 'one')
  const { url, reply } = await press(browser, await subject.link(), { password: NEXT })
  t.match(url, '/auth/second-factor?')
  t.equal(reply.statusCode, 200)
  t.notOk(hasSession(browser))
})

t.test('sets the password once when the form is sent five times in parallel, and signs the browser in', async (t) => {
  const users = memoryUserStore()
  const { setPasswordHash } = users
  users.setPasswordHash = async (...given) => {
    await turns()
    return await setPasswordHash.apply(users, given)
  }
  const subject = await appOf(t, users)
  const { browser } = subject
  await known(subject)
  await send(t, browser, 'forgot', 'one')
  const link = await subject.link()
  const action = formAction((await browser.get(link)).body)
  const token = new URL(link).searchParams.get('token') ?? ''
  const replies = await Promise.all(
    Array.from({ length: 5 }, async () => await browser.submit(action, { token, password: NEXT }))
  )
  await turns()
  t.equal(subject.messages.messages.filter(({ kind }) => kind === 'password_changed').length, 1)
  t.same(
    replies.map(({ statusCode }) => statusCode),
    Array(5).fill(303)
  )
  t.ok(hasSession(browser))
})

t.test('keeps up to three pending sign-ups of a browser apart, and drops the oldest of four', async (t) => {
  const subject = await appOf(t)
  const { browser, clock } = subject
  const links: string[] = []
  for (const state of ['one', 'two', 'three', 'four']) {
    const username = `${state}@example.com`
    await browser.submit(`/auth/signup${queryOf(state)}`, { username, password: PASSWORD })
    links.push(await subject.link())
    clock.step(1000)
  }
  const waiting = [...browser.cookies.keys()].filter((name) => name.startsWith(cookieName('waiting')))
  t.equal(waiting.length, 3)
  t.ok([...browser.cookies].join('; ').length < 4096)
  t.match((await browser.get(`/auth/check-email${queryOf('three')}`)).body, 'three@example.com')
  t.match((await press(browser, links[0] ?? '')).url, /\/auth\/verify-email\?done=confirmed$/, 'only confirms')
  const { url } = await press(browser, links[2] ?? '')
  t.equal(new URL(url).searchParams.get('state'), 'three')
})

t.test('sends the same reply and cookies of a similar size for free and taken names', async (t) => {
  const subject = await appOf(t)
  await known(subject)
  const [taken, free] = await Promise.all(
    [BOB, 'new@example.com'].map(async (username) => {
      const browser = testBrowser(subject.app)
      const { statusCode, headers } = await browser.submit(`/auth/signup${queryOf('one')}`, {
        username,
        password: NEXT
      })
      const bytes = [...browser.cookies.values()].join('').length
      return { same: [statusCode, headers.location, [...browser.cookies.keys()]], bytes }
    })
  )
  t.same(taken?.same, free?.same)
  // The values are compressed, so that their lengths differ by a few bytes. A missing digest would be fifty.
  t.ok(Math.abs((taken?.bytes ?? 0) - (free?.bytes ?? 0)) < 20)
})

t.test('shows a typed name on the other pages of the same authorization request only', async (t) => {
  const { browser, app, clock } = await appOf(t)
  for (const page of ['/auth/forgot-password', '/auth/email-code', '/auth/signup', '/auth/login']) {
    browser.cookies.clear()
    const to = `${page}${queryOf('one')}`
    const carried = await browser.submit(to, { username: BOB, password: 'x'.repeat(3000), decision: 'carry' })
    t.equal(carried.statusCode, 303, page)
    t.match((await browser.get(String(carried.headers.location))).body, `value="${BOB}"`, page)
    t.match((await browser.get(`/auth/login${queryOf('one')}`)).body, `value="${BOB}"`, page)
    t.notMatch((await browser.get(`/auth/login${queryOf('two')}`)).body, BOB, page)
    t.notOk([...browser.cookies.values()].join().includes(BOB), 'sealed')
  }
  const refused = await browser.submit(
    '/auth/login',
    { username: BOB, decision: 'carry' },
    { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
  )
  t.equal(refused.statusCode, 403, 'another site types nothing')
  clock.step(31 * 60_000)
  t.notMatch((await browser.get(`/auth/login${queryOf('one')}`)).body, BOB, 'half an hour')
  t.equal((await testBrowser(app).get('/auth/check-email')).headers.location, '/auth/login')
})

t.test('shows a browser without cookies the result of a link, but not on requests from other sites', async (t) => {
  const subject = await appOf(t)
  await known(subject)
  await subject.browser.submit('/auth/forgot-password', { username: BOB })
  const reset = await subject.link()
  await subject.other.submit('/auth/signup', { username: 'eve@example.com', password: PASSWORD })
  const verify = await subject.link()
  for (const [link, form, said] of [
    [reset, { password: NEXT }, 'Your password has been changed'],
    [verify, {}, 'Your email is confirmed']
  ] as const) {
    const bare = testBrowser(subject.app)
    bare.cookies.set = () => bare.cookies
    const { url } = await press(bare, link, form)
    t.equal(bare.cookies.size, 0)
    for (const time of ['led there', 'reloaded'])
      t.match(await bare.get(url, { 'sec-fetch-site': 'same-origin' }), { statusCode: 200, body: said }, time)
    t.match(await bare.get(url, { 'sec-fetch-site': 'cross-site' }), { statusCode: 400 })
    for (const done of ['typed', 'code', '__proto__', ''])
      t.match(await bare.get(url.replace(/done=\w+/, `done=${done}`)), { statusCode: 400 }, done)
  }
})
