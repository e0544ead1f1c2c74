/** A second factor required by a client or its API, and its effects for an account that has one. */
import t from '../../support/tap.ts'
import { memoryUserStore, type AuthorityOptions, type Client } from '../../../lib/index.ts'
import { softPasskey } from '../../../lib/testing/index.ts'
import { bearer, ISSUER, PASSWORD, tellCode } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { factorApp, formOf, logIn } from '../../support/factors.ts'
import { answerOn } from '../../support/passkey-pages.ts'
import { passkeyApp } from '../../support/passkeys.ts'
import { answerOf, authorizePath, CALLBACK } from '../../support/openid.ts'

const MFA = 'urn:fastify-authority:grant-type:mfa'
const CLIENTS: Client[] = [
  { clientId: 'spa', redirectUris: [CALLBACK] },
  { clientId: 'bank', redirectUris: [CALLBACK], acr: 'mfa' }
]

t.test('answers unmet_authentication_requirements to acr mfa for a user without a second factor', async (t) => {
  const { app } = await factorApp(t, { clients: CLIENTS }, { enrolled: false })
  for (const params of [
    { acr_values: 'mfa' },
    { client_id: 'bank' },
    { claims: '{"id_token":{"acr":{"essential":true,"value":"mfa"}}}' }
  ]) {
    const browser = testBrowser(app)
    const { url } = await browser.follow(await browser.get(authorizePath(params)))
    t.match(url, /\/auth\/login\?/, 'who they are is asked first')
    const { reply } = await browser.follow(await logIn(browser, 'ann', PASSWORD, url.slice(url.indexOf('?'))))
    t.match(
      answerOf(String(reply.headers.location)),
      { error: 'unmet_authentication_requirements' },
      JSON.stringify(params)
    )
    t.match(
      answerOf(String((await browser.get(authorizePath(params))).headers.location)),
      { error: 'unmet_authentication_requirements' },
      'and who is signed in already'
    )
  }
})

t.test('asks a user with a second factor for it when the request or the client requires acr mfa', async (t) => {
  const subject = await factorApp(t, { clients: CLIENTS })
  for (const params of [{ acr_values: 'mfa' }, { client_id: 'bank' }]) {
    const browser = testBrowser(subject.app)
    const { url } = await browser.follow(await browser.get(authorizePath(params)))
    const asked = await logIn(browser, 'ann', PASSWORD, url.slice(url.indexOf('?')))
    t.match(asked.headers.location, /^\/auth\/second-factor\?/)
    const page = await browser.get(String(asked.headers.location))
    const done = await browser.follow(await browser.submit(formOf(page.body).action, { code: subject.code() }))
    t.match(answerOf(String(done.reply.headers.location)), { code: /./ }, JSON.stringify(params))
    subject.clock.step(30_000)
  }
})

t.test('answers temporarily_unavailable to acr mfa while the factors are unreadable', async (t) => {
  const subject = await factorApp(t, { clients: CLIENTS }, { enrolled: false })
  const browser = testBrowser(subject.app)
  await logIn(browser)
  subject.broken.add('findFactors')
  t.match(answerOf(String((await browser.get(authorizePath({ acr_values: 'mfa' }))).headers.location)), {
    error: 'temporarily_unavailable'
  })
})

t.test('keeps the factors if the removal of the account fails, and removes them with the account', async (t) => {
  const users = memoryUserStore()
  const down = { remove: true }
  const subject = await factorApp(t, {
    users: {
      ...users,
      async remove(id) {
        if (down.remove) throw Object.assign(new Error('the server is gone'), { code: 'ECONNREFUSED' })
        await users.remove(id)
      }
    }
  })
  const { app, store, sub } = subject
  const token = async (payload: Record<string, string>) =>
    (await app.inject({ method: 'POST', url: '/auth/token', payload })).json<{
      mfa_token: string
      access_token: string
      error: string
    }>()
  const { mfa_token: ticket } = await token({ grant_type: 'password', username: 'ann', password: PASSWORD })
  const { access_token: access } = await token({ grant_type: MFA, mfa_token: ticket, otp: subject.code() })
  const remove = async () => await app.inject({ method: 'DELETE', url: '/auth/account', headers: bearer(access) })
  t.equal((await remove()).statusCode, 503)
  t.equal((await store.findFactors(sub)).totp.length, 1, 'an account that is still there keeps them')
  down.remove = false
  t.equal((await remove()).statusCode, 204)
  t.same((await store.findFactors(sub)).totp, [])
  t.same((await store.findFactors(sub)).recoveryCodesLeft, 0)
})

