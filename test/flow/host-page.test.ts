/**
 * A host with a sign-in page of its own, over real sockets, and a client that asks for more than a password.
 *
 * | who, signed in by the host's page      | asks for `mfa`                   | gets |
 * | --- | --- | --- |
 * | the host vouches by `mfa` in `amr`     | client, API, page, security page | `mfa` without a question |
 * | with an app, by `pwd` or nothing       | client, page                     | the second factor, then `mfa` |
 * | without an app, by `pwd` or nothing    | client                           | the host's page once more, and then an error |
 * |                                        | page                             | set-up of the first factor, then `mfa` |
 */
import t, { type Test } from '../support/tap.ts'
import { type AuthorityOptions, type Client, memoryFactorStore } from '../../lib/index.ts'
import { type Provider, startProvider } from '../browser/support/provider.ts'
import { codeFor } from '../support/factors.ts'
import { decodeJwt } from '../support/jwt.ts'
import { CALLBACK, redeem } from '../support/openid.ts'
import { type FormBrowser, formBrowser, type Stop } from './support/form-browser.ts'

const CLIENTS: Client[] = [
  { clientId: 'spa', redirectUris: [CALLBACK] },
  { clientId: 'bank', redirectUris: [CALLBACK], acr: 'mfa' }
]

interface Subject extends Provider {
  person(): FormBrowser
  /** Sends a request of the client and follows it to the first page. */
  ask(person: FormBrowser, params?: Record<string, string>): Promise<Stop>
  /** The client's result: an error, or the claims of its ID token. */
  told(stop: Stop, clientId?: string): Promise<Record<string, unknown>>
  /** The key of Ann's app. */
  key: { secret: string }
  code(): string
}

async function subjectOf(t: Test, options: Partial<AuthorityOptions> = {}): Promise<Subject> {
  const provider = await startProvider(
    t,
    { clients: CLIENTS, factors: memoryFactorStore(), pages: { loginUrl: '/sign-in' }, ...options },
    (host) => {
      host.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => {
        done(null, Object.fromEntries(new URLSearchParams(String(body))))
      })
      host.get<{ Querystring: { return_to?: string } }>(
        '/sign-in',
        async (request, reply) =>
          await reply
            .type('text/html')
            .send(
              '<form method="post" ' +
                `action="/sign-in?${new URLSearchParams({ return_to: request.query.return_to ?? '/' }).toString()}">`
            )
      )
      host.post<{ Body: { amr?: string }; Querystring: { return_to?: string } }>('/sign-in', async (request, reply) => {
        const { amr = '' } = request.body
        await host.authority.signIn(request, reply, provider.ann.id, amr === '' ? {} : { amr: amr.split(' ') })
        return await reply.redirect(request.query.return_to ?? '/', 303)
      })
      const page = (url: string, acr: string): void => {
        host.get(
          url,
          {
            onRequest: (...args) => {
              host.authority.requireSession({ acr })(...args)
            }
          },
          async (request) => request.authSession
        )
      }
      page('/vault', 'mfa')
      host.get(
        '/transfer',
        {
          onRequest: [
            (...args) => {
              host.authenticate(...args)
            },
            (...args) => {
              host.requireAuth({ acr: 'mfa' })(...args)
            }
          ]
        },
        async (request) => request.auth
      )
    }
  )
  const key = { secret: '' }
  return {
    ...provider,
    key,
    person: () => formBrowser(provider.origin),
    ask: async (person, params = {}) => await person.get(provider.authorizeUrl({ redirect_uri: CALLBACK, ...params })),
    async told({ url }, clientId = 'spa') {
      if (!url.href.startsWith(CALLBACK)) return { at: url.pathname }
      const { code, ...rest } = Object.fromEntries(url.searchParams)
      if (code === undefined) return rest
      const tokens = (await redeem(provider.app, code, { client_id: clientId })).json<{
        id_token: string
        access_token: string
      }>()
      return { ...decodeJwt(tokens.id_token).claims, access: tokens.access_token }
    },
    code: () => codeFor(key.secret, provider.clock.now())
  }
}

/** Sets up the first app on its page, with the shown key. */
async function setUp({ clock, key }: Subject, person: FormBrowser, page: Stop): Promise<Stop> {
  key.secret = (/<code dir="ltr">([A-Z2-7 ]+)<\/code>/.exec(page.text)?.[1] ?? '').replaceAll(' ', '')
  const done = await person.submit(page, { code: codeFor(key.secret, clock.now()), name: '' })
  clock.step(30_000)
  return done
}

