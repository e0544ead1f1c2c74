/** A second factor of any kind, for tests that do not depend on the kind. */
import { softPasskey } from '../../lib/testing/index.ts'
import { ISSUER, type LightMyRequestResponse, type TestApp } from './app.ts'
import type { TestBrowser } from './browser.ts'
import { codeFor, codesIn, enrol, formOf, saveCodes } from './factors.ts'
import { answerOn } from './passkey-pages.ts'

interface SecondFactor {
  /** The recovery codes. */
  codes: string[]
  /** Gives the factor in a browser that is asked for it. */
  give(browser: TestBrowser): Promise<LightMyRequestResponse>
}

/**
 * Sets a second factor up for the user who has just signed in in this browser: an authenticator app, or without the
 * feature a passkey with two-step sign-in.
 */
export async function secondFactorOf(
  { app, clock }: Pick<TestApp, 'app' | 'clock'>,
  browser: TestBrowser
): Promise<SecondFactor> {
  if (app.hasRoute({ method: 'GET', url: '/auth/security/totp' })) {
    const { secret, codes } = await enrol({ clock }, browser)
    return {
      codes,
      give: async (other) => await other.submit('/auth/second-factor', { code: codeFor(secret, clock.now()) })
    }
  }
  const passkey = softPasskey({ origin: ISSUER })
  await answerOn(browser, '/auth/security/passkeys', passkey)
  const page = (await browser.get('/auth/security')).body
  const { action } = formOf(page, page.lastIndexOf('<form', page.indexOf('value="two_step_on"')))
  const { body } = await browser.submit(action, { decision: 'two_step_on' })
  await saveCodes(browser, body)
  return { codes: codesIn(body), give: async (other) => await answerOn(other, '/auth/second-factor', passkey) }
}
