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
import type { AdminScope } from '../../../protocol/scope.ts'
import { Reason, type Acting, type AdminDeps } from '../endpoints/acting.ts'
import type { PersonVisit } from '../../../http/pages/account-page.ts'
import type { Administration } from '../../../oauth/target.ts'
import type { ActingParty } from '../allow.ts'

/** Characters of a text that a page shows. */
const MOST_SHOWN = 200
/** Controls, marks of direction and other characters without a shape. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

/**
 * A text of a person as a page shows it: at most 200 characters, and a code such as `[U+202E]` for each character that
 * is not visible or turns the writing direction.
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

/** The same, isolated from the writing direction of its surroundings. */
export const shown = (text: string): Html => html`<bdi>${visible(text)}</bdi>`

export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`

/** A time in UTC. Support staff of several zones read the same. */
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

/** True if an account can be made and its person told. */
export const mayInvite = (accounts: AccountsDeps): boolean =>
  accounts.users.create !== undefined && slotOf(accounts, 'invitations') !== null

/** Sends a page of administration, in English, in the look of the hosted pages. */
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

/** A form of this session, which posts to the page's own address. */
export const sessionForm = ({ url, person, formId }: AdminVisit, content: HtmlValue): Html =>
  html`<form method="post" action="${url}">
${hidden('session', person.session.sid)}${hidden('form', formId)}${content}</form>
`

/** The fields of a form that acts on a person. */
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

/** @throws OAuthError `invalid_request` for a reason that is too short or too long */
export function reasonIn({ reason: given = '' }: Form): string {
  const reason = given.replaceAll('\r\n', '\n')
  if (isReason(reason)) return reason
  throw new OAuthError('invalid_request', `Give a reason of ${REASON.least} to ${REASON.most} characters.`, {
    field: 'reason',
    withoutStack: true
  })
}

/** The text of an error at this field. */
export const problemAt = (field: string, error: OAuthError | null): string | null =>
  error?.field === field ? error.message : null

/** A table, whose rows are cards on a phone. */
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
