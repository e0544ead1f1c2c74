/**
 * Passkeys and two-step sign-in: the ways to turn it on, the users who take it, and the response of `POST /auth/factors/two-step`.
 */
import t, { type Test } from '../../support/tap.ts'
import type { AuthorityOptions } from '../../../lib/index.ts'
import { authAs, softPasskey } from '../../../lib/testing/index.ts'
import { bearer, ISSUER, PASSWORD, signIn } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import {
  factorApp,
  type FactorApp,
  formOf,
  logIn,
  lose,
  putApp,
  saveCodes,
  codesIn,
  codesPage
} from '../../support/factors.ts'
import { addWith, grant, passkeyApp, type PasskeyApp, post, signInOptions } from '../../support/passkeys.ts'
import { answerOn } from '../../support/passkey-pages.ts'

const URL = '/auth/factors/two-step'

interface Has {
  app?: true
  passkey?: true
  required?: true
  chosen?: true
}

/**
 * The factors of the account; then `two_step.because`, whether the password alone signs in, and the status of turning
 * it on and off by a fresh sign-in of full strength. 200+: with recovery codes.
 */
const TABLE: Array<
  [has: Has, because: string | null, password: 'enough' | 'asked' | 'enrol', on: string, off: string]
> = [
  [{}, null, 'enough', '409', '200'],
  [{ required: true }, 'required', 'enrol', '409', '409'],
  [{ passkey: true }, null, 'enough', '200+', '200'],
  [{ passkey: true, required: true }, 'required', 'asked', '200', '409'],
  [{ passkey: true, chosen: true }, 'chosen', 'asked', '200', '200'],
  [{ passkey: true, chosen: true, required: true }, 'required', 'asked', '200', '409'],
  [{ app: true }, 'app', 'asked', '200', '409'],
  [{ app: true, required: true }, 'app', 'asked', '200', '409'],
  [{ app: true, passkey: true }, 'app', 'asked', '200', '409'],
  [{ app: true, passkey: true, chosen: true }, 'app', 'asked', '200', '409']
]

const named = (has: Has): string => Object.keys(has).join(' and ') || 'nothing'

async function account(t: Test, has: Has, options: Partial<AuthorityOptions> = {}): Promise<FactorApp> {
  const state = { required: false }
  const subject = await factorApp(t, { mfa: { required: () => state.required }, ...options }, { enrolled: false })
  if (has.passkey) await addWith(subject, softPasskey({ origin: ISSUER }), await strong(subject))
  if (has.chosen) await subject.store.setTwoStep({ userId: subject.sub, on: true })
  if (has.app) await putApp(subject)
  state.required = has.required === true
  return subject
}

/** An access token of a fresh sign-in with both factors. */
const strong = async ({ app, sub }: FactorApp): Promise<string> =>
  (await authAs(app, { id: sub }, { acr: 'phr' })).authorization.replace('Bearer ', '')

for (const [has, because, password, on, off] of TABLE)
  t.test(`allows or rejects turning two-step sign-in on and off for an account with ${named(has)}`, async (t) => {
    const subject = await account(t, has)
    const { app } = subject
    const token = await strong(subject)
    t.same((await app.inject({ url: '/auth/factors', headers: bearer(token) })).json<object>(), {
      ...(await app.inject({ url: '/auth/factors', headers: bearer(token) })).json<object>(),
      two_step: { on: because !== null, because }
    })
    const reply = await post(subject, '/auth/token', { grant_type: 'password', username: 'ann', password: PASSWORD })
    const told = { enough: undefined, asked: 'mfa_required', enrol: 'mfa_enrollment_required' }[password]
    t.equal(reply.json<{ error?: string }>().error, told)
    t.match(
      (await logIn(testBrowser(app))).headers.location,
      {
        enough: /^(?!.*second-factor)/,
        asked: /\/second-factor$/,
        enrol: /\/second-factor\/set-up$/
      }[password]
    )
    for (const [turn, wanted] of [
      [true, on],
      [false, off]
    ] as const) {
      const fresh = await account(t, has)
      const caller = await strong(fresh)
      const answer = await post(fresh, URL, { on: turn }, caller)
      const body = answer.json<{ on?: boolean; recovery_codes?: string[]; error?: string }>()
      t.equal(`${answer.statusCode}${body.recovery_codes === undefined ? '' : '+'}`, wanted, `on: ${turn}`)
      if (answer.statusCode === 200)
        t.match(body, { on: turn, recovery_codes: wanted === '200+' ? { length: 10 } : undefined })
      else t.equal(body.error, 'last_factor')
    }
  })

