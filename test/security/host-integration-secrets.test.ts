import { cookieName } from '../support/cookies.ts'
import diagnostics from 'node:diagnostics_channel'
import { Writable } from 'node:stream'
import t from '../support/tap.ts'
import { EVENT_NAMES } from '../../lib/events.ts'
import { bearer } from '../support/app.ts'
import { formAction, testBrowser } from '../support/browser.ts'
import { answerOf, authorizePath, basic, openidApp, redeem, SECRET, VERIFIER } from '../support/openid.ts'

const PASSWORD = 'CANARY a password of ann'
const NEXT = 'CANARY the next password'

// covers ASVS-16.2.5
t.test('keeps secrets out of logs, events, diagnostics channels and error pages', async (t) => {
  const lines: string[] = []
  const stream = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk))
      done()
    }
  })
  const told: string[] = []
  const hear = (message: unknown, name: string | symbol): void => {
    told.push(`${String(name)} ${JSON.stringify(message)}`)
  }
  for (const name of EVENT_NAMES) diagnostics.subscribe(`fastify-authority.${name}`, hear)
  t.teardown(() => {
    for (const name of EVENT_NAMES) diagnostics.unsubscribe(`fastify-authority.${name}`, hear)
  })
  const subject = await openidApp(
    { rateLimit: { login: { max: 6, windowMs: 1000 } } },
    { logger: { level: 'trace', stream } }
  )
  t.teardown(subject.close)
  const { app, browser } = subject
  const secrets = new Map<string, string>([
    ['password', PASSWORD],
    ['next password', NEXT],
    ['verifier', VERIFIER],
    ['client secret', SECRET],
    ['state', 'CANARY-state'],
    ['nonce', 'CANARY-nonce'],
    ['login hint', 'CANARY-hint@mail.example']
  ])
  const errorPages: string[] = []
  const keep = (name: string, value: string | undefined): string => {
    if (value === undefined || value === '') throw new Error(`no ${name}`)
    secrets.set(name, value)
    return value
  }

  t.equal((await browser.submit('/auth/signup', { username: 'carl@mail.example', password: PASSWORD })).statusCode, 303)
  keep('first cookie', browser.cookies.get(cookieName('session')))
  const request = authorizePath({
    client_id: 'third',
    redirect_uri: 'https://third.example/cb',
    scope: 'openid email offline_access',
    state: 'CANARY-state',
    nonce: 'CANARY-nonce',
    login_hint: 'CANARY-hint@mail.example',
    prompt: 'login consent'
  })
  let at = await browser.follow(await browser.get(request))
  errorPages.push((await browser.submit(at.url, { username: 'carl@mail.example', password: `${PASSWORD} wrong` })).body)
  at = await browser.follow(await browser.submit(at.url, { username: 'carl@mail.example', password: PASSWORD }))
  keep('cookie', browser.cookies.get(cookieName('session')))
  at = await browser.follow(await browser.submit(formAction(at.reply.body), { decision: 'allow' }))
  const code = keep('code', answerOf(at.url).code)
  const third = basic('third', SECRET)
  const redeemed = (
    await redeem(app, code, { client_id: undefined, redirect_uri: 'https://third.example/cb' }, third)
  ).json<Record<string, string>>()
  for (const name of ['access_token', 'refresh_token', 'id_token']) keep(name, redeemed[name])
  const refreshed = (
    await app.inject({
      method: 'POST',
      url: '/auth/token',
      headers: third,
      payload: { grant_type: 'refresh_token', refresh_token: redeemed.refresh_token }
    })
  ).json<Record<string, string>>()
  for (const name of ['access_token', 'refresh_token', 'id_token']) keep(`second ${name}`, refreshed[name])
  t.equal((await app.inject({ url: '/auth/userinfo', headers: bearer(refreshed.access_token ?? '') })).statusCode, 200)

  // Sends each secret in a wrong place of several requests.
  for (const secret of secrets.values()) {
    for (const url of [
      `/auth/authorize?client_id=spa&state=${encodeURIComponent(secret)}`,
      `/auth/login?client_id=spa&redirect_uri=${encodeURIComponent(secret)}`,
      `/auth/reset-password?token=${encodeURIComponent(secret)}`,
      `/auth/logout?id_token_hint=${encodeURIComponent(secret)}`,
      `/auth/consent?client_id=spa&${encodeURIComponent(secret)}=1`
    ]) {
      const reply = await app.inject({ url })
      if (reply.statusCode >= 400) errorPages.push(reply.body)
    }
    await app.inject({
      url: '/auth/userinfo',
      headers: {
        authorization: `Bearer ${secret.replaceAll(/[^\w.-]/g, '')}x`,
        cookie: `${cookieName('session')}=${secret.replaceAll(/[^\w.-]/g, '')}`
      }
    })
    await redeem(app, code, { client_id: 'web', code_verifier: secret, redirect_uri: secret, client_secret: secret })
    await app.inject({
      method: 'POST',
      url: '/auth/revoke',
      headers: basic('third', secret),
      payload: { token: secret }
    })
    await app.inject({ method: 'POST', url: '/auth/token', payload: { grant_type: secret, refresh_token: secret } })
    errorPages.push((await browser.submit('/auth/reset-password', { token: secret, password: PASSWORD })).body)
    errorPages.push(
      (await browser.submit('/auth/login', { username: secret, password: secret }, { 'sec-fetch-site': 'cross-site' }))
        .body
    )
    errorPages.push(
      (
        await browser.submit(`/auth/login?return_to=${encodeURIComponent(`/${secret}`)}`, {
          username: 'carl@mail.example',
          password: ''
        })
      ).body
    )
  }
  await redeem(app, code, { client_id: undefined, redirect_uri: 'https://third.example/cb' }, third)
  await browser.submit('/auth/forgot-password', { username: 'carl@mail.example' })
  const { token } = await subject.messages.next('password_reset')
  keep('reset token', token)
  t.equal((await browser.get(`/auth/reset-password?token=${token}`)).statusCode, 200)
  t.equal(
    (await browser.submit(`/auth/reset-password?token=${token}`, { token: token ?? '', password: NEXT })).statusCode,
    303
  )
  const again = testBrowser(app)
  t.equal((await again.submit('/auth/login', { username: 'carl@mail.example', password: NEXT })).statusCode, 303)
  keep('last cookie', again.cookies.get(cookieName('session')))
  keep('device cookie', again.cookies.get(cookieName('device')))
  await again.submit(`/auth/logout?id_token_hint=${redeemed.id_token}&state=CANARY-state`, { decision: 'sign_out' })

  t.ok(lines.length > 100 && told.length > 10 && errorPages.length > 50)
  // A repeated form contains the request in its own address, which is intended.
  const shown = errorPages.map((page) => page.replaceAll(/ (?:action|formaction|href)="[^"]*"/g, ''))
  const events = subject.events.map((event) => JSON.stringify(event))
  // Halves of two-part secrets, and signatures, grant as much as the whole.
  for (const [name, secret] of secrets) {
    const parts = /^[\w-]{22}\.[\w-]{43}$/.test(secret)
      ? secret.split('.')
      : secret.startsWith('eyJ')
        ? [secret.split('.')[2] ?? '']
        : [secret, encodeURIComponent(secret), new URLSearchParams({ x: secret }).toString().slice(2)]
    for (const part of parts) {
      for (const [where, texts] of Object.entries({ lines, told, events, shown }))
        t.strictSame(texts.filter((text) => text.includes(part)).slice(0, 1), [], `${name} in ${where}`)
    }
  }
})
