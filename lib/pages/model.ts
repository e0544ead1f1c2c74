import type { AccountModels } from './account-models.ts'
import type { CommonModel, FormModel, PageError, ShownScope } from './common-model.ts'
import type { SignInModels } from './sign-in-models.ts'

/** Every hosted page. `form_post` is the one that carries an answer back to a client by a form. */
export type PageName = keyof PageModels

export interface PageModels extends SignInModels, AccountModels {
  /** Two submit buttons, named `decision` with the values `allow` and `deny`. */
  consent: FormModel & {
    /** `continue`: an app of the host's own asks for no more than that the person goes on; then `scopes` is empty. */
    asks: 'consent' | 'continue'
    username: string
    client: { name: string; id: string; redirectHost: string }
    scopes: ShownScope[]
    /** How long the access lasts, in seconds. */
    lifetimeSeconds: number
    /** As the client is registered. Its logo may come from where it says, and from nowhere else. */
    clientLogoUri: string | null
    clientUri: string | null
  }
  /** Asks whether to sign out. A submit button named `decision` with the value `sign_out`. */
  logout: FormModel & { username: string | null }
  /** `ended`: whether anybody was signed in until now. */
  signed_out: CommonModel & { ended: boolean; homeUrl: string; loginUrl: string | null }
  /** `newLink`: the link of a message is no good any more; where the person gets another. */
  error: CommonModel & {
    error: PageError
    /** The address that the request sent and that was refused, for the page to show as text; `null`: none. */
    sent: string | null
    homeUrl: string
    newLink: { url: string; by: 'request' | 'sign_in' } | null
  }
  /** A form that leaves at once where scripts run, and by its button where they don't. */
  form_post: CommonModel & { action: string; params: Record<string, string> }
}

/** The option `pages.render`. In it, `page` tells which `model` it is: `if (page === 'login') model.forgotUrl`. */
export type RenderPage = (
  ...args: { [Name in PageName]: [page: Name, model: PageModels[Name]] }[PageName]
) => string | undefined | Promise<string | undefined>
