import type { AuditEntry } from '../../../ports/audit-log.ts'
import { type Html, html } from '../../../pages/html.ts'
import { table } from './frame.ts'
import { at, shown, visible } from './text.ts'
import type { AdminPageDeps, AdminVisit } from './visit.ts'

/**
 * Entries of the audit log. Names are looked up now, so that those of removed people are nowhere. An administrator who
 * may not read people sees ids.
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
