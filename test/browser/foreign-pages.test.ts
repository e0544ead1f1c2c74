/**
 * Checks that requests forged by a page of another site use up no attempt, end no session and change no state of its
 * visitor.
 */
import t from '../support/tap.ts'
import { memoryFactorStore } from '../../lib/index.ts'
import { PASSWORD, signIn } from '../support/app.ts'
import { AT_NIGHT } from '../support/at-night.ts'
import { testBrowser } from '../support/browser.ts'
import { enrol, logIn } from '../support/factors.ts'
import { withChromium } from './support/chromium.ts'
import { signInOn } from './support/journeys.ts'
import { startProvider, startSite } from './support/provider.ts'
import { carryOver } from './support/state-steps.ts'

const { newPage } = await withChromium(t)
const RULE = { max: 2 }
const LIMITS = {
  login: { max: 3 },
  register: RULE,
  passwordReset: RULE,
  refresh: RULE,
  account: RULE,
  emailCode: RULE,
  secondFactor: RULE
}
const WRONG = 'A'.repeat(46)

const POSTS: Record<string, Record<string, string>> = {
  '/auth/token': { grant_type: 'password', username: 'ann', password: 'wrong wrong' },
  '/auth/refresh': {},
  '/auth/revoke': { token: 'x' },
  '/auth/introspect': { token: 'x' },
  '/auth/register': { username: 'mallory', password: PASSWORD },
  '/auth/password-reset': { username: 'ann' },
  '/auth/password-reset/confirm': { token: WRONG, password: PASSWORD },
  '/auth/email/verify': { token: WRONG },
  '/auth/password': { current_password: 'wrong wrong', new_password: 'another good one' },
  '/auth/session': {},
  '/auth/login': { username: 'ann', password: 'wrong wrong' },
  '/auth/signup': { username: 'mallory', password: PASSWORD },
  '/auth/forgot-password': { username: 'ann' },
  '/auth/reset-password': { token: WRONG, password: PASSWORD },
  '/auth/verify-email': { token: WRONG },
  '/auth/consent': { decision: 'allow' },
  '/auth/logout': { decision: 'sign_out' }
}
/** The endpoints that accept a form. All other endpoints refuse such requests by one rule for all routes. */
const FORMS: Record<string, Record<string, string>> = {
  '/auth/second-factor': { code: '000000' },
  '/auth/second-factor/set-up': { decision: 'resend' },
  '/auth/second-factor/link': { token: WRONG },
  '/auth/security': { decision: 'codes' },
  '/auth/security/totp': { code: '000000', enrolment: 'x' },
  '/auth/security/passkeys': { credential: '{}' },
  '/auth/passkey-prompt': { credential: '{}' },
  '/auth/reauthenticate': { current_password: 'wrong wrong' },
  '/auth/email-code': { username: 'app' },
  '/auth/email-link': { token: WRONG },
  '/auth/factors/totp': {},
  '/auth/factors/recovery-codes': {}
}
const GETS = [
  `/auth/reset-password?token=${WRONG}`,
  `/auth/verify-email?token=${WRONG}`,
  '/auth/login',
  '/auth/signup',
  '/auth/forgot-password',
  '/auth/logout',
  '/auth/session',
  '/auth/authorize?client_id=nobody',
  '/auth/userinfo',
  '/auth/sessions',
  '/auth/second-factor',
  '/auth/second-factor/set-up',
  '/auth/security',
  '/auth/security/totp',
  '/auth/security/passkeys',
  '/auth/passkey-prompt',
  '/auth/reauthenticate',
  '/auth/email-code',
  `/auth/email-link?token=${WRONG}`,
  '/auth/factors'
]

/** Every request that a page can cause without CORS, more often than any limit allows. */
const SCRIPT = `async (origin, posts, forms, gets) => {
  const quiet = (promise) => promise.catch(() => {})
  const post = (url, settings) => quiet(fetch(url, { method: 'POST', ...settings }))
  const posted = (url, fields, enctype, name) => new Promise((resolve) => {
    const frame = Object.assign(document.createElement('iframe'), { name, onload: resolve })
    const form = Object.assign(document.createElement('form'), { method: 'post', action: url, target: name, enctype })
    for (const [field, value] of Object.entries(fields)) form.append(Object.assign(document.createElement('input'), { type: 'hidden', name: field, value }))
    document.body.append(frame, form)
    form.submit()
    setTimeout(resolve, 2000)
  })
  const seen = (url) => new Promise((resolve) => { const image = new Image(); image.onload = image.onerror = resolve; image.src = url })
  await Promise.all([
    ...Object.entries(posts).flatMap(([path, fields], index) => [
      ...['no-cors', 'cors'].flatMap((mode) => ['include', 'omit'].flatMap((credentials) => [
        post(origin + path, { mode, credentials, body: new URLSearchParams(fields) }),
        post(origin + path, { mode, credentials, body: JSON.stringify(fields) }),
        post(origin + path, { mode, credentials })
      ])),
      post(origin + path, { mode: 'cors', headers: { 'content-type': 'application/json' }, body: JSON.stringify(fields) }),
      post(origin + path, { mode: 'cors', headers: { authorization: 'Bearer x' } }),
      quiet(fetch(origin + path, { method: 'DELETE', mode: 'cors', credentials: 'include' })),
      navigator.sendBeacon(origin + path, new URLSearchParams(fields)),
      posted(origin + path, fields, 'application/x-www-form-urlencoded', 'a' + index),
      posted(origin + path, fields, 'text/plain', 'b' + index)
    ]),
    ...Object.entries(forms).flatMap(([path, fields], index) => [post(origin + path, { mode: 'no-cors', credentials: 'include', body: new URLSearchParams(fields) }), posted(origin + path, fields, 'application/x-www-form-urlencoded', 'c' + index)]),
    ...gets.flatMap((path) => [1, 2, 3].flatMap((time) => [seen(origin + path + (path.includes('?') ? '&' : '?') + 'n=' + time), quiet(fetch(origin + path, { mode: 'no-cors', credentials: 'include' }))]))
  ])
}`

