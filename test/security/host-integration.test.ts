import { cookieName } from '../support/cookies.ts'
import t from '../support/tap.ts'
import { type AuthorityOptions, memoryState, memoryUserStore, type UserStore } from '../../lib/index.ts'
import type { State } from '../../lib/ports/state.ts'
import { type LightMyRequestResponse, PASSWORD, signUp, testApp } from '../support/app.ts'
import { testBrowser } from '../support/browser.ts'
import {
  answerOf,
  authorizeAs,
  authorizePath,
  CLIENTS,
  KEYS,
  openidApp,
  type OpenidApp,
  redeem
} from '../support/openid.ts'

const CANARY = 'CANARY of an inner error'

/** A store whose method fails if `broken` contains its path. */
function fragile<Store extends object>(store: Store, broken: Set<string>, path = ''): Store {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      const own = `${path}${String(name)}`
      if (typeof member === 'object' && member !== null) return fragile(member, broken, `${own}.`)
      if (typeof member !== 'function') return member
      return async (...args: unknown[]): Promise<unknown> => {
        if (broken.has(own)) throw new Error(CANARY)
        return (await Reflect.apply(member, target, args)) as unknown
      }
    }
  })
}

async function fragileApp(
  options: Partial<AuthorityOptions> = {}
): Promise<{ subject: OpenidApp; broken: Set<string>; state: State }> {
  const broken = new Set<string>()
  const [state, users] = [memoryState(), memoryUserStore()]
  const subject = await openidApp({
    state: fragile(state, broken),
    users: fragile(users, broken, 'users.'),
    ...options
  })
  return { subject, broken, state }
}

// covers ASVS-16.5.2 ASVS-16.5.3
t.test('answers 503 or temporarily_unavailable without details or a session when a store method fails', async (t) => {
  const steps: Record<
    string,
    { methods: string[]; run: (subject: OpenidApp, code: string) => Promise<LightMyRequestResponse> }
  > = {
    authorize: {
      methods: ['browserSessions.findSession', 'tokens.createCode', 'users.findById'],
      run: async ({ browser }) => await browser.get(authorizePath({ scope: 'openid offline_access' }))
    },
    'sign in': {
      methods: [
        'users.findByUsername',
        'users.findById',
        'browserSessions.findSession',
        'browserSessions.createSession'
      ],
      run: async ({ app }) =>
        await testBrowser(app).submit(
          '/auth/login',
          { username: 'ann', password: PASSWORD },
          { cookie: `${cookieName('session')}=${'A'.repeat(38)}.${'A'.repeat(43)}` }
        )
    },
    'sign in again': {
      methods: [
        'users.findByUsername',
        'users.findById',
        'browserSessions.findSession',
        'browserSessions.renewSession'
      ],
      run: async ({ browser }) => await browser.submit('/auth/login', { username: 'ann', password: PASSWORD })
    },
    'sign up': {
      methods: ['users.create'],
      run: async ({ app }) => await testBrowser(app).submit('/auth/signup', { username: 'carl', password: PASSWORD })
    },
    redeem: {
      methods: ['tokens.redeemCode', 'users.findById'],
      run: async ({ app }, code) => await redeem(app, code)
    },
    'sign out': {
      methods: ['browserSessions.findSession', 'tokens.revokeSession'],
      run: async ({ browser }) => await browser.submit('/auth/logout', { decision: 'sign_out' })
    }
  }
  for (const [step, { methods, run }] of Object.entries(steps)) {
    for (const method of methods) {
      const { subject, broken, state } = await fragileApp()
      const { code = '' } = await authorizeAs(subject.browser, authorizePath({ scope: 'openid offline_access' }))
      const before = (await state.browserSessions.listSessionsOfUser(subject.ann.sub, subject.clock.now())).length
      const label = `${step}: ${method}`
      broken.add(method)
      const reply = await run(subject, code)
      const location = reply.headers.location ?? null
      if (location !== null) t.match(answerOf(location), { error: 'temporarily_unavailable', code: undefined }, label)
      else t.equal(reply.statusCode, 503, label)
      t.notMatch(reply.body + JSON.stringify(reply.headers), CANARY, label)
      t.strictSame(
        reply.cookies.filter(({ name, value }) => name === cookieName('session') && value !== ''),
        [],
        `${label}: no cookie`
      )
      broken.clear()
      t.strictSame(
        await state.tokens.listFamiliesOfUser(subject.ann.sub, subject.clock.now()),
        [],
        `${label}: no family`
      )
      t.ok(
        (await state.browserSessions.listSessionsOfUser(subject.ann.sub, subject.clock.now())).length <= before,
        `${label}: no session`
      )
      await subject.close()
    }
  }
})

