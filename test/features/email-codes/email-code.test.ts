/** Sign-in by an emailed code: its requirements and its limits. */
import { cookieName } from '../../support/cookies.ts'
import t from '../../support/tap.ts'
import { memoryFactorStore, memoryState, memoryUserStore } from '../../../lib/index.ts'
import { delayed } from '../../../lib/testing/index.ts'
import { PASSWORD, signIn } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { logIn } from '../../support/factors.ts'
import { secondFactorOf } from '../../support/second-factor.ts'
import { ANN, ask, emailApp, enter, hasSession, otherThan, PAGE, STRANGER } from './support.ts'

t.test('signs a user in by an emailed code in the browser that asked for it', async (t) => {
  const subject = await emailApp(t)
  const { browser, events } = subject
  const login = await browser.get('/auth/login')
  t.match(login.body, /formaction="\/auth\/email-code"[^]*Email me a code/)
  t.match((await browser.get(PAGE)).body, /autocomplete="username"/)
  const asked = await ask(browser)
  t.equal(asked.statusCode, 303)
  t.equal(asked.headers.location, PAGE)
  t.notOk(hasSession(browser))
  const page = await browser.get(PAGE)
  t.match(page.body, /name="code" type="text" required autocomplete="one-time-code" inputmode="numeric"/)
  t.notMatch(page.body, /maxlength/)
  const { code } = await subject.mail()
  t.match(code, /^\d{4} \d{4}$/)
  const done = await enter(browser, ` ${code}\t`)
  t.equal(done.statusCode, 303)
  t.equal(done.headers.location, '/')
  t.ok(hasSession(browser))
  t.notOk(browser.cookies.has(cookieName('waiting')))
  t.match(events.findLast(({ name }) => name === 'authenticated')?.payload, {
    userId: subject.sub,
    method: 'email',
    methods: ['email']
  })
  t.notMatch(JSON.stringify(events), new RegExp(code.replace(' ', ' ?')))
  t.equal((await browser.get('/auth/account')).statusCode, 200)
})

// covers ASVS-6.6.2
t.test('names the browser and the time in the message, and rejects the code in another browser', async (t) => {
  const subject = await emailApp(t)
  await subject.browser.submit(
    PAGE,
    { username: ANN },
    { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'accept-language': 'de' }
  )
  const message = await subject.messages.next('sign_in_code')
  t.match(message, {
    locale: 'de',
    user: { username: ANN, email: ANN },
    askedAt: new Date(subject.clock.now()),
    expiresAt: new Date(subject.clock.now() + 600_000),
    userAgent: /Firefox/
  })
  t.ok(message.url?.startsWith('http://localhost:3000/auth/email-link?token='))
  const other = testBrowser(subject.app)
  const refused = await enter(other, message.code)
  t.equal(refused.statusCode, 400)
  t.match(refused.body, /asked for it in another browser/)
  await ask(other, STRANGER)
  t.equal((await enter(other, message.code)).statusCode, 400)
  t.notOk(hasSession(other))
  t.equal((await enter(subject.browser, message.code)).statusCode, 303, 'and is not used up by that')
})

// covers EC-03 EC-04 ADV-GHSA-9pvm-fcf6-9234 EC-07 ASVS-6.5.4 ASVS-6.6.3
t.test('rejects a sixth guess even if it is correct, also without a rate limit', async (t) => {
  const subject = await emailApp(t, { state: delayed(memoryState()) })
  const { browser } = subject
  await ask(browser)
  const { code } = await subject.mail()
  for (let index = 0; index < 5; index++) {
    const reply = await enter(browser, otherThan(code, index))
    t.equal(reply.statusCode, 400)
    t.match(reply.body, /This code is wrong/)
  }
  const sixth = await enter(browser, code)
  t.equal(sixth.statusCode, 400)
  t.match(sixth.body, /Too many wrong codes/)
  await ask(browser)
  const again = await subject.mail()
  t.match((await enter(browser, again.code)).body, /Too many wrong codes/, 'a new code leaves the count as it is')
  subject.clock.step(600_000)
  await ask(browser)
  t.equal((await enter(browser, (await subject.mail()).code)).statusCode, 303)
})

