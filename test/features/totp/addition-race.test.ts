/** A user who adds a second factor loses their sign-in just before it is stored, for example by a password reset. */
import { AsyncLocalStorage } from 'node:async_hooks'
import t from '../../support/tap.ts'
import { memoryFactorStore, memoryState, memoryUserStore } from '../../../lib/index.ts'
import type { FactorStore } from '../../../lib/ports/factor-store.ts'
import { softPasskey } from '../../../lib/testing/index.ts'
import { bearer, ISSUER, type LightMyRequestResponse, PASSWORD, signIn, signUp, testApp } from '../../support/app.ts'
import { type TestBrowser, testBrowser } from '../../support/browser.ts'
import { codeFor, formOf, logIn, signedInAnywhere, makesCodes } from '../../support/factors.ts'
import { answer } from '../../support/passkey-pages.ts'

const NEXT = 'correct horse battery staple'

const secretIn = (body: string): string => (/<code dir="ltr">([A-Z2-7 ]+)</.exec(body)?.[1] ?? '').replaceAll(' ', '')

t.test('does not store a factor if the sign-in ends before the store writes it', async (t) => {
  let meanwhile: () => Promise<void> = async () => {}
  const factors = new Proxy(memoryFactorStore(), {
    get(target, name: keyof FactorStore) {
      const act = Reflect.get(target, name) as (...given: unknown[]) => Promise<unknown>
      if (name !== 'addTotp' && name !== 'addPasskey') return act
      return async (...given: unknown[]) => {
        await meanwhile()
        return await act.apply(target, given)
      }
    }
  })
  let isRequired = false
  const { app, clock, events, close } = await testApp({ factors, mfa: { required: () => isRequired } })
  t.teardown(close)

  const totpBy = async (browser: TestBrowser, page: string) => {
    const { body } = await browser.get(page)
    const { action, fields } = formOf(body)
    return async () => await browser.submit(action, { ...fields, code: codeFor(secretIn(body), clock.now()) })
  }
  const passkeyBy = async (browser: TestBrowser, page: string) => {
    const { body } = await browser.get(page)
    return async () => await answer(browser, body, softPasskey({ origin: ISSUER }))
  }
  const signedIn = async (username: string): Promise<TestBrowser> => {
    const browser = testBrowser(app)
    await logIn(browser, username)
    return browser
  }
  const post = async (url: string, token: string, payload: object = {}) =>
    await app.inject({ method: 'POST', url, headers: bearer(token), payload })
  /** Each starts an addition, and resolves to a function that sends the last step. */
  const ways: Record<string, (username: string) => Promise<() => Promise<unknown>>> = {
    'an app, on the security page': async (username) => await totpBy(await signedIn(username), '/auth/security/totp'),
    'an app, by a session that sets it up': async (username) =>
      await totpBy(await signedIn(username), '/auth/second-factor/set-up'),
    'an app, before any session': async (username) => {
      isRequired = true
      return await totpBy(await signedIn(username), '/auth/second-factor/set-up')
    },
    'a passkey, on the security page': async (username) =>
      await passkeyBy(await signedIn(username), '/auth/security/passkeys'),
    'a proposed passkey': async (username) => await passkeyBy(await signedIn(username), '/auth/passkey-prompt'),
    'an app, by an access token': async (username) => {
      const { access_token: token } = await signIn(app, username)
      const { enrolment, secret } = (await post('/auth/factors/totp', token)).json<{
        enrolment: string
        secret: string
      }>()
      return async () =>
        await post('/auth/factors/totp/confirm', token, { enrolment, code: codeFor(secret, clock.now()) })
    },
    'a passkey, by an access token': async (username) => {
      const { access_token: token } = await signIn(app, username)
      const { options } = (await post('/auth/factors/passkeys/options', token)).json<{
        options: Parameters<ReturnType<typeof softPasskey>['create']>[0]
      }>()
      return async () =>
        await post('/auth/factors/passkeys', token, { credential: softPasskey({ origin: ISSUER }).create(options) })
    }
  }
  const ends: Record<string, (userId: string) => Promise<unknown>> = {
    'a new password': async (userId) => {
      await app.authority.changePassword(userId, NEXT)
    },
    'sign out everywhere': async (userId) => {
      await app.authority.revokeUser(userId)
    },
    'a reset of factors': async (userId) => {
      await app.authority.resetFactors(userId)
    },
    'a removal of the account': async (userId) => await app.authority.deleteUser(userId)
  }
  let users = 0
  for (const [way, begin] of Object.entries(ways)) {
    for (const what of [...Object.keys(ends), 'nothing']) {
      const end = ends[what]
      // A ticket belongs to a person who knows the password. Only a new password or the end of the account ends it.
      const isTicket = way.includes('before any session')
      if (isTicket && !['a new password', 'a removal of the account', 'nothing'].includes(what)) continue
      const username = `user${++users}`
      const { sub } = await signUp(app, username, PASSWORD)
      const finish = await begin(username)
      events.length = 0
      meanwhile = async () => {
        meanwhile = async () => {}
        await end?.(sub)
      }
      await finish()
      isRequired = false
      const { factors: stored, recoveryCodesLeft } = await factors
        .findFactors(sub)
        .then(({ totp, passkeys, recoveryCodesLeft }) => ({
          factors: [...totp, ...passkeys].length,
          recoveryCodesLeft
        }))
      t.same(
        { way, what, stored, codes: recoveryCodesLeft > 0, told: events.some(({ name }) => name === 'factor_added') },
        {
          way,
          what,
          stored: end === undefined ? 1 : 0,
          codes: end === undefined && way.startsWith('an app'),
          told: end === undefined
        }
      )
    }
  }
})

