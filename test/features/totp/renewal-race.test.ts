/** All sign-ins of a person end while one of them changes their second factors. */
import t from '../../support/tap.ts'
import { memoryFactorStore, memoryState } from '../../../lib/index.ts'
import type { SessionStore } from '../../../lib/ports/session-store.ts'
import { softPasskey } from '../../../lib/testing/index.ts'
import { ISSUER, signUp, testApp } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { codeFor, formOf, logIn, signedInAnywhere } from '../../support/factors.ts'
import { answer } from '../../support/passkey-pages.ts'

t.test('does not renew a session that ended during its own change of factors', async (t) => {
  const store = memoryFactorStore()
  const state = memoryState()
  let meanwhile: () => Promise<void> = async () => {}
  const browserSessions = new Proxy(state.browserSessions, {
    get(target, name: keyof SessionStore) {
      const act = Reflect.get(target, name) as (...given: unknown[]) => Promise<unknown>
      if (name !== 'renewSession') return act.bind(target)
      return async (...given: unknown[]) => {
        await meanwhile()
        return await act.apply(target, given)
      }
    }
  })
  const { app, clock, close } = await testApp({ factors: store, state: { ...state, browserSessions } })
  t.teardown(close)
  const { sub } = await signUp(app)
  const totp = async (page: string, query = ''): Promise<Array<string | number>> => {
    const browser = testBrowser(app)
    await logIn(browser)
    const { body } = await browser.get(`${page}${query}`)
    const { action, fields } = formOf(body)
    const secret = (/<code dir="ltr">([A-Z2-7 ]+)</.exec(body)?.[1] ?? '').replaceAll(' ', '')
    meanwhile = async () => {
      await app.authority.revokeUser(sub)
    }
    await browser.submit(action, { ...fields, code: codeFor(secret, clock.now()) })
    return await signedInAnywhere(browser)
  }
  const passkey = async (page: string): Promise<Array<string | number>> => {
    const browser = testBrowser(app)
    await logIn(browser)
    const { body } = await browser.get(page)
    meanwhile = async () => {
      await app.authority.revokeUser(sub)
    }
    await answer(browser, body, softPasskey({ origin: ISSUER }))
    return await signedInAnywhere(browser)
  }
  const removal = async (): Promise<Array<string | number>> => {
    const browser = testBrowser(app)
    await logIn(browser)
    const { body } = await browser.get('/auth/security/passkeys')
    await answer(browser, body, softPasskey({ origin: ISSUER }))
    const { action, fields } = formOf((await browser.get('/auth/security')).body)
    meanwhile = async () => {
      await app.authority.revokeUser(sub)
    }
    const [factor] = (await app.authority.factors(sub)).factors
    await browser.submit(action, { ...fields, factor: factor?.id ?? '', decision: 'remove' })
    t.same((await app.authority.factors(sub)).factors, [], 'it was removed')
    return await signedInAnywhere(browser)
  }
  for (const [what, act] of Object.entries({
    totp: async () => await totp('/auth/security/totp'),
    setUp: async () => await totp('/auth/second-factor/set-up'),
    passkey: async () => await passkey('/auth/security/passkeys'),
    prompt: async () => await passkey('/auth/passkey-prompt'),
    removal
  })) {
    t.same(await act(), [], what)
    meanwhile = async () => {}
    await store.removeFactorsOfUser(sub)
  }
})
