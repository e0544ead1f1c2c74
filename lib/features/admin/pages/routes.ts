import type { PageSlots } from '../../../http/pages/deps.ts'
import { actPage } from './act-page.ts'
import { actsOf } from './acts.ts'
import { editPage } from './edit.ts'
import { mayInvite, type AdminPage, type AdminPageDeps } from './frame.ts'
import { adminPage } from './gate.ts'
import { logPage } from './log.ts'
import { invitePage } from './invite.ts'
import { peoplePage } from './people.ts'
import { personPage } from './person.ts'

/** The pages below `/auth/admin`. */
export const adminPages = (deps: Omit<AdminPageDeps, 'pages'>): PageSlots => ({
  groups: (pages) => [
    {
      cors: null,
      register(child) {
        const all: AdminPageDeps = { ...deps, pages }
        for (const page of pagesOf(all)) adminPage(child, page, all)
      }
    }
  ]
})

const pagesOf = (deps: AdminPageDeps): AdminPage[] => [
  peoplePage(deps),
  personPage(deps),
  editPage(deps),
  ...(mayInvite(deps.accounts) ? [invitePage(deps)] : []),
  logPage(deps),
  ...actsOf(deps).map((act) => actPage(act, deps))
]
