import type { Kernel, Parts } from '../../feature.ts'
import { invitationsOver } from './invitations.ts'
import { acceptInvitationPage, RENDERERS } from './pages/accept-invitation.ts'

export function create(_on: true, { accounts }: Kernel): Parts {
  const invitations = invitationsOver(accounts)
  return {
    account: { invitations },
    pages: {
      renderers: RENDERERS,
      routes(child, deps) {
        acceptInvitationPage(child, deps, invitations)
      }
    }
  }
}
