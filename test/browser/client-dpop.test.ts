/** The browser client with bound tokens, in Chromium. */
import { decodeJwt } from '../support/jwt.ts'
import t, { type Test } from '../support/tap.ts'
import type { AuthorityOptions } from '../../lib/index.ts'
import { clientSubject, intercept, signIn } from './support/client-app.ts'
import { withChromium } from './support/chromium.ts'

/** Chromium's message on an answer with 400 or 401 to a script. */
const FAILED = /Failed to load resource/
const SECRET = 'a secret of more than 32 bytes, for tests of the browser'

const chromium = await withChromium(t)

async function subjectWith(t: Test, options: Partial<AuthorityOptions>) {
  const subject = await clientSubject(
    t,
    { entry: 'dpop', client: '{ allowedOrigins: [domain] }' },
    { secret: SECRET, ...options }
  )
  const page = await chromium.newPage(t, { allow: [FAILED] })
  const userinfo = `${subject.provider.origin}/auth/userinfo`
  return {
    ...subject,
    page,
    tokens: await intercept(page, `${subject.provider.origin}/auth/token`),
    ask: async () => await subject.app.value(page, `auth.fetch('${userinfo}').then(({ status }) => status)`),
    keyOf: async (force = false) =>
      decodeJwt(String(await subject.app.value(page, `auth.getAccessToken({ force: ${force} })`))).claims['cnf'],
    withoutProof: async () =>
      (
        await subject.provider.app.inject({
          url: '/auth/userinfo',
          headers: { authorization: `Bearer ${String(await subject.app.value(page, 'auth.getAccessToken()'))}` }
        })
      ).statusCode
  }
}

t.test('binds tokens to a key that no script can export', async (t) => {
  const subject = await subjectWith(t, { dpop: true })
  const { app, page } = subject
  await signIn(page, subject)
  t.match(await app.value(page, 'auth.getUser()'), { preferred_username: 'ann' }, 'userinfo takes the token')
  const key = await subject.keyOf()
  t.match(key, { jkt: /^[\w-]{43}$/ })
  for (let count = 0; count < 3; count++) t.equal(await subject.ask(), 200)
  const { origin } = subject.provider
  t.equal(
    await app.value(
      page,
      `auth.fetch('${origin}/auth/userinfo', { method: 'POST', body: new URLSearchParams({ a: 'b' }) }).then(({ status }) => status)`
    ),
    200,
    'a request with a body'
  )
  t.equal(await subject.withoutProof(), 401, 'the token alone is worth nothing')
  t.same(await subject.keyOf(true), key, 'a refresh proves the same key')
  await page.goto(`${app.origin}/`)
  t.same(await subject.keyOf(), key)
  t.equal(await subject.ask(), 200, 'after a reload, with the stored token')
  t.same(await subject.keyOf(true), key, 'after a reload, with the stored key')
  t.equal(
    await page.evaluate(`new Promise((resolve, reject) => {
      const opening = indexedDB.open('authority.dpop')
      opening.onsuccess = () => {
        const all = opening.result.transaction('keys').objectStore('keys').getAll()
        all.onsuccess = () => crypto.subtle.exportKey('jwk', all.result[0].privateKey).then(() => resolve('exported'), () => resolve(all.result.length + ' kept'))
        all.onerror = reject
      }
    })`),
    '1 kept'
  )
})

t.test('repeats a request once with the nonce that the provider demands, and reuses the nonce', async (t) => {
  const subject = await subjectWith(t, { dpop: { requireNonce: true } })
  const { page, tokens } = subject
  await signIn(page, subject)
  t.equal(tokens.forms.length, 2, 'the code is sent again with the nonce')
  t.equal(await subject.ask(), 200)
  await subject.keyOf(true)
  t.equal(tokens.forms.length, 3, 'a refresh has the nonce already')
  await page.goto(`${subject.app.origin}/`)
  t.equal(await subject.ask(), 200, 'a page without a nonce gets one')
})

t.test('rejects a sign-in at a provider that binds no tokens', async (t) => {
  const subject = await subjectWith(t, { dpop: false })
  await t.rejects(signIn(subject.page, subject), { message: /token_not_bound/ })
  t.equal(await subject.app.value(subject.page, 'auth.getUser()'), null)
  t.match(await subject.app.call(subject.page, "createClient({ mode: 'cookie' })"), { error: 'invalid_options' })
})
