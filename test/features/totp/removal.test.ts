/** The responses and effects of a removal, users who must keep their last factor, and background work. */
import { cookieName } from '../../support/cookies.ts'
import t from '../../support/tap.ts'
import { type AuthorityOptions, memoryState, memoryUserStore } from '../../../lib/index.ts'
import { totpCode } from '../../../lib/testing/index.ts'
import { bearer } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { enrol, factorApp, type FactorApp, formOf, logIn, makesCodes } from '../../support/factors.ts'
import { grant, passkeyApp, post, signInOptions } from '../../support/passkeys.ts'

const remove = async ({ app }: Pick<FactorApp, 'app'>, token: string, id: string) =>
  await app.inject({ method: 'DELETE', url: `/auth/factors/${id}`, headers: bearer(token) })
const ofToken = async ({ app }: Pick<FactorApp, 'app'>, token: string): Promise<number> =>
  (await app.inject({ url: '/auth/factors', headers: bearer(token) })).statusCode

t.test('keeps the current session when one of two factors is removed, and ends it with the last', async (t) => {
  const subject = await passkeyApp(t)
  const { access_token: token } = (await grant(subject, subject.passkey.get(await signInOptions(subject)))).json<{
    access_token: string
  }>()
  const { enrolment, secret } = (await post(subject, '/auth/factors/totp', undefined, token)).json<{
    enrolment: string
    secret: string
  }>()
  const { id } = (
    await post(subject, '/auth/factors/totp/confirm', { enrolment, code: totpCode(secret, subject.clock.now()) }, token)
  ).json<{ id: string }>()
  t.equal((await remove(subject, token, id)).statusCode, 204)
  t.equal(await ofToken(subject, token), 200)
  t.equal((await remove(subject, token, subject.factorId)).statusCode, 204)
  t.equal(await ofToken(subject, token), 401, 'what its tokens say of the factor can not be taken back')
  t.match(
    subject.events.filter(({ name }) => name === 'factor_removed').map(({ payload }) => payload),
    [
      { factorId: id, kind: 'totp', by: 'user' },
      { factorId: subject.factorId, kind: 'passkey', by: 'user' }
    ]
  )
})

// covers SS-07
t.test('keeps the last factor of a user who must have one, says why, and lets the host remove it', async (t) => {
  let required = false
  const subject = await factorApp(t, { mfa: { required: () => required } })
  const { app, sub, browser } = subject
  const {
    factors: [factor]
  } = await app.authority.factors(sub)
  required = true
  const reply = await app.inject({
    method: 'DELETE',
    url: `/auth/factors/${factor?.id ?? ''}`,
    headers: {
      'sec-fetch-site': 'same-origin',
      cookie: `${cookieName('session')}=${browser.cookies.get(cookieName('session')) ?? ''}`
    }
  })
  t.equal(reply.statusCode, 409)
  t.match(reply.json(), { error: 'last_factor', error_description: /must have a second factor/ })
  t.ok(await app.authority.removeFactor(sub, factor?.id ?? ''))
  t.match(await app.authority.factors(sub), { factors: [] })
})

t.test('adds and removes factors without sendMessage, also for an address that cannot be confirmed', async (t) => {
  const unconfirmed = { username: 'bob', email: 'bob@mail.example', emailVerified: false }
  const { setEmailVerified, ...withoutConfirming } = memoryUserStore()
  t.type(setEmailVerified, 'function')
  const cases: Array<Partial<AuthorityOptions>> = [
    { sendMessage: undefined, users: memoryUserStore() },
    { users: withoutConfirming }
  ]
  for (const options of cases) {
    const subject = await factorApp(t, options)
    const { app, sub } = subject
    const passwordHash = (await options.users?.findByUsername('ann'))?.passwordHash ?? ''
    const { id } = (await options.users?.create?.({ ...unconfirmed, passwordHash })) ?? { id: '' }
    const bob = testBrowser(app)
    await logIn(bob, 'bob')
    t.ok(makesCodes((await enrol(subject, bob)).reply))
    const {
      factors: [factor]
    } = await app.authority.factors(id)
    t.ok(await app.authority.removeFactor(id, factor?.id ?? ''))
    t.equal(await app.authority.resetFactors(sub), 1)
  }
})

