import type { ManagedUser, RequestedUsers } from '../../../accounts/managed-users.ts'
import { normalizeUsername } from '../../../accounts/username.ts'
import { isFromHere } from '../../../http/pages/account-page.ts'
import { withQuery } from '../../../http/pages/form-page.ts'
import { queryParam } from '../../../http/pages/page-routes.ts'
import { submit } from '../../../pages/fields.ts'
import { attributes, type Html, html } from '../../../pages/html.ts'
import { type AdminPage, type AdminPageDeps, at, shown, table } from './frame.ts'

const ROWS = 50

/** The search modes, with their labels. */
const SEARCH_MODES = [
  ['prefix', 'Name begins with'],
  ['name', 'Exact name'],
  ['email', 'Email']
] as const
type By = (typeof SEARCH_MODES)[number][0]

const isBy = (text: string): text is By => SEARCH_MODES.some(([by]) => by === text)

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
<fieldset class="inline"><legend class="unseen">Search by</legend>${SEARCH_MODES.map(
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
          emailCell(user),
          statusCell(user),
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

export const emailCell = ({ email, emailVerified }: ManagedUser): Html =>
  email === null
    ? html`–`
    : html`${shown(email)} <span class="badge ${emailVerified ? 'good' : 'bad'}">${
        emailVerified ? 'Confirmed' : 'Not confirmed'
      }</span>`

/**
 * Shows the status: disabled, no password, or active. There is no status "invited", because no store can list open
 * invitations. A user without a password is active if the email address is confirmed or missing, because other ways to
 * sign in may exist.
 */
export function statusCell({ disabled, hasPassword, emailVerified, email }: ManagedUser): Html {
  if (disabled) return html`<span class="badge bad">Disabled</span>`
  if (!hasPassword && email !== null && !emailVerified) return html`<span class="badge">No password</span>`
  return html`<span class="badge good">Active</span>`
}
