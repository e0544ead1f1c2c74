import { normalizeUsername } from '../../../accounts/username.ts'
import { OAuthError } from '../../../errors.ts'
import { AUDIT_ACTS, EVENT_NAMES } from '../../../events.ts'
import { withQuery } from '../../../http/pages/form-page.ts'
import { queryParam } from '../../../http/pages/page-routes.ts'
import { submit } from '../../../pages/fields.ts'
import { attributes, type Html, html, select } from '../../../pages/html.ts'
import type { AuditPage, AuditEntry } from '../../../ports/audit-log.ts'
import { isStorable } from '../../../protocol/bounds.ts'
import { readAudit } from '../endpoints/audit.ts'
import { type AdminPage, type AdminPageDeps, type AdminVisit, table, at, shown, visible } from './frame.ts'

const ROWS = 50
const DAY_MS = 86_400_000
const CONDITIONS = ['person', 'actor', 'action', 'since', 'until'] as const
type Conditions = Record<(typeof CONDITIONS)[number], string>

const ACTIONS = [...EVENT_NAMES, ...AUDIT_ACTS].toSorted()

/** The page of the audit log. Records each view as `audit_read`, except a search with an invalid condition. */
export function logPage(deps: AdminPageDeps): AdminPage {
  const { accounts, pages } = deps
  const home = `${pages.link('admin')}/log`

  /**
   * Returns the id for a typed username or id, and `undefined` for an empty text. Looks up usernames only for
   * administrators who may read users. @throws OAuthError `invalid_request` for a text that no store can contain
   */
  async function idOf(text: string, { scopes }: AdminVisit): Promise<string | undefined> {
    if (text === '') return undefined
    if (!isStorable(text)) throw refused('This is no person.')
    const name = scopes.includes('authority:users:read') ? normalizeUsername(text) : null
    const named = name === null ? null : await accounts.users.findByUsername(name)
    return named?.id ?? text
  }

  async function found(conditions: Conditions, after: string, visit: AdminVisit): Promise<AuditPage> {
    const { person, actor, action, since, until } = conditions
    const query = {
      limit: ROWS,
      after: after === '' ? undefined : after,
      user: await idOf(person, visit),
      actor: await idOf(actor, visit),
      action: action === '' ? undefined : action,
      since: dayIn(since),
      until: until === '' ? undefined : (dayIn(until) ?? 0) + DAY_MS
    }
    if (!isStorable(action) || !isStorable(after)) throw refused('There is no such action.')
    return await readAudit(query, visit, accounts)
  }

  return {
    path: '/log',
    scope: 'authority:audit:read',
    summary: 'Page of the audit log',
    what:
      'The entries, the newest first, by person, actor, action and day. It looks names up when it is opened, and its ' +
      'opening is an entry too.',
    async show(visit) {
      const { request } = visit
      const conditions = Object.fromEntries(CONDITIONS.map((name) => [name, queryParam(request, name)])) as Conditions
      const after = queryParam(request, 'after')
      const given = Object.fromEntries(Object.entries(conditions).filter(([, value]) => value !== ''))
      const view = { heading: 'Audit log', back: null }
      try {
        const { entries, next } = await found(conditions, after, visit)
        return {
          ...view,
          content: html`${filters(conditions, home)}${
            entries.length === 0
              ? html`<p class="status">No entry found. <a href="${home}">Show all entries</a></p>
`
              : await entriesTable(entries, visit, deps)
          }<p class="pager">${after !== '' && html`<a href="${withQuery(home, given)}">First page</a>`}${
            next !== null && html` <a href="${withQuery(home, { ...given, after: next })}" rel="next">Next page</a>`
          }</p>
`
        }
      } catch (error) {
        if (!(error instanceof OAuthError)) throw error
        return { ...view, error: withoutField(error), content: filters(conditions, home) }
      }
    }
  }
}

function filters({ person, actor, action, since, until }: Conditions, home: string): Html {
  const input = (id: string, label: string, type: 'text' | 'date', value: string): Html =>
    html`<div class="field"><label for="${id}">${label}</label><input${attributes({
      id,
      name: id,
      type,
      value,
      maxlength: type === 'text' ? '255' : null,
      autocomplete: 'off'
    })}></div>
`
  const choices = ACTIONS.map((value) => ({ value, label: value.replaceAll('_', ' ') }))
  return html`<form method="get" action="${home}">
${input('person', 'Person (username or id)', 'text', person)}${input('actor', 'Actor (username or id)', 'text', actor)}
<div class="field"><label for="action">Action</label>${select(attributes({ id: 'action', name: 'action' }), choices, {
    value: action,
    required: false
  })}</div>
${input('since', 'From', 'date', since)}${input('until', 'Until', 'date', until)}${submit('Filter', { look: 'quiet' })}
</form>
`
}

function dayIn(text: string): number | undefined {
  if (text === '') return undefined
  const at = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at)) throw refused('This is no day.')
  return at
}

const refused = (text: string): OAuthError => new OAuthError('invalid_request', text, { withoutStack: true })

const withoutField = (error: OAuthError): OAuthError => (error.field === undefined ? error : refused(error.message))

/**
 * Renders audit entries. Looks up the usernames at each view, because the log contains only ids. An administrator
 * without the scope `authority:users:read` sees the ids.
 */
export async function entriesTable(
  entries: readonly AuditEntry[],
  { scopes }: AdminVisit,
  { accounts, pages }: AdminPageDeps
): Promise<Html> {
  const people = new Set(
    entries.flatMap(({ actor, target }) =>
      [actor, target].flatMap((one) => (one?.type === 'user' && one.id !== null ? [one.id] : []))
    )
  )
  const names = new Map<string, string | null>()
  if (scopes.includes('authority:users:read'))
    await Promise.all(
      [...people].map(async (id) => {
        names.set(id, (await accounts.users.findById(id))?.username ?? null)
      })
    )
  function named(one: AuditEntry['actor'] | AuditEntry['target']): Html {
    if (one === null) return html`–`
    if (one.type !== 'user' || one.id === null) return html`${one.type}${one.id !== null && html` ${shown(one.id)}`}`
    const name = names.get(one.id)
    if (name === undefined) return shown(one.id)
    if (name === null) return html`removed account <code>${visible(one.id)}</code>`
    return html`<a href="${pages.link('admin')}/people/${encodeURIComponent(one.id)}">${shown(name)}</a>`
  }
  return table(
    'Audit entries, the newest first',
    ['Time', 'Actor', 'Action', 'Outcome', 'Person or thing', 'Reason'],
    entries.map(({ at: time, actor, action, outcome, target, details }) => [
      at(time),
      named(actor),
      action.replaceAll('_', ' '),
      html`<span class="badge${outcome === 'done' && ' good'}${outcome === 'failed' && ' bad'}">${outcome}</span>`,
      named(target),
      typeof details['reason'] === 'string' ? shown(details['reason']) : '–'
    ])
  )
}
