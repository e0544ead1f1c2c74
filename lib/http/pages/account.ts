import type { FastifyInstance } from 'fastify'
import { forgotPasswordPage } from './forgot-password.ts'
import type { PageDeps } from './deps.ts'
import { resetPasswordPage } from './reset-password.ts'
import { signupPage } from './signup.ts'
import { undoPage } from './undo.ts'
import { verifyEmailPage } from './verify-email.ts'

/**
 * The hosted pages of a person's own account. Each exists under the same condition as the JSON endpoint with its use
 * case.
 */
export function accountPages(child: FastifyInstance, deps: PageDeps): void {
  const { users, outbox } = deps.authorize.accounts
  if (deps.offers.signup && deps.registration !== null) signupPage(child, deps, deps.registration)
  if (deps.offers.reset) {
    forgotPasswordPage(child, deps)
    resetPasswordPage(child, deps)
    undoPage(child, deps)
  }
  if ((users.setEmailVerified ?? users.update) !== undefined && outbox !== null) verifyEmailPage(child, deps)
}
