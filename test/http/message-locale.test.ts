/** The language of a message: that of the page or the request that caused it. */
import t from '../support/tap.ts'
import { memoryUserStore, type Message, type MessageKind } from '../../lib/index.ts'
import { bearer, PASSWORD, signIn, testApp, type TestApp } from '../support/app.ts'
import { testBrowser, type TestBrowser } from '../support/browser.ts'

const NEXT_PASSWORD = 'staple and a new one'
const ANN = { username: 'ann@example.com', password: PASSWORD }

interface Scene extends TestApp {
  browser: TestBrowser
  headers: Record<string, string>
  query: string
}

async function started(
  t: { teardown(task: () => Promise<void>): void },
  { verifyEmail = false, ...scene }: { verifyEmail?: boolean; headers?: Record<string, string>; query?: string } = {}
): Promise<Scene> {
  const test = await testApp({ registration: { verifyEmail, username: 'email' } })
  t.teardown(test.close)
  return { ...test, browser: testBrowser(test.app), headers: {}, query: '', ...scene }
}

const json = async (
  { app, headers, query }: Scene,
  url: string,
  payload: Record<string, string>,
  more: Record<string, string> = {}
): Promise<void> => {
  const reply = await app.inject({ method: 'POST', url: `${url}${query}`, headers: { ...headers, ...more }, payload })
  if (reply.statusCode >= 300) throw new Error(`${url}: ${reply.statusCode} ${reply.body}`)
}
/** Opens the page and posts its form to its action, as a browser would. */
const form = async ({ browser, headers, query }: Scene, url: string, fields: Record<string, string>): Promise<void> => {
  const page = await browser.get(`${url}${query}`, headers)
  const reply = await browser.submit(
    /<form[^>]* action="([^"]*)"/.exec(page.body)?.[1]?.replaceAll('&amp;', '&') ?? '',
    fields,
    headers
  )
  if (reply.statusCode >= 400) throw new Error(`${url}: ${reply.statusCode} ${reply.body}`)
}
const resetToken = async (scene: Scene): Promise<string> => {
  await scene.app.inject({ method: 'POST', url: '/auth/password-reset', payload: { username: ANN.username } })
  return (await scene.messages.next('password_reset')).token
}

const askForAddress = async (scene: Scene, { headers, query }: Pick<Scene, 'headers' | 'query'>): Promise<void> => {
  const { access_token: accessToken } = await signIn(scene.app, ANN.username)
  await json({ ...scene, headers, query }, '/auth/email', { email: 'ann@new.example.com' }, bearer(accessToken))
}
const changeToken = async (scene: Scene): Promise<string> => {
  await askForAddress(scene, { headers: {}, query: '' })
  return (await scene.messages.next('email_change')).token
}

/** Every request that causes a message. `page`: a form, which has the language of its page. */
const WAYS: Array<{
  name: string
  kind: MessageKind
  page?: true
  verifyEmail?: true
  act(scene: Scene): Promise<void>
}> = [
  {
    name: 'a sign-up',
    kind: 'verify_email',
    act: async (scene) => {
      await json(scene, '/auth/register', { username: 'bob@example.com', password: PASSWORD })
    }
  },
  {
    name: 'a sign-up on the page',
    kind: 'verify_email',
    page: true,
    act: async (scene) => {
      await form(scene, '/auth/signup', { username: 'bob@example.com', password: PASSWORD })
    }
  },
  {
    name: 'a sign-up with a taken name',
    kind: 'already_registered',
    verifyEmail: true,
    act: async (scene) => {
      await json(scene, '/auth/register', ANN)
    }
  },
  {
    name: 'a sign-up with a taken name on the page',
    kind: 'already_registered',
    verifyEmail: true,
    page: true,
    act: async (scene) => {
      await form(scene, '/auth/signup', ANN)
    }
  },
  {
    name: 'a second confirmation from the sign-in page',
    kind: 'verify_email',
    verifyEmail: true,
    page: true,
    async act(scene) {
      const { browser, headers, query } = scene
      await browser.submit(`/auth/login${query}`, ANN, headers)
      const sent = await browser.submit(`/auth/check-email${query}`, { decision: 'resend' }, headers)
      if (sent.statusCode !== 303) throw new Error(`resend: ${sent.statusCode}`)
    }
  },
  {
    name: 'a forgotten password',
    kind: 'password_reset',
    act: async (scene) => {
      await json(scene, '/auth/password-reset', { username: ANN.username })
    }
  },
  {
    name: 'a forgotten password on the page',
    kind: 'password_reset',
    page: true,
    act: async (scene) => {
      await form(scene, '/auth/forgot-password', { username: ANN.username })
    }
  },
  {
    name: 'a new password by a link',
    kind: 'password_changed',
    act: async (scene) => {
      await json(scene, '/auth/password-reset/confirm', { token: await resetToken(scene), password: NEXT_PASSWORD })
    }
  },
  {
    name: 'a new password by a link on the page',
    kind: 'password_changed',
    page: true,
    async act(scene) {
      const token = await resetToken(scene)
      await scene.browser.submit(
        `/auth/reset-password${scene.query}`,
        { token, password: NEXT_PASSWORD },
        scene.headers
      )
    }
  },
  {
    name: 'a changed password',
    kind: 'password_changed',
    async act(scene) {
      const { access_token: accessToken } = await signIn(scene.app, ANN.username)
      await json(
        scene,
        '/auth/password',
        { current_password: PASSWORD, new_password: NEXT_PASSWORD },
        bearer(accessToken)
      )
    }
  },
  {
    name: 'a request for another address',
    kind: 'email_change',
    act: async (scene) => {
      await askForAddress(scene, scene)
    }
  },
  {
    name: 'a request for another address',
    kind: 'email_change_requested',
    act: async (scene) => {
      await askForAddress(scene, scene)
    }
  },
  {
    name: 'a changed address',
    kind: 'email_changed',
    act: async (scene) => {
      await json(scene, '/auth/email/verify', { token: await changeToken(scene) })
    }
  },
  {
    name: 'a changed address on the page',
    kind: 'email_changed',
    page: true,
    async act(scene) {
      const token = await changeToken(scene)
      await scene.browser.submit(`/auth/verify-email${scene.query}`, { token }, scene.headers)
    }
  },
  {
    name: 'a removed account',
    kind: 'account_removed',
    async act(scene) {
      const { access_token: accessToken } = await signIn(scene.app, ANN.username)
      const { statusCode } = await scene.app.inject({
        method: 'DELETE',
        url: `/auth/account${scene.query}`,
        headers: { ...scene.headers, ...bearer(accessToken) }
      })
      if (statusCode !== 204) throw new Error(`delete: ${statusCode}`)
    }
  }
]