t.test('accepts two factors that the host page vouches for, and rejects anything less', async (t) => {
  const subject = await subjectOf(t)
  const { ask, told } = subject
  for (const [amr, wanted] of [
    ['mfa', ['mfa']],
    ['pwd otp mfa', ['pwd', 'otp', 'mfa']]
  ] as const) {
    for (const params of [{ acr_values: 'mfa' }, { client_id: 'bank' }]) {
      const person = subject.person()
      const page = await ask(person, params)
      t.equal(page.url.pathname, '/sign-in')
      const claims = await told(await person.submit(page, { amr }), params.client_id)
      t.match(claims, { acr: 'mfa', amr: wanted, auth_time: Number }, `${amr}: ${JSON.stringify(params)}`)
      t.equal(
        (
          await subject.app.inject({
            url: '/transfer',
            headers: { authorization: `Bearer ${String(claims['access'])}` }
          })
        ).statusCode,
        200
      )
      t.match(JSON.parse((await person.get('/vault')).text), { acr: 'mfa', amr: wanted })
    }
  }
  t.match(await subject.app.inject('/.well-known/openid-configuration').then((reply) => reply.json()), {
    acr_values_supported: ['password', 'mfa', 'phr']
  })
  for (const less of ['', 'pwd', 'pwd otp', 'MFA', 'mfa2', 'hwk user face']) {
    const person = subject.person()
    t.match(
      await told(await person.submit(await ask(person, { acr_values: 'mfa' }), { amr: less })),
      { error: 'unmet_authentication_requirements' },
      `${less}: no bypass`
    )
    t.match(
      await told(await ask(person, { client_id: 'bank' }), 'bank'),
      { error: 'unmet_authentication_requirements' },
      `${less}: nor for a client that must have it`
    )
  }
  await t.rejects(subject.app.authority.issueTokens(subject.ann.id, { clientId: 'bank', amr: ['pwd'] }), {
    error: 'unmet_authentication_requirements'
  } as never)
  t.match(
    decodeJwt(
      (await subject.app.authority.issueTokens(subject.ann.id, { clientId: 'bank', amr: ['mfa'] })).access_token
    ).claims,
    { acr: 'mfa' }
  )
})

t.test('accepts mfa from a host page without a factor store, and refuses client acr without a host page', async (t) => {
  const subject = await subjectOf(t, { factors: undefined })
  const person = subject.person()
  t.match(
    await subject.told(await person.submit(await subject.ask(person, { acr_values: 'mfa' }), { amr: 'pwd otp mfa' })),
    { acr: 'mfa' }
  )
  t.equal((await person.get('/vault')).status, 200)
  await t.rejects(
    subjectOf(t, {
      factors: undefined,
      pages: {},
      clients: [{ clientId: 'bank', redirectUris: [CALLBACK], acr: 'mfa' }]
    }),
    /clients\[0\]\.acr/
  )
})

t.test("asks for the authenticator app in sign-ins by the host's page after it was set up", async (t) => {
  const subject = await subjectOf(t)
  const { ask, told, clock } = subject
  for (const amr of ['', 'pwd']) {
    await subject.app.authority.resetFactors(subject.ann.id)
    const first = subject.person()
    const page = await first.submit(await first.get('/vault'), { amr })
    t.equal(
      page.url.href,
      `${subject.origin}/auth/second-factor/set-up?return_to=%2Fvault`,
      'straight to where one is set up'
    )
    const codes = await setUp(subject, first, page)
    t.match(codes.text, 'href="/auth/second-factor/set-up?return_to=%2Fvault&amp;done=codes_saved"')
    t.match(JSON.parse((await first.get('/vault')).text), {
      acr: 'mfa',
      amr: amr === '' ? ['otp', 'mfa'] : ['pwd', 'otp', 'mfa']
    })

    for (const [params, location] of [
      [{ acr_values: 'mfa' }, 'spa'],
      [{ client_id: 'bank' }, 'bank']
    ] as const) {
      const person = subject.person()
      const step = await person.submit(await ask(person, params), { amr })
      t.equal(step.url.pathname, '/auth/second-factor', JSON.stringify(params))
      t.match(await told(await person.submit(step, { code: '000000' })), { at: '/auth/second-factor' }, 'a wrong code')
      t.match(await told(await person.submit(step, { code: subject.code() }), location), { acr: 'mfa' })
      clock.step(30_000)
    }
    const pages = subject.person()
    const step = await pages.submit(await pages.get('/vault'), { amr })
    t.equal(step.url.pathname, '/auth/second-factor')
    t.match(JSON.parse((await pages.submit(step, { code: subject.code() })).text), { acr: 'mfa' }, 'back at the page')
    clock.step(30_000)
  }
})

