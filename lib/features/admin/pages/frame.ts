import { Type, type TObject } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import type { AccountsDeps } from '../../../accounts/deps.ts'
import { slotOf } from '../../../accounts/slots.ts'
import { isReason, REASON } from '../../../accounts/acted-on.ts'
import { OAuthError } from '../../../errors.ts'
import type { PageDeps, Leave } from '../../../http/pages/deps.ts'
import type { Form } from '../../../http/pages/page-routes.ts'
import type { CommonModel } from '../../../pages/common-model.ts'
import { hidden } from '../../../pages/fields.ts'
import { attributes, type Html, html, type HtmlValue, safeUrl } from '../../../pages/html.ts'
import { layout, nameWithAvatar } from '../../../pages/layout.ts'
import { UNSEEN } from '../../../protocol/bounds.ts'
import type { AdminScope } from '../../../protocol/scope.ts'
import { Reason, type Acting, type AdminDeps } from '../endpoints/acting.ts'
import type { PersonVisit } from '../../../http/pages/account-page.ts'
import type { Administration } from '../../../oauth/target.ts'
import type { ActingParty } from '../allow.ts'

/** Maximum number of characters of a user's text that a page shows. */
const MOST_SHOWN = 200

/**
 * Makes a user's text safe to show: cuts it after 200 characters, and replaces each character that is invisible or
 * changes the writing direction with a code such as `[U+202E]`.
 */
export function visible(text: string): string {
  const start = text.slice(0, 2 * MOST_SHOWN + 2)
  const characters = [...start]
  const shown = characters
    .slice(0, MOST_SHOWN)
    .map((one) => (UNSEEN.test(one) ? `[U+${codeOf(one)}]` : one))
    .join('')
  return characters.length > MOST_SHOWN ? `${shown}…` : shown
}

