/** What a removal says and ends, for whom the last factor stays, and what goes on behind a reply that had to go out. */
import t from 'tap'
import { type AuthorityOptions, memoryState, memoryUserStore } from '../../../lib/index.ts'
import { totpCode } from '../../../lib/testing/index.ts'
import { bearer } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { codeFor, enrol, factorApp, type FactorApp, formOf, logIn } from '../../support/factors.ts'
import { grant, passkeyApp, post, signInOptions } from '../../support/passkeys.ts'

const remove = async ({ app }: Pick<FactorApp, 'app'>, token: string, id: string) => await app.inject({ method: 'DELETE', url: `/auth/factors/${id}`, headers: bearer(token) })
const ofToken = async ({ app }: Pick<FactorApp, 'app'>, token: string): Promise<number> => (await app.inject({ url: '/auth/factors', headers: bearer(token) })).statusCode
const isGone = (what: string) => async () => { throw Object.assign(new Error(what), { code: 'ECONNREFUSED' }) }

t.test('the sign-in that asks goes on while there is another factor, and ends with the last; each removal says of what kind it was', async (t) => {
  const subject = await passkeyApp(t)
  const { access_token: token } = (await grant(subject, subject.passkey.get(await signInOptions(subject)))).json<{ access_token: string }>()
  const { enrolment, secret } = (await post(subject, '/auth/factors/totp', undefined, token)).json<{ enrolment: string, secret: string }>()
  const { id } = (await post(subject, '/auth/factors/totp/confirm', { enrolment, code: totpCode(secret, subject.clock.now()) }, token)).json<{ id: string }>()
  t.equal((await remove(subject, token, id)).statusCode, 204)
  t.equal(await ofToken(subject, token), 200)
  t.equal((await remove(subject, token, subject.factorId)).statusCode, 204)
  t.equal(await ofToken(subject, token), 401, 'what its tokens say of the factor can not be taken back')
  t.match(subject.events.filter(({ name }) => name === 'factor_removed').map(({ payload }) => payload), [{ factorId: id, kind: 'totp', by: 'user' }, { factorId: subject.factorId, kind: 'passkey', by: 'user' }])
})

// covers SS-07
t.test('the last one of somebody who must have one stays, and says why; the host may take it away', async (t) => {
  let required = false
  const subject = await factorApp(t, { mfa: { required: () => required } })
  const { app, sub, browser } = subject
  const { factors: [factor] } = await app.authority.factors(sub)
  required = true
  const reply = await app.inject({ method: 'DELETE', url: `/auth/factors/${factor?.id ?? ''}`, headers: { 'sec-fetch-site': 'same-origin', cookie: `authority_session=${browser.cookies.get('authority_session') ?? ''}` } })
  t.equal(reply.statusCode, 409)
  t.match(reply.json(), { error: 'last_factor', error_description: /must have a second factor/ })
  t.ok(await app.authority.removeFactor(sub, factor?.id ?? ''))
  t.match(await app.authority.factors(sub), { factors: [] })
})

t.test('without messages factors are added and removed all the same, for an address that nobody can confirm too', async (t) => {
  const unconfirmed = { username: 'bob', email: 'bob@mail.example', emailVerified: false }
  const { setEmailVerified, ...withoutConfirming } = memoryUserStore()
  t.type(setEmailVerified, 'function')
  const cases: Array<Partial<AuthorityOptions>> = [{ sendMessage: undefined, users: memoryUserStore() }, { users: withoutConfirming }]
  for (const options of cases) {
    const subject = await factorApp(t, options)
    const { app, sub } = subject
    const passwordHash = (await options.users?.findByUsername('ann'))?.passwordHash ?? ''
    const { id } = await options.users?.create?.({ ...unconfirmed, passwordHash }) ?? { id: '' }
    const bob = testBrowser(app)
    await logIn(bob, 'bob')
    t.equal((await enrol(subject, bob)).reply.statusCode, 200)
    const { factors: [factor] } = await app.authority.factors(id)
    t.ok(await app.authority.removeFactor(id, factor?.id ?? ''))
    t.equal(await app.authority.resetFactors(sub), 1)
  }
})

t.test('sign-ins that can not be ended at once are ended behind the reply', async (t) => {
  const state = memoryState()
  let failsAt = 0
  let calls = 0
  const tokens = new Proxy(state.tokens, {
    get (target, name, receiver) {
      return name === 'revokeFamiliesOfUser' && ++calls === failsAt ? isGone('the server is gone') : Reflect.get(target, name, receiver) as unknown
    }
  })
  const subject = await factorApp(t, { state: { ...state, tokens } }, { enrolled: false })
  const { app, clock, sub, events } = subject
  const family = async (): Promise<string> => {
    const reply = await app.inject({ method: 'POST', url: '/auth/token', payload: { grant_type: 'password', username: 'ann', password: 'correct horse battery' } })
    return reply.json<{ refresh_token: string }>().refresh_token
  }
  const left = async (): Promise<number> => (await state.tokens.listFamiliesOfUser(sub, clock.now())).length
  const owner = testBrowser(app)
  await logIn(owner)
  const { body } = await owner.get('/auth/security/totp')
  const secret = (/<code dir="ltr">([A-Z2-7 ]+)<\/code>/.exec(body)?.[1] ?? '').replaceAll(' ', '')
  const { action, fields } = formOf(body)
  // Of the two times that all others are ended the second one fails, and a sign-in by the password has begun in between.
  const add = subject.store.addTotp.bind(subject.store)
  let late = ''
  subject.store.addTotp = async (given) => {
    late = await family()
    return await add(given)
  }
  calls = 0
  failsAt = 2
  const added = await owner.submit(action, { ...fields, code: codeFor(secret, clock.now()) })
  t.equal(added.statusCode, 200, 'the reply has the recovery codes')
  t.equal([...added.body.matchAll(/<li><code>/g)].length, 10)
  t.not(late, '')

  calls = 0
  failsAt = 1
  const page = formOf((await owner.get('/auth/security')).body)
  await app.authority.issueTokens(sub, { amr: ['pwd'] })
  t.match(await owner.submit(page.action, { ...page.fields, decision: 'remove' }), { statusCode: 303, headers: { location: /done=factor_removed/ } })
  t.ok(events.some(({ name }) => name === 'factor_removed'))
  // Ends when what runs behind replies has.
  await app.close()
  t.equal(await left(), 0)
})