// `http/origin-guard` covers other origins of the same site, so this journey runs at night.
for (const [what, host] of [
  ['another site', '127.0.0.1'],
  ...(AT_NIGHT ? ([['another origin of the same site', 'localhost']] as const) : [])
] as const) {
  // covers RL-29 A3
  t.test(`keeps sessions, cookies and attempts of a visitor after forged requests of ${what}`, async (t) => {
    const provider = await startProvider(t, {
      rateLimit: LIMITS,
      factors: memoryFactorStore(),
      mfa: { rememberDevice: {} },
      emailSignIn: {}
    })
    const { app, ann, events, messages, origin } = provider
    const evil = await startSite(t, 'Evil', host)
    const arrived = new Map<string, number>()
    const page = await newPage(t, { locale: 'en', allow: [/./] })
    await provider.addUser('app')
    const own = testBrowser(app, origin)
    await logIn(own, 'app')
    await enrol(provider, own)
    await messages.next('factor_added')
    provider.clock.step(60 * 60_000)
    await page.goto(`${origin}/auth/login`)
    await signInOn(page)
    const tokens = await app.authority.issueTokens(ann.id)
    // The same browser has entered the right password of another account, but no code yet.
    const step = testBrowser(app, origin)
    await logIn(step, 'app')
    await carryOver(step, page, origin)
    const told = messages.messages.length
    const state = async (): Promise<unknown> => [
      await app.authority.sessions(ann.id),
      await app.authority.factors(ann.id),
      await page.context().cookies(origin)
    ]
    const before = await state()
    const seen = events.length
    page.context().on('request', (request) => {
      if (request.url().startsWith(origin)) arrived.set(request.method(), (arrived.get(request.method()) ?? 0) + 1)
    })

    await page.goto(`${evil.origin}/evil`)
    await page.evaluate(
      `(${SCRIPT})(${JSON.stringify(origin)}, ${JSON.stringify(POSTS)}, ` +
        `${JSON.stringify(FORMS)}, ${JSON.stringify(GETS)})`
    )
    for (const path of GETS) {
      await page.goto(`${evil.origin}/evil`)
      await Promise.all([
        page.waitForURL((url) => url.origin === origin),
        page.evaluate(`location.assign(${JSON.stringify(origin + path)})`)
      ])
    }
    for (const path of [
      '/auth/token',
      '/auth/login',
      '/auth/reset-password',
      '/auth/session',
      '/auth/second-factor',
      '/auth/security',
      '/auth/reauthenticate',
      '/auth/email-code'
    ]) {
      const fields = POSTS[path] ?? FORMS[path] ?? {}
      await page.goto(`${evil.origin}/evil`)
      const inputs = Object.entries(fields)
        .map(([name, value]) => `<input name="${name}" value="${value}">`)
        .join('')
      await page.setContent(`<form method="post" action="${origin}${path}">${inputs}<button>Go</button></form>`)
      await Promise.all([page.waitForURL((url) => url.origin === origin), page.getByRole('button').click()])
    }

    t.ok(
      (arrived.get('POST') ?? 0) > 200 && (arrived.get('GET') ?? 0) > 60,
      `it was sent: ${JSON.stringify([...arrived])}`
    )
    t.same(await state(), before, 'the same sessions and cookies')
    // The message about her own sign-in may arrive at any time. A foreign sign-in would also emit `authenticated`.
    t.same(
      events
        .slice(seen)
        .map(({ name }) => name)
        .filter((name) => name !== 'new_sign_in'),
      [],
      'nothing happened'
    )
    t.same(
      messages.messages.slice(told).filter(({ kind }) => kind !== 'new_sign_in'),
      []
    )

    const status = async (url: string, payload: object, headers: Record<string, string> = {}): Promise<number> =>
      (await app.inject({ method: 'POST', url, payload, headers })).statusCode
    t.equal(await status('/auth/refresh', {}, { authorization: `Bearer ${tokens.refresh_token}` }), 200)
    const wrongToken = { token: WRONG }
    t.same(
      [
        await status('/auth/email/verify', wrongToken),
        await status('/auth/email/verify', wrongToken),
        await status('/auth/email/verify', wrongToken)
      ],
      [400, 400, 429],
      'refresh'
    )
    const reset = { username: 'nobody' }
    t.same(
      [
        await status('/auth/password-reset', reset),
        await status('/auth/password-reset', reset),
        await status('/auth/password-reset', reset)
      ],
      [202, 202, 429],
      'passwordReset'
    )
    const register = async (username: string): Promise<number> =>
      await status('/auth/register', { username, password: PASSWORD })
    t.same(
      [await register('mallory'), await register('mike'), await register('mo')],
      [201, 201, 429],
      'register, and the name is free'
    )
    const guess = async (): Promise<number> => (await step.submit('/auth/second-factor', { code: '000000' })).statusCode
    t.same([await guess(), await guess(), await guess()], [400, 400, 429], 'secondFactor')
    const ask = async (): Promise<number> =>
      (await testBrowser(app, origin).submit('/auth/email-code', { username: 'nobody@example.com' })).statusCode
    t.same([await ask(), await ask(), await ask()], [303, 303, 429], 'emailCode')
    await signIn(app)
    t.equal(
      await status('/auth/token', { grant_type: 'password', username: 'ann', password: PASSWORD }),
      429,
      'login: the two sign-ins at the start, and this one'
    )
  })
}