// covers ASVS-16.5.3
t.test('answers 503 when claims throws, and continues when render or sendMessage throws', async (t) => {
  const fail = { claims: false, render: false, send: false }
  const state = memoryState()
  const subject = await openidApp({
    state,
    claims: async () => {
      if (fail.claims) throw new Error(CANARY)
      return {}
    },
    pages: {
      render: () => {
        if (fail.render) throw new Error(CANARY)
        return undefined
      }
    },
    sendMessage: async () => {
      if (fail.send) throw new Error(CANARY)
    }
  })
  t.teardown(subject.close)
  const { app, browser, ann } = subject
  const { code = '' } = await authorizeAs(browser, authorizePath({ scope: 'openid offline_access' }))
  fail.claims = true
  const refused = await redeem(app, code)
  t.equal(refused.statusCode, 503)
  t.notMatch(refused.body, CANARY)
  t.strictSame(await state.tokens.listFamiliesOfUser(ann.sub, subject.clock.now()), [], 'no family without its tokens')
  fail.claims = false
  fail.render = true
  const page = await browser.get('/auth/login')
  t.equal(page.statusCode, 200)
  t.match(page.body, '<form')
  t.notMatch(page.body, CANARY)
  fail.send = true
  t.equal((await browser.submit('/auth/forgot-password', { username: 'ann' })).statusCode, 303)
})

t.test('answers 503 from readSession when a store fails, and reports no session of a disabled user', async (t) => {
  const broken = new Set<string>()
  const host = await hostApp(broken)
  t.teardown(host.subject.close)
  const { cookie, who } = host
  t.match((await who(cookie)).json(), { sub: host.subject.ann.sub })
  for (const method of ['browserSessions.findSession', 'users.findById']) {
    broken.add(method)
    const reply = await who(cookie)
    t.equal(reply.statusCode, 503, method)
    t.notMatch(reply.body, CANARY)
    t.notMatch(reply.body, host.subject.ann.sub)
    broken.clear()
  }
  broken.add('browserSessions.useSession')
  t.equal((await who(cookie)).statusCode, 200, 'a use counts once a minute')
  host.subject.clock.step(60_000)
  t.equal((await who(cookie)).statusCode, 503)
  broken.clear()
  host.gone.add(host.subject.ann.sub)
  t.equal((await who(cookie)).json(), null, 'ASVS-7.4.2 a disabled user')
  host.gone.clear()
  await host.subject.app.authority.revokeUser(host.subject.ann.sub)
  t.equal((await who(cookie)).json(), null)
  t.equal((await who(`${cookieName('session')}=x`)).json(), null)
})

/** A host with its own page that shows the signed-in user. */
async function hostApp(broken: Set<string>): Promise<{
  subject: OpenidApp
  cookie: string
  gone: Set<string>
  who: (cookie: string) => Promise<LightMyRequestResponse>
}> {
  const gone = new Set<string>()
  const inner = memoryUserStore()
  const users: UserStore = {
    ...inner,
    async findById(id) {
      const user = await inner.findById(id)
      return user === null || !gone.has(id) ? user : { ...user, disabled: true }
    }
  }
  const made = await testApp(
    { keys: KEYS, clients: CLIENTS, state: fragile(memoryState(), broken), users: fragile(users, broken, 'users.') },
    {},
    (app) => {
      app.get(
        '/who',
        {
          onRequest: (request, reply, done) => {
            app.authority.readSession(request, reply, done)
          }
        },
        async (request, reply) => await reply.type('application/json').send(JSON.stringify(request.authSession))
      )
    }
  )
  const ann = await signUp(made.app)
  const subject: OpenidApp = { ...made, ann, browser: testBrowser(made.app) }
  await authorizeAs(subject.browser, authorizePath())
  const cookie = `${cookieName('session')}=${subject.browser.cookies.get(cookieName('session'))}`
  return {
    subject,
    cookie,
    gone,
    who: async (value) => await made.app.inject({ url: '/who', headers: { cookie: value } })
  }
}