t.test('accepts one of two parallel set-ups in one session, and keeps that browser signed in', async (t) => {
  const slow = new AsyncLocalStorage<{ calls: number; heldAt: number; until: Promise<unknown> }>()
  const held = <Store extends object>(store: Store): Store =>
    new Proxy(store, {
      get(target, name) {
        const act = Reflect.get(target, name) as unknown
        if (typeof act !== 'function') return typeof act === 'object' && act !== null ? held(act) : act
        return (...given: unknown[]): unknown => {
          const call = (): unknown => Reflect.apply(act, target, given)
          const one = slow.getStore()
          return one !== undefined && one.calls++ === one.heldAt ? one.until.then(call) : call()
        }
      }
    })
  const { app, clock, close } = await testApp({
    users: held(memoryUserStore()),
    state: held(memoryState()),
    factors: held(memoryFactorStore()),
    mfa: { required: true }
  })
  t.teardown(close)
  const ways: Record<string, (browser: TestBrowser, body: string, name: string) => Promise<LightMyRequestResponse>> = {
    'an app': async (browser, body, name) =>
      await browser.submit(
        '/auth/second-factor/set-up',
        { ...formOf(body).fields, code: codeFor(secretIn(body), clock.now()) },
        { 'user-agent': name }
      ),
    'a passkey': async (browser, body) => await answer(browser, body, softPasskey({ origin: ISSUER }))
  }
  let users = 0
  for (const [way, finish] of Object.entries(ways)) {
    for (let heldAt = 0, isHeld = true; isHeld; heldAt++) {
      const username = `user${++users}`
      await signUp(app, username)
      const [one, other] = [testBrowser(app), testBrowser(app)]
      await logIn(one, username)
      const { body } = await one.get('/auth/second-factor/set-up')
      for (const [name, value] of one.cookies) other.cookies.set(name, value)
      let release = (): void => {}
      const held = {
        calls: 0,
        heldAt,
        until: new Promise<void>((resolve) => {
          release = resolve
        })
      }
      const late = slow.run(held, async () => await finish(other, body, 'other'))
      const reply = await finish(one, body, 'one')
      release()
      const replies: Array<[TestBrowser, LightMyRequestResponse]> = [
        [one, reply],
        [other, await late]
      ]
      const winners = replies.filter(([, found]) => makesCodes(found))
      isHeld = held.calls > heldAt
      t.same(
        {
          way,
          heldAt,
          winners: winners.length,
          signedIn: (await signedInAnywhere(winners[0]?.[0] ?? one)).length > 0
        },
        { way, heldAt, winners: 1, signedIn: true }
      )
    }
  }
})
