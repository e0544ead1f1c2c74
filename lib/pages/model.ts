import type { FeatureModels } from '../features/options.ts'
import type { AccountModels } from './account-models.ts'
import type { CommonModel, FormModel, PageError, ShownScope } from './common-model.ts'
import type { SignInModels } from './sign-in-models.ts'

/** The names of all hosted pages. */
export type PageName = keyof PageModels

export interface PageModels extends SignInModels, AccountModels, FeatureModels {
  /** Two submit buttons `decision` with the values `allow` and `deny`. */
  consent: FormModel & {
    /** `continue`: the client is the host's own, so the page asks for no consent and `scopes` is empty. */
    asks: 'consent' | 'continue'
    username: string
    /** The sign-in page for another account. */
    otherUrl: string
    client: { name: string; id: string; redirectHost: string }
    /**
     * Set for a client that nobody registered. `host`: the host name that publishes the client's document, or `null`.
     * `warnsOfProgram`: a program on the user's computer gets the access, and the page must warn of that.
     */
    unknown: { host: string | null; warnsOfProgram: boolean } | null
    scopes: ShownScope[]
    /** How long the client has access, in seconds. */
    lifetimeSeconds: number
    /** The client as registered. Its logo loads from the registered address only. */
    clientLogoUri: string | null
    clientUri: string | null
  }
  /** Asks whether to sign out. A submit button `decision` with the value `sign_out`. */
  logout: FormModel & { username: string | null }
  /** `ended`: true if a session ended. */
  signed_out: CommonModel & { ended: boolean; homeUrl: string; loginUrl: string | null }
  /**
   * `newLink`: set if an emailed link no longer works. `url`: the page that sends a new link. `by`: `request`, the user
   * asks there; `sign_in`, the user signs in there first. `null`: every other error.
   */
  error: CommonModel & {
    error: PageError
    /** The refused address of the request, to show as text. `null`: none. */
    sent: string | null
    homeUrl: string
    newLink: { url: string; by: 'request' | 'sign_in' } | null
  }
  /** The authorization response as a form. The script submits it. Without scripts, the user presses the button. */
  form_post: CommonModel & { action: string; params: Record<string, string> }
}

/** The option `pages.render`. `page` discriminates `model`: `if (page === 'login') model.forgotUrl`. */
export type RenderPage = (
  ...args: { [Name in PageName]: [page: Name, model: PageModels[Name]] }[PageName]
) => string | undefined | Promise<string | undefined>