const codeOf = (character: string): string =>
  (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')

/** Shows a user's text as `visible` does, and isolates its writing direction from the text around. */
export const shown = (text: string): Html => html`<bdi>${visible(text)}</bdi>`

/** Shows a time in UTC, so that support staff in several time zones read the same time. */
export function at(time: Date | number): Html {
  const iso = new Date(time).toISOString()
  return html`<time datetime="${iso}" data-utc>${iso.slice(0, 16).replace('T', ' ')} UTC</time>`
}

/** The pages of the navigation, and the scope that each needs. */
const WAYS: ReadonlyArray<[path: string, label: string, scope: AdminScope]> = [
  ['', 'People', 'authority:users:read'],
  ['/invite', 'Invite', 'authority:users:write'],
  ['/log', 'Audit log', 'authority:audit:read']
]

/** True if the service can create an account and send its owner an invitation. */
export const mayInvite = (accounts: AccountsDeps): boolean =>
  accounts.users.create !== undefined && slotOf(accounts, 'invitations') !== null

/** Sends a page of administration in the layout of the hosted pages. The page's own texts are in English. */
export async function adminDocument(view: View, visit: AdminVisit, deps: PageDeps): Promise<FastifyReply> {
  const { request, reply } = visit
  return await deps.pages.document(request, reply, (common) => documentOf(view, visit, common, deps), {
    statusCode: view.error?.statusCode ?? 200
  })
}

function documentOf(view: View, visit: AdminVisit, common: CommonModel, { link, authorize }: PageDeps): string {
  const { person, scopes, url: here } = visit
  const home = link('admin')
  const { username } = person.user
  const { back = { url: home, label: 'People' }, note = null, error = null, content } = view
  const name = visible(username)
  const ways = WAYS.filter(
    ([path, , scope]) => scopes.includes(scope) && (path !== '/invite' || mayInvite(authorize.accounts))
  )
  const hasBack = back !== null && (back.url !== home || scopes.includes('authority:users:read'))
  return layout(common, {
    heading: view.heading,
    ...(view.headline === undefined ? {} : { headline: view.headline }),
    lead: view.lead,
    error: error === null ? null : { error: error.error, text: error.message, field: null },
    isDone: note?.isDone ?? false,
    before: hasBack && html`<a class="back" href="${safeUrl(back.url)}">${back.label}</a>`,
    wide: {
      bar: html`<p class="who"><a class="chip" href="${safeUrl(link('account'))}" title="${name}">${nameWithAvatar(
        name
      )}<span class="badge">Admin</span></a></p>`,
      column: html`<nav class="column tabs" aria-label="Administration"><ul>
${ways.map(
  ([path, label]) => html`<li><a${attributes({
    href: `${home}${path}`,
    'aria-current': here === `${home}${path}` ? 'page' : path === '' && here.includes('/people/') ? 'true' : null
  })}>${label}</a></li>
`
)}</ul></nav>
`,
      end: html``
    },
    content: html`${
      note !== null &&
      html`<p class="note${!note.isDone && ' plain'}" role="status" tabindex="-1" autofocus>${note.text}</p>
`
    }${
      error !== null &&
      error.field === undefined &&
      html`<p class="alert" role="alert" id="form-error">${error.message}</p>
`
    }${typeof content === 'function' ? content(common) : content}`
  })
}

/** A form that posts to the page's own URL. It contains the id of the session to which the page was shown. */
export const sessionForm = ({ url, person, formId }: AdminVisit, content: HtmlValue): Html =>
  html`<form method="post" action="${url}">
${hidden('session', person.session.sid)}${hidden('form', formId)}${content}</form>
`

/** The schemas of the fields that each form for an action on a person has. */
export const ACT_FIELDS = { session: Type.String(), version: Type.Optional(Type.String()), reason: Reason } as const

/** The field of the reason, which the audit log keeps. */
export function reasonField(value: string, problem: string | null): Html {
  const given = attributes({
    id: 'reason',
    name: 'reason',
    rows: '3',
    required: true,
    minlength: REASON.least,
    maxlength: REASON.most,
    'aria-invalid': problem === null ? null : 'true',
    'aria-describedby': problem === null ? 'reason-hint' : 'reason-hint reason-error'
  })
  return html`<div class="field"><label for="reason">Reason</label><textarea${given}>
${value}</textarea>${
    problem !== null && html`<p class="wrong" role="alert" id="reason-error">${problem}</p>`
  }<p class="hint" id="reason-hint">${REASON.least} to ${REASON.most} characters. The audit log keeps it.</p></div>
`
}

/** Reads the reason from a form. @throws OAuthError `invalid_request` for a reason that is too short or too long */
export function reasonIn({ reason: given = '' }: Form): string {
  const reason = given.replaceAll('\r\n', '\n')
  if (isReason(reason)) return reason
  throw new OAuthError('invalid_request', `Give a reason of ${REASON.least} to ${REASON.most} characters.`, {
    field: 'reason',
    withoutStack: true
  })
}

/** Returns the message of an error that belongs to this field, else `null`. */
export const problemAt = (field: string, error: OAuthError | null): string | null =>
  error?.field === field ? error.message : null

/** A table. The stylesheet shows its rows as cards on a phone, labeled by `data-label`. */
export function table(caption: string, columns: readonly string[], rows: ReadonlyArray<readonly HtmlValue[]>): Html {
  return html`<table role="table"><caption class="unseen">${caption}</caption>
<thead role="rowgroup"><tr role="row">${columns.map(
    (column) => html`<th scope="col" role="columnheader">${column}</th>`
  )}</tr></thead>
<tbody role="rowgroup">
${rows.map(
  (cells) => html`<tr role="row">${cells.map(
    (cell, index) => html`<td role="cell" data-label="${columns[index] ?? ''}">${cell}</td>`
  )}</tr>
`
)}</tbody></table>
`
}

/** The content of a page of administration. */
export interface View {
  heading: string
  /** The heading with markup, if it differs from the plain `heading`. */
  headline?: Html
  /** The text below the heading. */
  lead?: HtmlValue
  content: HtmlValue | ((common: CommonModel) => HtmlValue)
  /** The link back. `null`: no link. @default the list of people */
  back?: { url: string; label: string } | null
  /** The result of the form that redirected to this page, or the reason why a form changed nothing. */
  note?: { text: string; isDone: boolean } | null
  /** The error to show. Sets the status code of the page. The form shows an error with a `field` at that field. */
  error?: OAuthError | null
}

export interface AdminPageDeps extends AdminDeps, Administration {
  pages: PageDeps
}

/** A request of a signed-in administrator. `admin.allow` has just granted the scopes. */
export interface AdminVisit extends PersonVisit, Pick<Acting, 'by'>, ActingParty {
  scopes: readonly AdminScope[]
  /** The address of the page, without a query. */
  url: string
  /**
   * A new id for a form on the page. A form that is sent again with the same id and fields has no second effect in the
   * same process.
   */
  formId: string
}

export type Answer = View | Leave

export interface AdminPage {
  /** The path below `/auth/admin`. */
  path: '' | `/${string}`
  scope: AdminScope
  summary: string
  what: string
  /** Returns the content of the page. If it throws an `OAuthError`, the person sees an error page with a link back. */
  show(visit: AdminVisit): Promise<Answer>
  form?: {
    summary: string
    what: string
    body: TObject
    /** Handles a form that was shown in the same session. */
    submit(form: Form, visit: AdminVisit): Promise<Answer>
  }
}