t.test('says in the message about a new factor whether email can reset the password', async (t) => {
  const { setPasswordHash, ...fixed } = memoryUserStore()
  t.type(setPasswordHash, 'function')
  for (const [users, canReset] of [
    [memoryUserStore(), true],
    [fixed, false]
  ] as const) {
    const { messages } = await factorApp(t, { users })
    t.match(await messages.next('factor_added'), { hasPassword: true, canReset })
  }
})

t.test('ends sessions after the reply if the store fails during a change of factors', async (t) => {
  for (const change of ['an addition', 'a removal'] as const) {
    const state = memoryState()
    let failsIn = 0
    const tokens = {
      ...state.tokens,
      async revokeFamiliesOfUser(...given: Parameters<typeof state.tokens.revokeFamiliesOfUser>) {
        if (--failsIn === 0) throw Object.assign(new Error('the server is gone'), { code: 'ECONNREFUSED' })
        return await state.tokens.revokeFamiliesOfUser(...given)
      }
    }
    const subject = await factorApp(t, { state: { ...state, tokens } }, { enrolled: change === 'a removal' })
    const { app, clock, sub, store } = subject
    const other = async (): Promise<void> => {
      await app.authority.issueTokens(sub, { amr: ['pwd'] })
    }
    if (change === 'a removal') {
      await other()
      const { action, fields } = formOf((await subject.browser.get('/auth/security')).body)
      failsIn = 1
      t.match(await subject.browser.submit(action, { ...fields, decision: 'remove' }), {
        statusCode: 303,
        headers: { location: /done=factor_removed/ }
      })
    } else {
      const owner = testBrowser(app)
      await logIn(owner)
      const add = store.addTotp.bind(store)
      // A password sign-in begins in between, and the second end of all others fails.
      store.addTotp = async (given) => {
        await other()
        failsIn = 1
        return await add(given)
      }
      t.equal((await enrol(subject, owner)).codes.length, 10, 'the reply has the recovery codes')
    }
    t.ok(failsIn <= 0, 'it has failed')
    // Resolves after background work.
    await app.close()
    t.same(await state.tokens.listFamiliesOfUser(sub, clock.now()), [], change)
  }
})

t.test('does not query the store for ids that it could not hold', async (t) => {
  const subject = await factorApp(t)
  const { app, sub, broken, browser } = subject
  const headers = {
    'sec-fetch-site': 'same-origin',
    cookie: `${cookieName('session')}=${browser.cookies.get(cookieName('session')) ?? ''}`
  }
  for (const method of ['removeFactor', 'renameFactor'] as const) broken.add(method)
  for (const id of ['%00', 'a%00b', '%F0%9F%94%91', 'a%20b', '.']) {
    t.equal((await app.inject({ method: 'DELETE', url: `/auth/factors/${id}`, headers })).statusCode, 404, id)
    t.equal(
      (await app.inject({ method: 'PATCH', url: `/auth/factors/${id}`, headers, payload: { name: 'x' } })).statusCode,
      404,
      id
    )
  }
  t.equal(await app.authority.removeFactor(sub, '\0'), false)
})

t.test('rejects a code of an app that is removed or disabled meanwhile', async (t) => {
  for (const outcome of ['unknown', 'disabled'] as const) {
    const subject = await factorApp(t)
    subject.store.useTotp = async () => outcome
    const browser = testBrowser(subject.app)
    await logIn(browser)
    t.equal((await browser.submit('/auth/second-factor', { code: subject.code() })).statusCode, 400, outcome)
    t.match(
      subject.events
        .filter(({ name }) => name === 'second_factor_failed' || name === 'factor_replayed')
        .map(({ name, payload }) => [name, payload.reason]),
      [['second_factor_failed', 'disabled']],
      outcome
    )
  }
})