for (const { name, kind, page = false, verifyEmail = false, act } of WAYS) {
  t.test(`sends ${kind} in the language of the request after ${name}`, async (t) => {
    for (const [given, expected] of [
      [{ headers: { 'accept-language': 'xx, fr-CA;q=0.9, de;q=0.8' } }, 'fr'],
      [{ headers: { 'accept-language': 'fr' }, query: '?ui_locales=xx%20ja' }, 'ja'],
      [{ headers: { 'accept-language': 'tlh' } }, 'en'],
      [{}, 'en']
    ] as Array<[{ headers?: Record<string, string>; query?: string }, string]>) {
      const scene = await started(t, { verifyEmail, ...given })
      await scene.app.inject({
        method: 'POST',
        url: '/auth/register',
        headers: { 'accept-language': 'es' },
        payload: ANN
      })
      t.equal((await scene.messages.next('verify_email')).locale, 'es')
      await act(scene)
      t.equal(
        (await scene.messages.next(kind)).locale,
        expected,
        `${JSON.stringify(given)}${page ? ', by the page' : ''}`
      )
    }
  })
}

t.test(
  "writes messages without a request or a supported language in the user's language, otherwise in English",
  async (t) => {
    const locales: Array<[unknown, string]> = [
      ['ja', 'ja'],
      ['de_AT', 'de'],
      ['fr-Latn-CA', 'fr'],
      ['xx', 'en'],
      ['', 'en'],
      [undefined, 'en'],
      [null, 'en'],
      [5, 'en'],
      [['de'], 'en'],
      [`de${'-a'.repeat(50_000)}`, 'de'],
      ['de\r\nBcc: x', 'en']
    ]
    for (const [locale, expected] of locales) {
      const users = memoryUserStore([{ id: 'u1', username: 'ann@example.com', passwordHash: null, locale }])
      const { app, messages, close } = await testApp({ users })
      const next = async (kind: MessageKind): Promise<Message> => await messages.next(kind)
      const shown = String(locale).slice(0, 20)
      await app.authority.startPasswordReset('u1')
      t.equal((await next('password_reset')).locale, expected, `${shown}, by the host`)
      await app.authority.changePassword('u1', NEXT_PASSWORD)
      t.equal((await next('password_changed')).locale, expected, `${shown}, a password that the host changed`)
      await app.inject({
        method: 'POST',
        url: '/auth/password-reset',
        headers: { 'accept-language': 'tlh, *' },
        payload: { username: 'ann@example.com' }
      })
      t.equal((await next('password_reset')).locale, expected, `${shown}, by a request in no language of ours`)
      await app.inject({
        method: 'POST',
        url: '/auth/password-reset',
        headers: { 'accept-language': 'es' },
        payload: { username: 'ann@example.com' }
      })
      t.equal((await next('password_reset')).locale, 'es', `${shown}, by a request that has one`)
      await close()
    }
  }
)

t.test('writes a notice about an email change in the language of the user, or else of the request', async (t) => {
  for (const [locale, expected] of [
    ['de', 'de'],
    ['xx', 'ko']
  ] as const) {
    const users = memoryUserStore([{ id: 'u1', username: 'ann@example.com', passwordHash: null, locale }])
    const { app, messages, close } = await testApp({ users, registration: { username: 'email' } })
    t.teardown(close)
    await app.authority.changePassword('u1', PASSWORD)
    await messages.next('password_changed')
    const { access_token: token } = await signIn(app, 'ann@example.com')
    const headers = { ...bearer(token), 'accept-language': 'ko' }
    await app.inject({ method: 'POST', url: '/auth/email', headers, payload: { email: 'thief@evil.example' } })
    t.equal((await messages.next('email_change_requested')).locale, expected)
    t.equal((await messages.next('email_change')).locale, 'ko', 'a link was asked for')
  }
})

t.test('sends the message in English for an invalid or repeated ui_locales', async (t) => {
  for (const url of [
    '/auth/password-reset?ui_locales=de&ui_locales=fr',
    '/auth/password-reset?ui_locales=',
    `/auth/password-reset?ui_locales=${'x-'.repeat(4000)}`,
    '/auth/password-reset?ui_locales[]=de'
  ]) {
    const { app, messages, close } = await testApp({
      users: memoryUserStore([{ id: 'u1', username: 'ann@example.com', passwordHash: null }])
    })
    t.equal(
      (await app.inject({ method: 'POST', url, payload: { username: 'ann@example.com' } })).statusCode,
      202,
      url.slice(0, 60)
    )
    t.equal((await messages.next('password_reset')).locale, 'en', url.slice(0, 60))
    await close()
  }
})
