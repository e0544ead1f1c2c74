import type { AuthorizeDeps } from '../../authorize/deps.ts'
import type { ScopeTexts } from '../../pages/own-texts.ts'
import type { PathName } from '../../settings/paths.ts'
import type { HttpDeps } from '../edge/deps.ts'
import type { RequestBrowser } from '../edge/request-browser.ts'
import type { SealedCookies } from '../edge/sealed-cookies.ts'
import type { Cookies } from '../edge/session-cookie.ts'
import type { PageErrorDeps } from './errors.ts'
import type { ConnectDeps } from './connect/cookies.ts'
import type { Journeys } from './journey.ts'

/** The dependencies of the hosted pages and the authorization endpoint. */
export interface PageDeps extends PageErrorDeps, Pick<HttpDeps, 'limiter' | 'registration' | 'path'> {
  authorize: AuthorizeDeps
  browser: RequestBrowser
  cookies: Cookies
  sealed: SealedCookies
  journeys: Journeys
  /** Least length of a new password, in code points. */
  minLength: number
  /** The address of an endpoint as a page or a redirect has it: with the prefix of the host's instance. */
  link(name: PathName): string
  /** Which pages there are, for others to lead to; `consents`: clients can ask people for consent. */
  offers: { signup: boolean; reset: boolean; account: boolean; consents: boolean }
  /** The host's own texts of scopes. */
  scopeTexts: ScopeTexts
  /** The option `prefix`. */
  prefix: string
  /** The host's own sign-in page, instead of ours. */
  loginUrl: string | null
  /** `null`: there are no connections. */
  connect: ConnectDeps | null
}
