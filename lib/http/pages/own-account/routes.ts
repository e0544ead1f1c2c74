import type { FastifyInstance } from 'fastify'
import type { PathName } from '../../../settings/paths.ts'
import type { AccountPart, PageDeps } from '../deps.ts'
import { accessPage } from './access.ts'
import { emailPage } from './email.ts'
import { type AccountLinks, overviewPage } from './overview.ts'
import { passwordPage } from './password.ts'
import { profilePage } from './profile.ts'
import { removePage } from './remove.ts'
import { sessionsPage } from './sessions.ts'

type Part = keyof AccountLinks

/** A part of the account page is there where its stores can do what it is for. */
function partsOf(deps: PageDeps): Record<Part, AccountPart> {
  const {
    authorize: {
      accounts: { users, outbox, factors }
    },
    offers,
    parts,
    registration
  } = deps
  const fields = registration?.profile ?? null
  const part = (
    path: PathName,
    isThere: boolean,
    add: (child: FastifyInstance, deps: PageDeps) => void | Promise<void>
  ): AccountPart => ({
    path,
    add: isThere
      ? async (child) => {
          await add(child, deps)
        }
      : null
  })
  const ofParts = (name: Part): AccountPart =>
    parts.flatMap(({ account }) => account?.[name] ?? [])[0] ?? { path: 'account', add: null }
  return {
    profile: part('accountProfile', users.update !== undefined && fields !== null, (child) => {
      if (registration !== null && fields !== null) profilePage(child, deps, registration, fields.names)
    }),
    email: part(
      'accountEmail',
      outbox !== null && (users.update !== undefined || users.setEmailVerified !== undefined),
      emailPage
    ),
    password: part('accountPassword', users.setPasswordHash !== undefined, passwordPage),
    connections: ofParts('connections'),
    security: part('security', factors !== null, async (child) => {
      if (factors !== null) (await import('./security.ts')).securityPages(child, deps, factors)
    }),
    sessions: part('accountSessions', true, sessionsPage),
    access: part('accountAccess', offers.consents, accessPage),
    remove: part('accountRemove', users.remove !== undefined, removePage)
  }
}

/** The pages below `/auth/account`: what a person can do with their account while they are signed in. */
export async function ownAccountPages(child: FastifyInstance, deps: PageDeps): Promise<void> {
  for (const { add } of Object.values(partsOf(deps))) await add?.(child)
}

/** `/auth/account` itself, which has its path in common with a JSON endpoint. */
export function accountOverview(child: FastifyInstance, deps: PageDeps): void {
  const links = Object.fromEntries(
    Object.entries(partsOf(deps)).map(([name, { path, add }]) => [name, add === null ? null : deps.link(path)])
  ) as AccountLinks
  overviewPage(child, deps, links)
}
