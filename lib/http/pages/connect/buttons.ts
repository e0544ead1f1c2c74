import type { FastifyRequest } from 'fastify'
import type { ConnectButton } from '../../../pages/common-model.ts'
import type { Connection } from '../../../ports/upstream.ts'
import { normalizeUsername } from '../../../accounts/username.ts'
import { domainOf } from '../../../accounts/ways-in.ts'
import type { Journey, PageDeps, Submission, Visit } from '../deps.ts'
import { withQuery } from '../form-page.ts'
import type { Form } from '../forms.ts'
import { freshness } from './begin.ts'
import { sendAway } from './leaving.ts'

/** The ways to sign in elsewhere, for a page of this journey. */
export async function connectButtons(
  request: FastifyRequest,
  { query }: Pick<Journey, 'query'>,
  { connect, link }: Pick<PageDeps, 'connect' | 'link'>
): Promise<ConnectButton[]> {
  if (connect === null) return []
  const all = [...connect.connections.values()]
  const enabled = await Promise.all(all.map(async (connection) => await connection.shown()))
  return all
    .filter((_connection, index) => enabled[index] === true)
    .map(({ id, name, button: { brand, label, logoUrl } }) => ({
      id,
      name,
      label,
      brand,
      logoUrl,
      url: withQuery(`${link('connect')}/${id}${query}`, freshness(request))
    }))
}

/** Addresses of pictures that the buttons show. */
export function buttonImages({ connect }: Pick<PageDeps, 'connect'>): string[] {
  return [...(connect?.connections.values() ?? [])].flatMap(({ button: { logoUrl } }) => logoUrl ?? [])
}

/** True if an address on the sign-in page can be enough to know its owner's way to sign in. */
export function takesDomains({ connect }: Pick<PageDeps, 'connect'>): boolean {
  return connect !== null && [...connect.connections.values()].some(({ domains }) => domains.length > 0)
}

/** True if this browser waits to link the connection to the account of this name, whose password is asked for then. */
function linksNext(
  name: string,
  { id }: Connection,
  request: FastifyRequest,
  { connect }: Pick<PageDeps, 'connect'>
): boolean {
  const pending = connect?.cookies.read(request, 'link', '') ?? null
  return pending !== null && pending.userId !== null && pending.connection === id && pending.person.email === name
}

/**
 * The way to the connection that takes the people of the typed address, by its domain alone, and the password is not
 * read: nobody is looked up, so the answer is the same whether there is such a user or not. `null`: no connection takes
 * them.
 */
export async function elsewhere(
  { username = '', password = '' }: Form,
  { request, journey }: Visit,
  deps: Pick<PageDeps, 'connect' | 'link' | 'pages'>
): Promise<Submission<never> | null> {
  const name = deps.connect === null ? null : normalizeUsername(username)
  const connection =
    name === null
      ? undefined
      : [...(deps.connect?.connections.values() ?? [])].find(({ domains }) => domains.includes(domainOf(name)))
  if (name === null || connection === undefined || !(await connection.enabled())) return null
  if (
    !connection.enforce &&
    (linksNext(name, connection, request, deps) || (connection.linking === 'never' && password !== ''))
  )
    return null
  const asked = new URLSearchParams(journey.query.slice(1))
  asked.set('login_hint', name)
  const url = withQuery(`${deps.link('connect')}/${connection.id}?${asked.toString()}`, freshness(request))
  return {
    limit: null,
    work: async () => async (reply) => await sendAway(url, connection, journey, request, reply, deps)
  }
}
