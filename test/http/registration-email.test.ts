import t from '../support/tap.ts'
import Fastify from 'fastify'
import { Type } from '@sinclair/typebox'
import authPlugin, { type AuthorityOptions, memoryUserStore } from '../../lib/index.ts'
import { LOCALES, messagesOf } from '../../lib/pages/texts.ts'
import { capturedMessages, fastHasher, steppedClock } from '../../lib/testing/index.ts'
import { ISSUER, PASSWORD } from '../support/app.ts'
import { testBrowser } from '../support/browser.ts'

/** The plugin as in README's first lines, with faster settings for a test. */
async function plain(t: { teardown(task: () => Promise<void>): void }, options: Partial<AuthorityOptions> = {}) {
  const app = Fastify()
  const users = memoryUserStore()
  const messages = capturedMessages()
  await app.register(authPlugin, {
    issuer: ISSUER,
    users,
    clock: steppedClock(),
    rateLimit: false,
    sendMessage: messages.send,
    password: { hasher: fastHasher() },
    ...options
  })
  await app.ready()
  t.teardown(async () => {
    await app.close()
  })
  const register = async (payload: Record<string, unknown>) =>
    await app.inject({ method: 'POST', url: '/auth/register', payload: { password: PASSWORD, ...payload } })
  return { app, users, messages, register, browser: testBrowser(app as never) }
}

// covers H2
t.test('by default requires an email address as the username, and stores it as both', async (t) => {
  const { users, register, messages } = await plain(t)
  t.equal((await register({ username: 'Ann@Example.com' })).statusCode, 201)
  t.match(await users.findByUsername('ann@example.com'), {
    username: 'ann@example.com',
    email: 'ann@example.com',
    emailVerified: false
  })
  t.equal((await messages.next('verify_email')).user.email, 'ann@example.com')
  const refused: Array<[string, unknown]> = [
    ['a free name', 'ann'],
    ['no domain', 'ann@'],
    ['no dot', 'ann@localhost'],
    ['two', 'a@example.com b@example.com'],
    ['an address with a name', 'Ann <ann@example.com>'],
    ['an IP address', 'ann@[192.0.2.1]'],
    ['white space', ' ann@example.com'],
    ['a quoted one', '"a b"@example.com'],
    ['empty', ''],
    ['a number', 5],
    ['null', null],
    ['an array', ['ann@example.com']],
    ['huge', `${'a'.repeat(5000)}@example.com`]
  ]
  for (const [what, username] of refused) {
    const reply = await register({ username })
    t.equal(reply.statusCode, 400, what)
    t.match(reply.json(), { error: 'invalid_request', error_description: /^username: / }, what)
  }
  t.match(
    (await register({ username: 'bob@example.com', email: 'other@example.com' })).json(),
    { error: 'invalid_request', error_description: /^email: / },
    'there is no second field'
  )
  t.equal(await users.findByUsername('bob@example.com'), null)
  const twice = await Promise.all([1, 2].map(async () => await register({ username: 'eve@example.com' })))
  t.same(twice.map(({ statusCode }) => statusCode).sort(), [201, 409], 'twice at once')
})

// covers H2
t.test('with verifyEmail, registers by JSON and on the page without a separate email field', async (t) => {
  const { app, register, browser, messages } = await plain(t, { registration: { verifyEmail: true } })
  t.equal((await register({ username: 'ann@example.com' })).statusCode, 202)
  const { token } = await messages.next('verify_email')
  t.equal((await app.inject({ method: 'POST', url: '/auth/email/verify', payload: { token } })).statusCode, 204)
  t.equal(
    (
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'password', username: 'ann@example.com', password: PASSWORD }
      })
    ).statusCode,
    200
  )
  const page = await browser.get('/auth/signup')
  t.equal(page.body.match(/<input /g)?.length, 2, 'the address and the password')
  t.match(page.body, /<input id="username" name="username" type="text"[^>]* autocomplete="username" inputmode="email"/)
  t.equal((await browser.submit('/auth/signup', { username: 'bob@example.com', password: PASSWORD })).statusCode, 303)
  t.equal((await messages.next('verify_email')).user.email, 'bob@example.com')
  const wrong = await browser.submit('/auth/signup', { username: 'bob', password: PASSWORD })
  t.equal(wrong.statusCode, 400)
  t.match(wrong.body, 'This is not a valid email.')
})

// covers H2
t.test('the pages ask for an email address in every language, or for a username when any is allowed', async (t) => {
  const word =
    /[Uu]sername|Benutzername|utilisateur|usuario|ユーザー名|usuário|[Nn]ome utente|[Gg]ebruikersnaam|użytkownika|[Kk]ullanıcı|користувача|用户名|使用者名稱|사용자 이름|المستخدم/
  const byDefault = await plain(t)
  const any = await plain(t, { registration: { username: 'any' } })
  const none = await plain(t, { registration: false })
  for (const locale of LOCALES) {
    for (const page of ['login', 'signup', 'forgot-password']) {
      const text = async ({ browser }: typeof any): Promise<string> =>
        (await browser.get(`/auth/${page}`, { 'accept-language': locale })).body.replace(
          /<input[^>]*>|for="username"|id="[^"]*"|aria-[a-z]+="[^"]*"/g,
          ''
        )
      t.match(
        await text(byDefault),
        `>${messagesOf(locale, 'email').emailTitle.replace('\u2011', '-')}</label>`,
        `${locale} ${page}`
      )
      t.notMatch(await text(byDefault), word, `${locale} ${page}`)
      t.match(await text(any), word, `${locale} ${page}: any`)
      if (page !== 'signup')
        t.match(await text(none), word, `${locale} ${page}: where nobody signs up here, nobody knows`)
    }
    const wrong = await byDefault.browser.submit(
      '/auth/login',
      { username: 'nobody@example.com', password: PASSWORD },
      { 'accept-language': locale }
    )
    t.notMatch(wrong.body.replace(/<input[^>]*>|for="username"/g, ''), word, `${locale}: the error`)
  }
})

// covers H2
t.test('signs in an existing user whose username is no email address', async (t) => {
  const { app, users } = await plain(t)
  await users.create({ username: 'ann', passwordHash: await app.authority.hashPassword(PASSWORD) })
  t.equal(
    (
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'password', username: 'ann', password: PASSWORD }
      })
    ).statusCode,
    200
  )
})

// covers H2
t.test('any: accepts any username, an email address, and an address in a separate field', async (t) => {
  const { users, register } = await plain(t, {
    registration: {
      username: 'any',
      verifyEmail: true,
      fields: Type.Object({ email: Type.Optional(Type.String({ format: 'email' })) })
    }
  })
  t.equal((await register({ username: 'ann', email: 'ann@example.com' })).statusCode, 202)
  t.match(await users.findByUsername('ann'), { email: 'ann@example.com' })
  t.equal((await register({ username: 'bob@example.com' })).statusCode, 202)
  t.match((await register({ username: 'carl' })).json(), { error_description: 'email: it is required.' })
  const noField = await plain(t, { registration: { username: 'any', verifyEmail: true } })
  t.match(
    (await noField.register({ username: 'carl' })).json(),
    { error: 'invalid_request', error_description: 'username: It must be an email address here.' },
    'nothing is asked for that can not be given'
  )
})
