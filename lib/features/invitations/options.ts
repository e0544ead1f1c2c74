import type { ConnectButton, FormModel } from '../../pages/common-model.ts'

/** The model of the page behind the link of an invitation. */
export interface InvitationModels {
  /**
   * The form sends `token` in a hidden field, and contains the `username` for password managers. `asksPassword`: false
   * for an address that a connection manages. `connections`: the connections with which the user can accept without a
   * password. `done`: the invitation is accepted.
   */
  accept_invitation: FormModel & {
    token: string
    username: string
    minLength: number
    asksPassword: boolean
    connections: ConnectButton[]
    loginUrl: string
    done: boolean
  }
}
