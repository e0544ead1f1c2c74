import type { ManagedUser } from '../../../accounts/managed-users.ts'
import { isFromHere, MOST_ROWS } from '../../../http/pages/account-page.ts'
import { queryParam } from '../../../http/pages/page-routes.ts'
import { deviceName } from '../../../pages/device-name.ts'
import { type Html, html, type HtmlValue } from '../../../pages/html.ts'
import type { Session } from '../../../sessions/browser-sessions.ts'
import { readAudit } from '../endpoints/audit.ts'
import { userItemKinds } from '../endpoints/user-items.ts'
import { type Act, actsOf, noteName, type Item, itemsOf, type Person, personOf, sessionsOf } from './acts.ts'
import { entriesTable } from './log.ts'
import { emailCell, statusCell } from './people.ts'
import { at, shown, visible, type AdminPage, type AdminPageDeps, type AdminVisit, type View } from './frame.ts'

const MOST_ENTRIES = 20
/**
 * Fields that `profileOf` leaves out of its list of further fields, because the page shows them elsewhere or not at
 * all.
 */
const SAID: readonly string[] = [
  'id',
  'username',
  'email',
  'emailVerified',
  'disabled',
  'hasPassword',
  'createdAt',
  'version'
]

/** The page of one person: profile, ways to sign in, sessions, API keys, audit entries, and links to the actions. */
export function personPage(deps: AdminPageDeps): AdminPage {
  const { accounts, fields, pages } = deps
  const acts = actsOf(deps)
  const kinds = userItemKinds(deps)

  function noteIn({ request }: AdminVisit, user: ManagedUser): NonNullable<View['note']> | null {
    const done = queryParam(request, 'done')
    const act = acts.find((one) => noteName(one) === done)
    if (!isFromHere(request)) return null
    if (done === 'edit') return { text: 'The changes were saved.', isDone: true }
    if (done === 'invited')
      return { text: `We sent an invitation to ${visible(user.email ?? user.username)}.`, isDone: true }
    if (act === undefined) return null
    return queryParam(request, 'was') === 'already'
      ? { text: act.already ?? act.done, isDone: false }
      : { text: act.done, isDone: true }
  }

  return {
    path: '/people/:id',
    scope: 'authority:users:read',
    summary: 'Page of a person',
    what:
      'The profile, the ways to sign in, the devices, the API keys and the last audit entries of a person, with a ' +
      'link for each act that the scopes allow.',
    async show(visit) {
      const person = await personOf(visit, deps)
      const { user, url, isProtected, refusal } = person
      const may = (scope: (typeof visit.scopes)[number]): boolean => refusal === null && visit.scopes.includes(scope)
      const writes = may('authority:users:write')
      const [sessions, ...things] = await Promise.all([
        sessionsOf(person, deps),
        ...kinds.map(async (kind) => ({ kind, items: await itemsOf(person, kind) }))
      ])
      const offered = acts.filter((act) => may(act.scope) && act.isOffered(person))
      return {
        heading: visible(user.username),
        headline: shown(user.username),
        lead: html`<p>${statusCell(user)}${isProtected && html` <span class="badge">Protected</span>`}</p>`,
        note: noteIn(visit, user),
        content: html`${section(
          'Profile',
          profileOf(person),
          writes &&
            accounts.users.update !== undefined &&
            html`<a class="button quiet small" href="${url}/edit">Edit</a>`
        )}${section(
          'Ways to sign in',
          html`<p>${user.hasPassword ? 'A password is set.' : 'No password is set.'}</p>
${things.map(
  ({ kind, items }) =>
    kind.name !== 'api_keys' &&
    items !== null &&
    items.length > 0 &&
    list(items, (item) => writes && `${url}/${kind.path}/${encodeURIComponent(item.id)}`, 'Remove')
)}`
        )}${section(
          'Devices',
          sessions.length === 0
            ? html`<p>No device is signed in.</p>`
            : list(
                sessions.map(deviceItem),
                (item) => may('authority:sessions:write') && `${url}/sessions/${encodeURIComponent(item.id)}`,
                'End'
              ),
          may('authority:sessions:write') &&
            sessions.length > 0 &&
            html`<a class="button quiet small" href="${url}/sessions">End all</a>`
        )}${things.map(
          ({ kind, items }) =>
            kind.name === 'api_keys' &&
            items !== null &&
            section(
              'API keys',
              items.length === 0
                ? html`<p>There is none.</p>`
                : list(items, (item) => writes && `${url}/${kind.path}/${encodeURIComponent(item.id)}`, 'Revoke')
            )
        )}${visit.scopes.includes('authority:audit:read') && (await log(person, visit))}${
          refusal === null
            ? actLinks(offered, url)
            : html`<p class="hint">${refusal.message}</p>
`
        }`
      }
    }
  }

  async function log(person: Person, visit: AdminVisit): Promise<Html> {
    const query = { limit: MOST_ENTRIES, user: person.user.id }
    const found = await readAudit(query, visit, accounts).catch((error: unknown) => {
      accounts.onError(error, 'the audit log can not be read')
      return null
    })
    const all = html`<a href="${pages.link('admin')}/log?person=${encodeURIComponent(person.user.id)}">All entries</a>`
    return section(
      'Audit log',
      found === null
        ? html`<p>The audit log can not be read now.</p>`
        : html`${await entriesTable(found.entries, visit, deps)}<p>${all}</p>`
    )
  }

  function profileOf({ user, row }: Person): Html {
    const { username, id, createdAt } = user
    const own = Object.entries(user).filter(([name]) => !SAID.includes(name))
    const more = fields.filter((name) => row[name] !== undefined).map((name): [string, unknown] => [name, row[name]])
    const rows: Array<[string, HtmlValue]> = [
      ['Username', shown(username)],
      ['Email', emailCell(user)],
      ['Created', createdAt === null ? '–' : at(createdAt)],
      ['Id', html`<code>${visible(id)}</code>`],
      ...[...own, ...more].map(([name, value]): [string, HtmlValue] => [
        name,
        value instanceof Date ? at(value) : shown(typeof value === 'string' ? value : JSON.stringify(value))
      ])
    ]
    return html`<dl class="facts">${rows.map(
      ([name, value]) => html`<div><dt>${visible(name)}</dt><dd>${value}</dd></div>
`
    )}</dl>
`
  }
}

