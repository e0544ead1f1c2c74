import type { AccountModel } from '../../pages/account-models.ts'
import type { CommonModel, ConnectButton, FormModel, PageError, ProfileField } from '../../pages/common-model.ts'

/** A provider account that the user signs in with. */
export interface AccountLink {
  id: string
  /** The id of the connection. */
  name: string
  /** The profile as the provider last verified it. */
  email: string | null
  /** Milliseconds since the epoch, both. */
  linkedAt: number
  lastUsedAt: number
}

/** The models of the pages of connections. */
export interface ConnectModels {
  /** Continues to a provider's `url` by the header `Refresh`, and by a link for people. */
  connect_leaving: CommonModel & { name: string; url: string }
  /** A failed sign-in at another provider. `loginUrl` leads to the start. */
  connect_failed: CommonModel & { error: PageError; loginUrl: string }
  /**
   * An account has the address of the provider `name`. Its owner signs in at `signInUrl`, or sets a new password at
   * `forgotUrl`.
   */
  connect_confirm: CommonModel & { name: string; email: string; signInUrl: string; forgotUrl: string | null }
  /**
   * The owner has signed in. A submit button links the two; `skipUrl` continues without. `identity`: the name and
   * address at the provider.
   */
  connect_link: FormModel & { name: string; username: string; identity: string; skipUrl: string }
  /** `fields`: required fields of the new account that the provider did not send. `email`: its address, or `null`. */
  connect_finish: FormModel & { name: string; email: string | null; fields: ProfileField[]; loginUrl: string }
  /**
   * Buttons `link` with the id of a link, and `current_password` with `askPassword`. `signInUrl`: a user without a
   * password signs in again first. `ways`: a form without fields, posted to a `url`, begins to link another account.
   */
  account_connections: AccountModel & {
    links: AccountLink[]
    ways: ConnectButton[]
    askPassword: boolean
    signInUrl: string | null
  }
}