t.test('changes nothing when two-step sign-in is turned on for a user who already needs two steps', async (t) => {
  for (const has of [{ app: true }, { chosen: true }, { required: true }] as const) {
    const subject = await account(t, { passkey: true, ...has })
    const token = await strong(subject)
    const before = await subject.store.findFactors(subject.sub)
    const told = subject.events.length
    t.same((await post(subject, URL, { on: true }, token)).json(), { on: true })
    t.same(await subject.store.findFactors(subject.sub), before, named(has))
    t.equal(subject.events.length, told)
  }
})

t.test('rejects a change of two-step sign-in after a stale or a weak sign-in', async (t) => {
  const subject = await passkeyApp(t, {}, {}, undefined, { twoStep: false })
  const { access_token: weak } = await signIn(subject.app)
  const old = await strong(subject)
  const refused = { statusCode: 401, headers: { 'www-authenticate': /insufficient_user_authentication/ } }
  t.match(await post(subject, URL, { on: true }, weak), refused)
  subject.clock.step(301_000)
  t.match(await post(subject, URL, { on: true }, old), refused)
  t.equal((await post(subject, URL, { on: true })).statusCode, 401)
  for (const payload of [{}, { on: 'true' }, { on: 1 }, { on: true, x: 1 }])
    t.equal((await post(subject, URL, payload, await strong(subject))).statusCode, 400, JSON.stringify(payload))
  t.match(await subject.store.findFactors(subject.sub), { twoStepChosen: false })
})

const aliveWith = async ({ app }: FactorApp, token: string): Promise<boolean> =>
  (await app.inject({ url: '/auth/factors', headers: bearer(token) })).statusCode === 200

t.test('turning two-step sign-in on ends other sessions, creates recovery codes and sends a message', async (t) => {
  const subject = await passkeyApp(t, {}, {}, undefined, { twoStep: false })
  const { sub, messages } = subject
  await messages.next('factor_added')
  const token = await strong(subject)
  const { recovery_codes: codes = [] } = (await post(subject, URL, { on: true }, token)).json<{
    recovery_codes?: string[]
  }>()
  t.same([await aliveWith(subject, token), await aliveWith(subject, subject.token)], [true, false])
  t.match(await messages.next('factor_added'), { factor: 'two_step', user: { id: sub } })
  const browser = testBrowser(subject.app)
  await logIn(browser)
  t.equal((await browser.submit('/auth/second-factor', { recovery_code: codes[0] ?? '' })).statusCode, 303)
  t.same((await post(subject, URL, { on: false }, token)).json(), { on: false })
  t.match(await messages.next('factor_removed'), { factor: 'two_step', by: 'user' })
  t.equal((await subject.app.authority.factors(sub)).recoveryCodesLeft, 0)
  t.equal((await post(subject, '/auth/factors/recovery-codes', undefined, token)).statusCode, 409)
  t.match(
    subject.events.filter(({ name }) => name === 'two_step_changed').map(({ payload }) => payload.on),
    [true, false]
  )
})

t.test('gives recovery codes to one of two parallel requests that turn on two-step sign-in', async (t) => {
  const subject = await passkeyApp(t, {}, {}, undefined, { twoStep: false })
  const tokens = [await strong(subject), await strong(subject)]
  const replies = await Promise.all(tokens.map(async (token) => await post(subject, URL, { on: true }, token)))
  const winners = tokens.filter((_, index) => replies[index]?.body.includes('recovery_codes'))
  t.equal(winners.length, 1)
  t.ok(await aliveWith(subject, winners[0] ?? ''))
  t.match(await subject.store.findFactors(subject.sub), { twoStepChosen: true, recoveryCodesLeft: 10 })
})

