import { accountEmail } from './account-email.ts'
import { consent, errorPage, formPost, logout, signedOut, undo, verifyEmail } from './decision-pages.ts'
import {
  account,
  accountAccess,
  accountPassword,
  accountProfile,
  accountRemove,
  accountRemoved,
  accountSessions
} from './account-pages.ts'
import type { FeatureModels } from '../features/options.ts'
import type { PageModels, PageName } from './model.ts'
import { checkEmail, forgotPassword, login, reauthenticate, resetPassword, signup } from './sign-in-pages.ts'

/** The built-in HTML of each page: a whole document without inline script, style or event handler. Pure. */
export type Renderers = { readonly [Name in PageName]: (model: PageModels[Name]) => string }

/** The renderers of all pages that do not belong to a feature. */
export const RENDERERS: Omit<Renderers, keyof FeatureModels> = {
  login,
  reauthenticate,
  signup,
  forgot_password: forgotPassword,
  check_email: checkEmail,
  reset_password: resetPassword,
  verify_email: verifyEmail,
  undo,
  consent,
  account,
  account_profile: accountProfile,
  account_email: accountEmail,
  account_password: accountPassword,
  account_sessions: accountSessions,
  account_access: accountAccess,
  account_remove: accountRemove,
  account_removed: accountRemoved,
  logout,
  signed_out: signedOut,
  error: errorPage,
  form_post: formPost
}
