import type { AuthorizeDeps } from '../../authorize/deps.ts'
import type { PathName } from '../../settings/paths.ts'
import type { BrowserSignIn } from '../edge/browser-session.ts'
import type { HttpDeps } from '../edge/deps.ts'
import type { Journeys, SignIn } from './journey.ts'
import type { PageErrorDeps } from './errors.ts'
import type { SessionCookie } from '../edge/session-cookie.ts'

/** What the routes of the account pages are built from. */
export interface AccountPageDeps extends PageErrorDeps, Pick<HttpDeps, 'grants' | 'limiter' | 'registration' | 'path'> {
  journeys: Journeys
  signIn: SignIn
  /** Least length of a new password, in code points. */
  minLength: number
  /** The address of an endpoint as a page or a redirect has it: with the prefix of the host's instance. */
  link(name: PathName): string
  /** Which pages a sign-in page can lead to. */
  offers: { signup: boolean, reset: boolean }
}

/** What the rest of the pages and the authorization endpoint need besides. */
export interface PageDeps extends AccountPageDeps {
  authorize: AuthorizeDeps
  browser: BrowserSignIn
  cookie: SessionCookie
  /** The option `prefix`. */
  prefix: string
  /** The host's own sign-in page, in place of ours. */
  loginUrl: string | null
}