t.test('checks five of 50 parallel guesses at an emailed code, and accepts one of 50 correct ones', async (t) => {
  const subject = await emailApp(t, { state: delayed(memoryState()) })
  const { browser } = subject
  await ask(browser)
  const first = await subject.mail()
  const cookies = new Map(browser.cookies)
  const inParallel = async (code: (index: number) => string) =>
    await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const one = testBrowser(subject.app)
        for (const [name, value] of cookies) one.cookies.set(name, value)
        return await enter(one, code(index))
      })
    )
  const guesses = await inParallel((index) => otherThan(first.code, index))
  t.equal(guesses.filter(({ body }) => body.includes('This code is wrong')).length, 5)
  t.equal(guesses.filter(({ body }) => body.includes('Too many wrong codes')).length, 45)
  subject.clock.step(600_000)
  await ask(browser)
  const { code } = await subject.mail()
  for (const [name, value] of browser.cookies) cookies.set(name, value)
  const right = await inParallel(() => code)
  t.equal(right.filter(({ statusCode }) => statusCode === 303).length, 1)
  t.equal((await subject.app.authority.sessions(subject.sub)).filter(({ kind }) => kind === 'browser').length, 1)
})

// covers EC-05 ASVS-6.5.5
for (const [offset, works] of [
  [-1, true],
  [0, false],
  [1, false]
] as const) {
  t.test(`${works ? 'accepts' : 'rejects'} an emailed code at its expiry plus ${offset} ms`, async (t) => {
    const subject = await emailApp(t, { emailSignIn: { expiresIn: 120 } })
    await ask(subject.browser)
    const { code } = await subject.mail()
    subject.clock.step(120_000 + offset)
    t.equal((await enter(subject.browser, code)).statusCode, works ? 303 : 400)
  })
}

// covers EC-06
t.test('shows the same pages for an unknown email address, and sends no message', async (t) => {
  const subject = await emailApp(t)
  const pages = async (username: string) => {
    const browser = testBrowser(subject.app)
    const asked = await ask(browser, username)
    const page = await browser.get(PAGE)
    const wrong = await enter(browser, '00000000')
    const without = (body: string): string => body.replaceAll(username, '').replaceAll(/<code[^]*?<\/code>/g, '')
    return {
      asked: [asked.statusCode, asked.headers.location, asked.body],
      page: without(page.body),
      wrong: [wrong.statusCode, without(wrong.body)]
    }
  }
  t.same(await pages(STRANGER), await pages(ANN))
  // Messages are sent in the order of posting, so a message to the stranger would come first.
  t.equal((await subject.messages.next('sign_in_code')).user.username, ANN)
  t.same(
    subject.sent().map(({ user }) => user.username),
    [ANN]
  )
})

for (const [what, username] of [
  ['a comma', 'ann@mail.example,eve@evil.example'],
  ['a display name', '"Ann" <ann@mail.example>'],
  ['a line end', 'ann@mail.example\r\nbcc: eve@evil.example'],
  ['a NUL', 'ann\0@mail.example'],
  ['255 characters', `${'a'.repeat(60)}@${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.example.example`],
  ['nothing', ''],
  ['two ats', 'a@b@mail.example'],
  ['no dot', 'ann@mail']
]) {
  // covers ADV-GHSA-xv97-c62v-4587
  t.test(`rejects an email address with ${what ?? ''}, and stores and sends nothing`, async (t) => {
    const subject = await emailApp(t, { emailSignIn: { signUp: true } })
    const reply = await ask(subject.browser, username)
    t.equal(reply.statusCode, 400)
    t.notOk(subject.browser.cookies.has(cookieName('waiting')))
    t.same(subject.sent(), [])
  })
}

t.test('does not count a malformed emailed code as a guess', async (t) => {
  const subject = await emailApp(t)
  await ask(subject.browser)
  const { code } = await subject.mail()
  for (const typed of ['1234567', '123456789', 'abcdefgh', '1'.repeat(10_000), '', '12 34 56 7x'])
    for (let time = 0; time < 2; time++) t.equal((await enter(subject.browser, typed)).statusCode, 400)
  t.equal(
    (
      await enter(
        subject.browser,
        [...code]
          .map((digit) => (digit === ' ' ? '\u3000' : String.fromCodePoint(digit.charCodeAt(0) + 0xfee0)))
          .join('')
      )
    ).statusCode,
    303,
    'full-width digits are digits'
  )
})

// covers EC-08
t.test('sends a mailbox three codes an hour, and accepts three requests an hour from an IP address', async (t) => {
  const subject = await emailApp(t, { rateLimit: {} })
  const from = async (username: string, remoteAddress: string) =>
    (
      await subject.app.inject({
        method: 'POST',
        url: PAGE,
        remoteAddress,
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          'sec-fetch-site': 'same-origin',
          origin: 'http://localhost:3000'
        },
        payload: new URLSearchParams({ username }).toString()
      })
    ).statusCode
  t.same(
    [
      await from(ANN, '192.0.2.1'),
      await from('ANN@mail.example', '192.0.2.2'),
      await from(ANN, '192.0.2.3'),
      await from(ANN, '192.0.2.4')
    ],
    [303, 303, 303, 429]
  )
  t.same(
    [
      await from(STRANGER, '192.0.2.9'),
      await from(STRANGER, '192.0.2.8'),
      await from(STRANGER, '192.0.2.7'),
      await from(STRANGER, '192.0.2.6')
    ],
    [303, 303, 303, 429],
    'whether anybody has it or not'
  )
  t.same(
    [
      await from('a@mail.example', '192.0.2.5'),
      await from('b@mail.example', '192.0.2.5'),
      await from('c@mail.example', '192.0.2.5'),
      await from('d@mail.example', '192.0.2.5')
    ],
    [303, 303, 303, 429]
  )
  t.equal(subject.sent().length, 3)
  subject.clock.step(3_600_000)
  t.equal(await from(ANN, '192.0.2.4'), 303)
})

