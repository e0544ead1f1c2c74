import { getsCodes } from '../../accounts/ways-in.ts'
import type { Kernel, Parts } from '../../feature.ts'
import type { EmailSignInSettings } from './ask.ts'
import { emailCodePage } from './pages/email-code.ts'
import { emailLinkPage } from './pages/email-link.ts'
import { RENDERERS } from './pages/renderers.ts'
import { pagePart } from './pages/send-code.ts'

export function create(on: EmailSignInSettings, kernel: Kernel): Parts {
  const { codes } = kernel.accounts
  // Never happens: every state of this package counts wrong codes, and `resolve` rejects any other state that does not.
  if (codes === null) return {}
  const accounts = {
    ...kernel.accounts,
    codes,
    emailSignIn: { ...on, sealer: kernel.sealerFor('email links') }
  }
  return {
    account: { ways: async (user) => (user.emailVerified === true && getsCodes(user, accounts) ? ['mail'] : []) },
    pages: {
      renderers: RENDERERS,
      routes(child, deps) {
        emailCodePage(child, deps, accounts)
        emailLinkPage(child, deps, accounts)
      },
      part: (deps) => pagePart(deps, accounts)
    }
  }
}
