import type { FastifyReply, FastifyRequest } from 'fastify'
import { type EmailSignInDeps, type PendingCode, readRecipient, sendSignInCode } from '../ask.ts'
import { journeyOf, type SealedCookies } from '../../../http/edge/sealed-cookies.ts'
import { getsCodes } from '../../../accounts/ways-in.ts'
import type { PageDeps, PagePart, Submission, Visit } from '../../../http/pages/deps.ts'
import { goOn } from '../../../http/pages/form-page.ts'

/**
 * The content of the cookie of a browser that has asked for a code, or has entered it and is to sign up. `only`: the
 * one user whom the code may sign in, who proves their identity again.
 */
type PendingEmail =
  | { step: 'enter'; code: PendingCode; only?: string | undefined }
  | { step: 'proved'; name: string; expiresAt: number }

/** The same with the journey that it belongs to. `query` is `null` where it was too long to be carried. */
export type CarriedEmail = PendingEmail & { journey: string; query: string | null }

/** The cookie between asking for a code and being signed in. A browser has one: another request starts again. */
interface EmailCookie {
  /** `null` without a cookie, or with an expired or foreign one. */
  read(request: FastifyRequest): CarriedEmail | null
  /** The same, if it is of the journey with this query. */
  of(request: FastifyRequest, query: string): CarriedEmail | null
  set(reply: FastifyReply, pending: PendingEmail, query: string): void
  clear(reply: FastifyReply): void
}

export function emailCookie(sealed: SealedCookies, { clock }: Pick<EmailSignInDeps, 'clock'>): EmailCookie {
  const endOf = (pending: PendingEmail): number =>
    pending.step === 'enter' ? pending.code.expiresAt : pending.expiresAt
  const read = (request: FastifyRequest): CarriedEmail | null => {
    const found = sealed.read(request, 'email')
    if (found === null) return null
    const { content, journey, query } = found
    const carried = { ...(content as PendingEmail), journey, query }
    return clock.now() < endOf(carried) ? carried : null
  }
  return {
    read,
    of(request, query) {
      const carried = read(request)
      return carried?.journey === journeyOf(query) ? carried : null
    },
    set(reply, content, query) {
      sealed.set(reply, 'email', {
        query,
        mayLoseQuery: true,
        content,
        seconds: Math.ceil((endOf(content) - clock.now()) / 1000)
      })
    },
    clear(reply) {
      sealed.clear(reply, 'email')
    }
  }
}

interface Sending {
  deps: PageDeps
  accounts: EmailSignInDeps
  /** The id of the one user whom the code may sign in. */
  only: string | undefined
}

/** The same answer for all names. It is a redirect, so that reloading the page sends no second message. */
export async function sendCode(
  typed: string,
  { request, journey, locale, origin }: Visit,
  { deps: { browser, link, sealed }, accounts, only }: Sending
): Promise<Submission<never>> {
  const name = readRecipient(typed)
  const device = await browser.knownAs(request, name)
  return {
    limit: { rule: 'emailCode', recipient: name, device },
    async work() {
      const code = await sendSignInCode({ name, device }, { locale, origin }, accounts)
      return async (reply) => {
        emailCookie(sealed, accounts).set(reply, { step: 'enter', code, only }, journey.query)
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