// covers EC-09 ADV-GHSA-qq9h-g4jm-xgf3
t.test('gives an account that a stranger registered to the owner of the email address after a code', async (t) => {
  const factors = memoryFactorStore()
  const subject = await emailApp(t, { factors }, { verified: false })
  const { app, sub } = subject
  const thief = testBrowser(app)
  await logIn(thief, ANN)
  t.notMatch(
    (await thief.get('/auth/security/totp')).body,
    '<svg class="qr"',
    'nothing is set up before the address is confirmed'
  )
  // Imitates an account whose address the host has corrected.
  await factors.addTotp({
    userId: sub,
    factor: {
      id: 'thief',
      sealedSecret: 'sealed',
      lastStep: 0,
      failures: 0,
      knownFailures: 0,
      disabled: false,
      name: null,
      createdAt: 0,
      lastUsedAt: null,
      provisional: true
    },
    limit: 10
  })
  await thief.get('/auth/account')
  t.ok(hasSession(thief))
  await ask(subject.browser)
  const done = await enter(subject.browser, (await subject.mail()).code)
  t.equal(done.statusCode, 303)
  t.equal(done.headers.location, '/', 'no second factor is asked for that the thief has')
  t.equal((await thief.get('/auth/account')).statusCode, 303, 'the session of the thief is dead')
  t.same((await factors.findFactors(sub)).totp, [])
  t.equal((await subject.users.findById(sub))?.emailVerified, true)
  await t.rejects(signIn(app, ANN, PASSWORD), /invalid_grant/, 'and so is the password')
  t.ok(subject.events.some(({ name, payload }) => name === 'password_changed' && payload['by'] === 'email_sign_in'))
  t.equal((await subject.browser.get('/auth/account')).statusCode, 200)
})

t.test('keeps the password and other sessions of a confirmed account after a sign-in by a code', async (t) => {
  const subject = await emailApp(t)
  const other = testBrowser(subject.app)
  await logIn(other, ANN)
  await ask(subject.browser)
  await enter(subject.browser, (await subject.mail()).code)
  t.equal((await other.get('/auth/account')).statusCode, 200)
  t.ok((await signIn(subject.app, ANN)).access_token)
})

// covers ADV-BA-9552 ADV-KR-4317 ADV-Capgo-2454
t.test('asks a user for their second factor after an emailed code', async (t) => {
  const subject = await emailApp(t, { factors: memoryFactorStore() })
  const owner = testBrowser(subject.app)
  await logIn(owner, ANN)
  const { codes } = await secondFactorOf(subject, owner)
  await ask(subject.browser)
  const reply = await enter(subject.browser, (await subject.mail()).code)
  t.equal(reply.headers.location, '/auth/second-factor')
  t.notOk(hasSession(subject.browser))
  const done = await subject.browser.submit('/auth/second-factor', { recovery_code: codes[0] ?? '' })
  t.equal(done.statusCode, 303)
  t.ok(hasSession(subject.browser))
  t.match(subject.events.findLast(({ name }) => name === 'authenticated')?.payload, {
    method: 'email',
    methods: ['email', 'recovery_code']
  })
})

// covers ADV-CVE-2025-10908
t.test('sends a disabled user no code, and rejects an earlier one', async (t) => {
  const subject = await emailApp(t)
  await ask(subject.browser)
  const { code } = await subject.mail()
  await subject.users.update?.(subject.sub, { disabled: true })
  const refused = await enter(subject.browser, code)
  t.equal(refused.statusCode, 400)
  t.notOk(hasSession(subject.browser))
  t.equal((await ask(subject.browser)).statusCode, 303)
  await subject.users.update?.(subject.sub, { disabled: false })
  subject.clock.step(1000)
  await ask(subject.browser)
  t.same(
    (await subject.messages.next('sign_in_code')).askedAt,
    new Date(subject.clock.now()),
    'the next message is that of the next code'
  )
})

