import type { TObject } from '@sinclair/typebox'
import type { OAuthError } from '../../../errors.ts'
import type { PersonVisit } from '../../../http/pages/account-page.ts'
import type { Leave, PageDeps } from '../../../http/pages/deps.ts'
import type { Form } from '../../../http/pages/page-routes.ts'
import type { Administration } from '../../../oauth/target.ts'
import type { CommonModel } from '../../../pages/common-model.ts'
import type { Html, HtmlValue } from '../../../pages/html.ts'
import type { AdminScope } from '../../../protocol/admin-scopes.ts'
import type { ActingParty } from '../allow.ts'
import type { Acting, AdminDeps } from '../endpoints/acting.ts'

/** The content of a page of administration. */
export interface View {
  heading: string
  /** The heading with markup. */
  headline?: Html
  /** Below the heading. */
  lead?: HtmlValue
  content: HtmlValue | ((common: CommonModel) => HtmlValue)
  /** The page before this one; default: the list of people. */
  back?: { url: string; label: string } | null
  /** The result of the form that led here. */
  note?: { text: string; isDone: boolean } | null
  /** Its status is that of the answer. An error of a field is shown at the field. */
  error?: OAuthError | null
}

export interface AdminPageDeps extends AdminDeps, Administration {
  pages: PageDeps
}

/** The visit of an administrator, whom the host lets in now. */
export interface AdminVisit extends PersonVisit, Pick<Acting, 'by'>, ActingParty {
  scopes: readonly AdminScope[]
  /** The address of the page, without a query. */
  url: string
  /** The name of a form that is shown now. A repeated press of its button does nothing more. */
  formId: string
}

export type Answer = View | Leave

export interface AdminPage {
  /** Below `/auth/admin`. */
  path: '' | `/${string}`
  scope: AdminScope
  summary: string
  what: string
  /** Its error is shown on a page with the way back. */
  show(visit: AdminVisit): Promise<Answer>
  form?: {
    summary: string
    what: string
    body: TObject
    /** Does the work of a form that was shown in this session. */
    submit(form: Form, visit: AdminVisit): Promise<Answer>
  }
}