/** The page or the error that `requireSession({ acr })` answers to a user with a password sign-in. */
t.test('leads a user who lacks the factor for an acr to its set-up page', async (t) => {
  const subject = async (options: Partial<AuthorityOptions> = {}) => {
    const found = await factorApp(t, options, {
      enrolled: false,
      before: (host) => {
        for (const acr of ['mfa', 'phr'])
          host.get(
            `/${acr}`,
            {
              errorHandler: tellCode,
              onRequest: (...args) => {
                host.authority.requireSession({ acr })(...args)
              }
            },
            async (request) => request.authSession
          )
      }
    })
    await logIn(found.browser)
    const to = async (url: string): Promise<unknown> => {
      const { statusCode, headers, body } = await found.browser.get(url)
      return statusCode === 303
        ? headers.location
        : statusCode === 403
          ? (JSON.parse(body) as { error: string }).error
          : statusCode
    }
    return { ...found, to }
  }
  const { browser, clock, to } = await subject()
  t.equal(await to('/mfa?a=1'), '/auth/second-factor/set-up?return_to=%2Fmfa%3Fa%3D1')
  t.match(
    (await browser.get(String(await to('/mfa')))).body,
    'The page that you want to open needs one.',
    'the account does not'
  )
  t.equal(await to('/phr'), '/auth/security/passkeys?return_to=%2Fphr')
  clock.step(301_000)
  t.equal(await to('/mfa'), '/auth/reauthenticate?return_to=%2Fmfa', 'a first app takes a fresh sign-in')
  t.equal(await to('/phr'), '/auth/security/passkeys?return_to=%2Fphr', 'a page that asks for one itself')
  await logIn(browser)
  const passkey = softPasskey({ origin: ISSUER })
  t.match(await answerOn(browser, String(await to('/phr')), passkey), { statusCode: 303 })
  t.equal(await to('/phr'), 200, 'whoever has just made one is signed in by it')
  t.equal(await to('/mfa'), 200)
  browser.cookies.clear()
  t.match(await answerOn(browser, '/auth/login', passkey), { statusCode: 303 })
  t.equal(await to('/phr'), 200)

  const noTotp = await subject({ mfa: { methods: ['passkey', 'recovery_code'] } })
  t.match(
    await noTotp.browser.get(String(await noTotp.to('/mfa'))),
    { statusCode: 200, body: /data-passkey="create"/ },
    'where apps are not set up'
  )
  for (const options of [{ pages: { account: false } }, { mfa: { methods: ['totp' as const] } }]) {
    const none = await subject(options)
    none.clock.step(61_000)
    t.equal(
      await none.to('/phr'),
      'unmet_authentication_requirements',
      `nowhere to add one, and no proof is asked for: ${JSON.stringify(options)}`
    )
  }
})

t.test('asks for a passkey as the second factor after a sign-in on a custom page', async (t) => {
  const subject = await passkeyApp(t, { pages: { loginUrl: '/sign-in' } }, {}, (host) => {
    host.post<{ Body: { sub: string; amr: string[] } }>('/host/sign-in', async (request, reply) => {
      await host.authority.signIn(request, reply, request.body.sub, { amr: request.body.amr })
      return 'done'
    })
    host.get(
      '/phr',
      {
        errorHandler: tellCode,
        onRequest: (...args) => {
          host.authority.requireSession({ acr: 'phr' })(...args)
        }
      },
      async (request) => request.authSession
    )
  })
  const by = async (amr: string[]) => {
    const browser = testBrowser(subject.app)
    const reply = await subject.app.inject({ method: 'POST', url: '/host/sign-in', payload: { sub: subject.sub, amr } })
    for (const { name, value } of reply.cookies) browser.cookies.set(name, value)
    return browser
  }
  const browser = await by(['pwd'])
  const step = await browser.get('/phr')
  t.match(step, { statusCode: 303, headers: { location: '/auth/second-factor?return_to=%2Fphr' } })
  t.match(await answerOn(browser, String(step.headers.location), subject.passkey), {
    statusCode: 303,
    headers: { location: '/phr' }
  })
  t.match((await browser.get('/phr')).json(), { acr: 'phr' })
  t.match(
    await (await by(['mfa'])).get('/phr'),
    { statusCode: 403 },
    "who owes no second factor is not asked for one, and the host's page can give no more"
  )
})