t.test('rejects an emailed code after the email address of the account changed', async (t) => {
  const subject = await emailApp(t)
  await ask(subject.browser)
  const { code } = await subject.mail()
  await subject.users.update?.(subject.sub, { email: 'new@mail.example' })
  t.equal((await enter(subject.browser, code)).statusCode, 400)
  t.notOk(hasSession(subject.browser))
})

t.test('answers 503 without a message when the store is unavailable', async (t) => {
  const state = memoryState()
  const broken = { on: false }
  const fail = async (): Promise<never> => {
    throw Object.assign(new Error('the server is gone'), { code: 'ECONNREFUSED' })
  }
  const { put, find, consume, discard, redeemCode } = state.oneTimeTokens
  const subject = await emailApp(t, {
    state: {
      ...state,
      oneTimeTokens: {
        find,
        consume,
        discard,
        put: async (token) => (broken.on ? await fail() : await put(token)),
        redeemCode: async (guess) => (broken.on || redeemCode === undefined ? await fail() : await redeemCode(guess))
      }
    }
  })
  broken.on = true
  t.equal((await ask(subject.browser)).statusCode, 503)
  t.same(subject.sent(), [])
  broken.on = false
  await ask(subject.browser)
  const { code } = await subject.mail()
  broken.on = true
  t.equal((await enter(subject.browser, code)).statusCode, 503)
  t.notOk(hasSession(subject.browser))
  broken.on = false
  t.equal((await enter(subject.browser, code)).statusCode, 303)
})

for (const answer of ['yes', true, null, undefined, {}, 'Redeemed']) {
  t.test(`signs nobody in when redeemCode returns ${JSON.stringify(answer) ?? 'undefined'}`, async (t) => {
    const state = memoryState()
    const subject = await emailApp(t, {
      state: { ...state, oneTimeTokens: { ...state.oneTimeTokens, redeemCode: async () => answer as 'redeemed' } }
    })
    await ask(subject.browser)
    t.equal((await enter(subject.browser, (await subject.mail()).code)).statusCode, 500)
    t.notOk(hasSession(subject.browser))
  })
}

t.test('has no sign-in by an emailed code without emailSignIn', async (t) => {
  const subject = await emailApp(t, { emailSignIn: false })
  t.equal((await subject.browser.get(PAGE)).statusCode, 404)
  t.equal((await subject.browser.get('/auth/email-link?token=x')).statusCode, 404)
  t.notMatch((await subject.browser.get('/auth/login')).body, /email-code/)
})

t.test('sends no code for a form from another site', async (t) => {
  const subject = await emailApp(t)
  const reply = await subject.browser.submit(
    PAGE,
    { username: ANN },
    { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
  )
  t.equal(reply.statusCode, 403)
  t.same(subject.sent(), [])
})

t.test('keeps an emailed code out of logs and events when the error of the mailer contains it', async (t) => {
  const lines: string[] = []
  const sent: string[] = []
  const users = memoryUserStore()
  const subject = await emailApp(t, {
    users,
    sendMessage: async (message) => {
      if (message.kind !== 'sign_in_code') return
      sent.push(message.code, message.code.replace(' ', ''), message.token ?? '-')
      throw new Error(`could not send ${JSON.stringify(message)} ${message.code.replace(' ', '')}`)
    }
  })
  subject.app.log.error = (...args: unknown[]) => {
    lines.push(
      args
        .map((one) =>
          one instanceof Error
            ? `${one.message}${one.stack}`
            : JSON.stringify(one, (_, value: unknown) =>
                value instanceof Error ? `${value.message}${value.stack}` : value
              )
        )
        .join(' ')
    )
  }
  await ask(subject.browser)
  for (const after of [0, 1000, 10_000, 60_000]) {
    subject.clock.step(after)
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
  }
  t.ok(sent.length >= 3)
  for (const secret of sent) t.notMatch(lines.join('\n') + JSON.stringify(subject.events), secret)
})

t.test('serves the email code page when the host has its own sign-in page', async (t) => {
  const { browser, mail } = await emailApp(t, { pages: { loginUrl: '/sign-in' } })
  const here = '?return_to=%2Fcart'
  const shown = await browser.get(`${PAGE}${here}`)
  const back = (/href="(\/auth\/login[^"]*)"/.exec(shown.body)?.[1] ?? '').replaceAll('&amp;', '&')
  t.match(
    await browser.get(back),
    { statusCode: 303, headers: { location: '/sign-in?return_to=%2Fcart' } },
    "and the way back is to the host's"
  )
  await ask(browser, ANN, here)
  t.match(await enter(browser, (await mail()).code, here), { statusCode: 303, headers: { location: '/cart' } })
  t.ok(hasSession(browser))
})
