import type { FastifyInstance } from 'fastify'
import type { PathName } from '../../../settings/paths.ts'
import type { PageDeps } from '../deps.ts'
import { accessPage } from './access.ts'
import { type AccountLinks, overviewPage } from './overview.ts'
import { passwordPage } from './password.ts'
import { sessionsPage } from './sessions.ts'

type Part = keyof AccountLinks

interface AccountPart {
  path: PathName
  add: ((child: FastifyInstance) => void) | null
}

const NOT_THERE: AccountPart = { path: 'account', add: null }

/** A part of the account page is there where its stores can do what it is for. */
function partsOf (deps: PageDeps): Record<Part, AccountPart> {
  const { authorize: { accounts: { users } }, offers } = deps
  const part = (path: PathName, isThere: boolean, add: (child: FastifyInstance, deps: PageDeps) => void): AccountPart => ({ path, add: isThere ? (child) => { add(child, deps) } : null })
  return {
    profile: NOT_THERE,
    email: NOT_THERE,
    password: part('accountPassword', users.setPasswordHash !== undefined, passwordPage),
    sessions: part('accountSessions', true, sessionsPage),
    access: part('accountAccess', offers.consents, accessPage),
    remove: NOT_THERE
  }
}

/** The pages below `/auth/account`: what a person can do with their account while they are signed in. */
export function ownAccountPages (child: FastifyInstance, deps: PageDeps): void {
  for (const { add } of Object.values(partsOf(deps))) add?.(child)
}

/** `/auth/account` itself, which has its path in common with a JSON endpoint. */
export function accountOverview (child: FastifyInstance, deps: PageDeps): void {
  const links = Object.fromEntries(Object.entries(partsOf(deps)).map(([name, { path, add }]) => [name, add === null ? null : deps.link(path)])) as AccountLinks
  overviewPage(child, deps, links)
}
