import type { FeatureModels } from '../features/options.ts'
import type { AccountModels } from './account-models.ts'
import type { CommonModel, FormModel, PageError, ShownScope } from './common-model.ts'
import type { SignInModels } from './sign-in-models.ts'

/** All hosted pages. `form_post` carries an answer to a client by a form. */
export type PageName = keyof PageModels

export interface PageModels extends SignInModels, AccountModels, FeatureModels {
  /** Two submit buttons `decision` with the values `allow` and `deny`. */
  consent: FormModel & {
    /** `continue`: an app of the host's own only asks the person to continue, and `scopes` is empty. */
    asks: 'consent' | 'continue'
    username: string
    /** The sign-in page for another account. */
    otherUrl: string
    client: { name: string; id: string; redirectHost: string }
    /** A client that nobody registered. `host` publishes its document; `null`: nobody vouches for it. */
    unknown: { host: string | null; warnsOfProgram: boolean } | null
    scopes: ShownScope[]
    /** The lifetime of the access, in seconds. */
    lifetimeSeconds: number
    /** The client as registered. Its logo loads from the registered address only. */
    clientLogoUri: string | null
    clientUri: string | null
  }
  /** Asks whether to sign out. A submit button `decision` with the value `sign_out`. */
  logout: FormModel & { username: string | null }
  /** `ended`: whether a session ended. */
  signed_out: CommonModel & { ended: boolean; homeUrl: string; loginUrl: string | null }
  /** `newLink`: the link of a message is void, and this page offers another. */
  error: CommonModel & {
    error: PageError
    /** The refused address of the request, to show as text. `null`: none. */
    sent: string | null
    homeUrl: string
    newLink: { url: string; by: 'request' | 'sign_in' } | null
  }
  /** A form that submits itself with scripts, and by its button without. */
  form_post: CommonModel & { action: string; params: Record<string, string> }
}

/** The option `pages.render`. `page` discriminates `model`: `if (page === 'login') model.forgotUrl`. */
export type RenderPage = (
  ...args: { [Name in PageName]: [page: Name, model: PageModels[Name]] }[PageName]
) => string | undefined | Promise<string | undefined>