function section(title: string, content: HtmlValue, extra: HtmlValue = null): Html {
  return html`<section class="stack"><h2>${title}${extra}</h2>
${content}</section>
`
}

const deviceItem = ({ id, clientId, userAgent, createdAt, lastUsedAt }: Session): Item => ({
  id,
  name: [clientId, deviceName(userAgent)].filter((one) => one !== null).join(' · ') || 'Unknown device',
  since: createdAt.toISOString(),
  used: lastUsedAt.toISOString()
})

function list(items: readonly Item[], urlOf: (item: Item) => string | false, verb: string): Html {
  return html`<ul class="items">
${items.slice(0, MOST_ROWS).map((item) => {
  const url = urlOf(item)
  return html`<li><div><p>${shown(item.name)}</p><p class="hint">${
    item.since !== null && html`Since ${at(new Date(item.since))}`
  }${item.used !== null && html`, last used ${at(new Date(item.used))}`}</p></div>${
    url !== false && html`<a class="button quiet" href="${url}" aria-label="${verb}: ${visible(item.name)}">${verb}</a>`
  }</li>
`
})}</ul>
${
  items.length > MOST_ROWS &&
  html`<p class="hint">${items.length} in all; the newest ${MOST_ROWS} are shown.</p>
`
}`
}

function actLinks(acts: readonly Act[], url: string): HtmlValue {
  return (
    acts.length > 0 &&
    section(
      'Actions',
      acts.map(({ path, button, removesPerson }) =>
        removesPerson === true
          ? html`<p class="remove"><a href="${url}/${path}">${button}</a></p>
`
          : html`<p class="actions"><a class="quiet" href="${url}/${path}">${button}</a></p>
`
      )
    )
  )
}