t.test(
  "keeps two-step sign-in on, ends other sign-ins and sends a message when the store's answer is lost",
  async (t) => {
    const subject = await passkeyApp(t, {}, {}, undefined, { twoStep: false })
    await subject.messages.next('factor_added')
    const token = await strong(subject)
    lose(subject.store, 'setTwoStep')
    t.equal((await post(subject, URL, { on: true }, token)).statusCode, 503)
    t.match(await subject.messages.next('factor_added'), { factor: 'two_step' })
    t.same([await aliveWith(subject, token), await aliveWith(subject, subject.token)], [true, false])
    t.same((await post(subject, URL, { on: true }, token)).json(), { on: true })
    lose(subject.store, 'setTwoStep')
    t.equal((await post(subject, URL, { on: false }, token)).statusCode, 503)
    t.match(await subject.messages.next('factor_removed'), { factor: 'two_step' })
  }
)

t.test('removes a new passkey and emits no event when the store answer to its addition is lost', async (t) => {
  const subject = await factorApp(t, {}, { enrolled: false })
  const { app, store, sub } = subject
  const { access_token: token } = await signIn(app)
  lose(store, 'addPasskey')
  await t.rejects(addWith(subject, softPasskey({ origin: ISSUER }), token), {
    message: /^add: 503/
  } as unknown as Error)
  await app.close()
  t.match(await store.findFactors(sub), { passkeys: { length: 0 }, recoveryCodesLeft: 0 })
  t.notOk(subject.events.some(({ name }) => name === 'factor_added'))
})

t.test('removes a factor that the store writes after a timeout, at a later check', async (t) => {
  const subject = await factorApp(t, {}, { enrolled: false })
  const { app, store, sub, clock } = subject
  const { access_token: token } = await signIn(app)
  const act = store.addPasskey.bind(store)
  let late = async (): Promise<unknown> => null
  store.addPasskey = async (addition) => {
    late = async () => await act(addition)
    throw Object.assign(new Error('no answer in time'), { code: 'ETIMEDOUT' })
  }
  await t.rejects(addWith(subject, softPasskey({ origin: ISSUER }), token), {
    message: /^add: 503/
  } as unknown as Error)
  await late()
  t.match(await store.findFactors(sub), { passkeys: { length: 1 } })
  clock.step(11_000)
  await app.close()
  t.match(await store.findFactors(sub), { passkeys: { length: 0 } })
})

t.test('turns two-step sign-in on and off on the security page', async (t) => {
  const subject: PasskeyApp = await passkeyApp(t, {}, {}, undefined, { twoStep: false })
  const { app, passkey } = subject
  const browser = testBrowser(app)
  t.equal((await answerOn(browser, '/auth/login', passkey)).statusCode, 303)
  const off = (await browser.get('/auth/security')).body
  t.match(off, 'value="two_step_on"')
  t.notMatch(off, /two_step_off|value="codes"/)
  const { action } = formOf(off, off.indexOf('two_step_on') - 600)
  const turned = await browser.submit(action, { decision: 'two_step_on' })
  const shown = await codesPage(browser, turned)
  t.equal(codesIn(shown).length, 10)
  const on = (await saveCodes(browser, shown)).body
  t.match(on, 'value="two_step_off"')
  t.match(on, 'value="codes"')
  t.match(await browser.submit(action, { decision: 'two_step_off' }), {
    statusCode: 303,
    headers: { location: '/auth/security?done=two_step_off' }
  })
  t.match((await browser.get('/auth/security')).body, 'value="two_step_on"')
  t.equal((await grant(subject, passkey.get(await signInOptions(subject)))).statusCode, 200)
})
