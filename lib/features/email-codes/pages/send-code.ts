import { type EmailSignInDeps, type PendingCode, readRecipient, sendSignInCode } from '../ask.ts'
import { getsCodes } from '../../../accounts/ways-in.ts'
import type { PageDeps, PagePart, Submission, Visit } from '../../../http/pages/deps.ts'
import { goOn } from '../../../http/pages/form-page.ts'
import type { Waits } from '../../../http/pages/waiting.ts'

interface Sending {
  deps: PageDeps
  accounts: EmailSignInDeps
  /** The id of the one user whom the code may sign in. */
  only: string | undefined
}

/** The code that this browser has asked for. */
export const pendingIn = ({ name, device = null, id, until }: Waits): PendingCode => ({
  name,
  device,
  nonce: id,
  expiresAt: until
})

/** Answers all names alike, by a redirect, so that reloading the page sends no second message. */
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

/** How the sign-in page and the page of proving again lead to the page of the code. */
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
