import type { ManagedUser, RequestedUsers } from '../../../accounts/managed-users.ts'
import { normalizeUsername } from '../../../accounts/username.ts'
import { withQuery, goOn } from '../../../http/pages/form-page.ts'
import { isFromHere } from '../../../http/pages/account-page.ts'
import { queryParam, type Form, required } from '../../../http/pages/page-routes.ts'
import { submit } from '../../../pages/fields.ts'
import { attributes, type Html, html } from '../../../pages/html.ts'
import {
  table,
  at,
  shown,
  type AdminPage,
  type AdminPageDeps,
  sessionForm,
  type AdminVisit,
  type View
} from './frame.ts'
import { Type } from '@sinclair/typebox'
import { OAuthError } from '../../../errors.ts'
import { missingFields } from '../../../http/pages/profile-fields.ts'
import { profileField } from '../../../pages/host-fields.ts'
import { actBy } from '../endpoints/acting.ts'
import { nameFields, stateOf } from './edit.ts'

const ROWS = 50

/** The kinds of search, with their labels. */
const BY = [
  ['prefix', 'Name begins with'],
  ['name', 'Exact name'],
  ['email', 'Email']
] as const
type By = (typeof BY)[number][0]

const isBy = (text: string): text is By => BY.some(([by]) => by === text)

/** The list of people, with a search by the beginning of a name, an exact name, or an exact address. */
export function peoplePage({ users, pages, accounts }: AdminPageDeps): AdminPage {
  const home = pages.link('admin')

  async function found(by: By, text: string, after: string | undefined): ReturnType<RequestedUsers['list']> {
    if (text === '') return await users().list({ limit: ROWS, after })
    if (by === 'email') return await users().list({ limit: ROWS, after, email: text })
    if (by === 'prefix') return await users().list({ limit: ROWS, after, prefix: text })
    const name = normalizeUsername(text)
    const row = name === null ? null : await accounts.users.findByUsername(name)
    const person = row === null ? null : await users().get(row.id)
    return { users: person === null ? [] : [person], next: null }
  }

  return {
    path: '',
    scope: 'authority:users:read',
    summary: 'Page of all people',
    what:
      'The list of people, with a search. The pages of administration exist with `admin` and hosted pages. They ' +
      'lead a browser without a session to the sign-in page, and a sign-in of more than an hour ago to ' +
      '`/auth/reauthenticate`. A person to whom `admin.allow` does not give the scope of the page gets the same ' +
      'answer as for an unknown path.',
    async show({ request }) {
      const text = queryParam(request, 'q')
      const given = queryParam(request, 'by')
      const by = isBy(given) ? given : 'prefix'
      const after = queryParam(request, 'after')
      const { users: people, next } = await found(by, text, after === '' ? undefined : after)
      const search = text === '' ? {} : { q: text, by }
      const isRemoved = queryParam(request, 'done') === 'deleted' && isFromHere(request)
      return {
        heading: 'People',
        back: null,
        note: isRemoved ? { text: 'The account was deleted.', isDone: true } : null,
        content: html`<form method="get" action="${home}" role="search">
<div class="field"><label for="q">Search</label><input${attributes({
          id: 'q',
          name: 'q',
          type: 'search',
          value: text,
          maxlength: '255',
          autocapitalize: 'none',
          autocomplete: 'off',
          spellcheck: 'false'
        })}></div>
<fieldset class="inline"><legend class="unseen">Search by</legend>${BY.map(
          ([value, label]) =>
            html`<div class="check"><input${attributes({
              type: 'radio',
              id: `by-${value}`,
              name: 'by',
              value,
              checked: by === value
            })}><label for="by-${value}">${label}</label></div>`
        )}</fieldset>
${submit('Search', { look: 'quiet' })}
</form>
${
  people.length === 0
    ? html`<p class="status">No one found. <a href="${home}">Show all people</a></p>
`
    : table(
        'People, the newest first',
        ['Name', 'Email', 'Status', 'Created'],
        people.map(({ user }) => [
          html`<a href="${home}/people/${encodeURIComponent(user.id)}">${shown(user.username)}</a>`,
          emailOf(user),
          statusOf(user),
          user.createdAt === null ? '–' : at(user.createdAt)
        ])
      )
}<p class="pager">${after !== '' && html`<a href="${withQuery(home, search)}">First page</a>`}${
          next !== null && html` <a href="${withQuery(home, { ...search, after: next })}" rel="next">Next page</a>`
        }</p>
`
      }
    }
  }
}

export const emailOf = ({ email, emailVerified }: ManagedUser): Html =>
  email === null
    ? html`–`
    : html`${shown(email)} <span class="badge ${emailVerified ? 'good' : 'bad'}">${
        emailVerified ? 'Confirmed' : 'Not confirmed'
      }</span>`

/**
 * Shows the status: disabled, no password, or active. There is no status "invited", because no store tells whether an
 * invitation is open. A user without a password is active if the email address is confirmed or missing, because other
 * ways to sign in may exist.
 */
export function statusOf({ disabled, hasPassword, emailVerified, email }: ManagedUser): Html {
  if (disabled) return html`<span class="badge bad">Disabled</span>`
  if (!hasPassword && email !== null && !emailVerified) return html`<span class="badge">No password</span>`
  return html`<span class="badge good">Active</span>`
}

/** The page on which an administrator creates an account and sends an invitation. No page shows the invitation link. */
export function invitePage(deps: AdminPageDeps): AdminPage {
  const { users, pages } = deps
  const fields = missingFields(pages.registration, {})
  const names = ['username', 'email', ...fields.names]

  const view = (visit: AdminVisit, form: Form | null, error: OAuthError | null): View => ({
    heading: 'Invite',
    back: null,
    error,
    note:
      queryParam(visit.request, 'done') === 'invited' && isFromHere(visit.request)
        ? { text: 'We sent the invitation.', isDone: true }
        : null,
    lead: html`<p>The person gets a link to choose a password. It works once, for 7 days.</p>`,
    content: (common) => {
      const state = stateOf(error, names, common)
      return sessionForm(visit, [
        nameFields(state, form ?? {}, 'Email or username'),
        fields.show(form, common.messages).map((one) => profileField(state, common, one)),
        submit('Send invitation')
      ])
    }
  })

  return {
    path: '/invite',
    scope: 'authority:users:write',
    summary: 'Page to invite a person',
    what: 'The form of a new account, whose person gets a link. It exists with `sendMessage`.',
    show: async (visit) => view(visit, null, null),
    form: {
      summary: 'Invite a person by a form',
      what: 'Makes the account and sends the link as `POST /auth/admin/users` with `invite` does.',
      body: Type.Object({
        session: Type.String(),
        ...Object.fromEntries(names.map((name) => [name, Type.Optional(Type.String())]))
      }),
      async submit(form, visit) {
        try {
          const { username } = required(form, ['username'])
          const made = await users().create(
            { username, ...(form.email ? { email: form.email } : {}), fields: fields.read(form), invite: true },
            actBy(visit, visit.origin, deps)
          )
          const home = pages.link('admin')
          const to = visit.scopes.includes('authority:users:read')
            ? `${home}/people/${encodeURIComponent(made.id)}`
            : `${home}/invite`
          return goOn(withQuery(to, { done: 'invited' }))
        } catch (error) {
          if (!(error instanceof OAuthError)) throw error
          return view(visit, form, error)
        }
      }
    }
  }
}