t.test('requires a fresh sign-in for the first app, and the second factor for changes', async (t) => {
  const subject = await subjectOf(t)
  const { clock, origin } = subject
  const person = subject.person()
  await person.submit(await person.get('/sign-in'), { amr: 'pwd' })
  clock.step(301_000)
  const stale = await person.get('/auth/security/totp')
  const again = (/href="(\/auth\/login[^"]*)"/.exec(stale.text)?.[1] ?? '').replaceAll('&amp;', '&')
  t.match(again, /prompt=login/)
  const login = await person.get(again)
  t.equal(
    login.url.href,
    `${origin}/sign-in?return_to=%2Fauth%2Fsecurity%2Ftotp`,
    "the host's page asks for a new proof"
  )
  await setUp(subject, person, await person.submit(login, { amr: '' }))
  t.match(
    (await person.get('/auth/security?done=codes_saved')).text,
    /[?;]remove=/,
    'a session with the app changes it'
  )

  const other = subject.person()
  await other.submit(await other.get('/sign-in'), { amr: 'pwd' })
  const page = await other.get('/auth/security')
  t.notMatch(page.text, /[?;]remove=/)
  const step = await other.get(
    (/class="actions"><a[^>]* href="([^"]*)"/.exec(page.text)?.[1] ?? '').replaceAll('&amp;', '&')
  )
  t.equal(
    step.url.href,
    `${origin}/auth/second-factor?return_to=%2Fauth%2Fsecurity`,
    'no password of ours is asked for, and the code is'
  )
  t.match((await other.submit(step, { code: subject.code() })).text, /[?;]remove=/)
  clock.step(301_000)
  const late = (
    /class="actions"><a[^>]* href="([^"]*)"/.exec((await other.get('/auth/security')).text)?.[1] ?? ''
  ).replaceAll('&amp;', '&')
  t.match(late, /^\/auth\/login\?.*prompt=login/, 'after five minutes both are asked for anew')
  const both = await other.submit(await other.get(late), { amr: 'pwd' })
  const then = await other.get(
    (/class="actions"><a[^>]* href="([^"]*)"/.exec(both.text)?.[1] ?? '').replaceAll('&amp;', '&')
  )
  t.equal(then.url.pathname, '/auth/second-factor')
  t.match((await other.submit(then, { code: subject.code() })).text, /[?;]remove=/)
})

t.test('gives no code before a second factor with mfa.required and a host page', async (t) => {
  const subject = await subjectOf(t, { mfa: { required: true } })
  const { ask, told, clock } = subject
  const first = subject.person()
  const page = await first.submit(await ask(first), { amr: 'pwd' })
  t.equal(page.url.pathname, '/auth/second-factor/set-up')
  t.match(await told(await ask(first, { prompt: 'none' })), { error: 'interaction_required' })
  clock.step(301_000)
  t.equal((await ask(first)).url.pathname, '/sign-in', "too long ago to set one up: the host's page first")
  t.match(await told(await ask(first, { prompt: 'none' })), { error: 'login_required' })
  await setUp(subject, first, await first.submit(await ask(first), { amr: '' }))
  t.match(await told(await ask(first)), { acr: 'mfa' })

  const second = subject.person()
  const step = await second.submit(await ask(second), { amr: 'pwd' })
  t.equal(step.url.pathname, '/auth/second-factor')
  t.match(await told(await ask(second, { prompt: 'none' })), { error: 'login_required' })
  t.match(await told(await second.submit(step, { code: subject.code() })), { acr: 'mfa' })

  const vouched = subject.person()
  t.match(
    await told(await vouched.submit(await ask(vouched), { amr: 'mfa' })),
    { acr: 'mfa' },
    'who has shown two factors to the host owes none'
  )
})

t.test('sends a session without mfa to the host page once, and then answers with an error', async (t) => {
  const subject = await subjectOf(t, { factors: undefined })
  const { ask, told, clock } = subject
  const person = subject.person()
  t.match(await told(await person.submit(await ask(person), { amr: 'pwd' })), { acr: 'password' })
  clock.step(60_000)
  const page = await ask(person, { acr_values: 'mfa' })
  t.equal(page.url.pathname, '/sign-in', 'it may ask for more now')
  t.match(await told(await ask(person, { acr_values: 'mfa', prompt: 'none' })), { error: 'login_required' })
  t.match(
    await told(await person.submit(page, { amr: 'pwd' })),
    { error: 'unmet_authentication_requirements' },
    'it did not'
  )
  clock.step(60_000)
  t.match(
    await told(await person.submit(await ask(person, { acr_values: 'mfa' }), { amr: 'pwd otp mfa' })),
    { acr: 'mfa' },
    'it did'
  )
})
