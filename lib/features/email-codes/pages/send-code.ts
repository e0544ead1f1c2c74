import { type EmailSignInDeps, type PendingCode, readRecipient, sendSignInCode } from '../ask.ts'
import { getsCodes } from '../../../accounts/ways-in.ts'
import type { PageDeps, PagePart, Submission, Visit } from '../../../http/pages/deps.ts'
import { goOn } from '../../../http/pages/form-page.ts'
import type { Waits } from '../../../http/pages/waiting.ts'

interface Sending {
  deps: PageDeps
  accounts: EmailSignInDeps
  /** The id of the only user whom the code may sign in. `undefined`: any user with the name. */
  only: string | undefined
}

/** Converts the cookie content of a browser that waits for a code. */
export const pendingIn = ({ name, device = null, id, until }: Waits): PendingCode => ({
  name,
  device,
  nonce: id,
  expiresAt: until
})

/**
 * Sends a code and redirects to the page of the code, whether or not a user has the name. After the redirect, a reload
 * sends no second message.
 */
export async function sendCode(
  typed: string,
  { request, journey, locale, origin }: Visit,
  { deps: { browser, link, waiting }, accounts, only }: Sending
): Promise<Submission<never>> {
  const name = readRecipient(typed)
  const device = await browser.knownAs(request, name)
  return {
    limit: { rule: 'emailCode', recipient: name, device },
    async work() {
      const code = await sendSignInCode({ name, device }, { locale, origin }, accounts)
      return async (reply) => {
        const { nonce: id, expiresAt: until } = code
        waiting.set(reply, journey, { kind: 'code', name, id, until, device, only })
        return await goOn(`${link('emailCode')}${journey.query}`)(reply)
      }
    }
  }
}

/** Adds sign-in by an emailed code to the sign-in page and to the re-authentication page. */
export function pagePart(deps: PageDeps, accounts: EmailSignInDeps): PagePart {
  return {
    login: ({ query }) => ({ emailCodeUrl: `${deps.link('emailCode')}${query}` }),
    again: {
      takes: ({ decision }) => decision === 'email',
      reauthenticate: async ({ user }) =>
        user.passwordHash === null && getsCodes(user, accounts) ? { sendsCode: true } : null,
      submit: async ({ user }, _form, visit) => await sendCode(user.username, visit, { deps, accounts, only: user.id })
    }
  }
}
