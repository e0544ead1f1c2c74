/** A second factor of any kind, for tests that do not depend on the kind. */
import { authAs, softPasskey, totpCode } from '../../lib/testing/index.ts'
import { ISSUER, type LightMyRequestResponse, type TestApp } from './app.ts'
import type { TestBrowser } from './browser.ts'
import { codeFor, codesIn, codesPage, enrol, formOf, saveCodes } from './factors.ts'
import { answerOn } from './passkey-pages.ts'
import { addWith, post } from './passkeys.ts'

interface SecondFactor {
  /** The recovery codes. */
  codes: string[]
  kind: 'totp' | 'passkey'
  /** Gives the factor in a browser that is asked for it. */
  give(browser: TestBrowser, query?: string, fields?: Record<string, string>): Promise<LightMyRequestResponse>
}

const STEP = '/auth/second-factor'

const withoutApps = ({ app }: Pick<TestApp, 'app'>): boolean =>
  !app.hasRoute({ method: 'GET', url: '/auth/security/totp' })

/**
 * Gives a user with a confirmed address a second factor, without a browser: an imported authenticator app, or without the
 * feature a passkey with two-step sign-in.
 */
export async function giveSecondFactor(
  test: Pick<TestApp, 'app' | 'clock'>,
  sub: string,
  secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'
): Promise<Omit<SecondFactor, 'codes'>> {
  const { app, clock } = test
  if (!withoutApps(test)) {
    await app.authority.importTotp(sub, { secret })
    return {
      kind: 'totp',
      give: async (other, query = '', fields = {}) =>
        await other.submit(`${STEP}${query}`, { code: totpCode(secret, clock.now()), ...fields })
    }
  }
  const passkey = softPasskey({ origin: ISSUER })
  const token = async (): Promise<string> => (await authAs(app, { id: sub }, { acr: 'phr' })).authorization.slice(7)
  await addWith(test, passkey, await token())
  await post(test, '/auth/factors/two-step', { on: true }, await token())
  return {
    kind: 'passkey',
    give: async (other, query = '', fields = {}) => await answerOn(other, `${STEP}${query}`, passkey, fields)
  }
}

/**
 * Sets a second factor up for the user who has just signed in in this browser: an authenticator app, or without the
 * feature a passkey with two-step sign-in.
 */
export async function secondFactorOf(
  test: Pick<TestApp, 'app' | 'clock'>,
  browser: TestBrowser
): Promise<SecondFactor> {
  if (!withoutApps(test)) {
    const { secret, codes } = await enrol(test, browser)
    return {
      kind: 'totp',
      codes,
      give: async (other, query = '', fields = {}) =>
        await other.submit(`${STEP}${query}`, { code: codeFor(secret, test.clock.now()), ...fields })
    }
  }
  const passkey = softPasskey({ origin: ISSUER })
  await answerOn(browser, '/auth/security/passkeys', passkey)
  const page = (await browser.get('/auth/security')).body
  const { action } = formOf(page, page.lastIndexOf('<form', page.indexOf('value="two_step_on"')))
  const body = await codesPage(browser, await browser.submit(action, { decision: 'two_step_on' }))
  await saveCodes(browser, body)
  return {
    kind: 'passkey',
    codes: codesIn(body),
    give: async (other, query = '', fields = {}) => await answerOn(other, `${STEP}${query}`, passkey, fields)
  }
}
