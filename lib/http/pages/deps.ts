import type { AuthorizeDeps } from '../../authorize/deps.ts'
import type { ScopeTexts } from '../../pages/own-texts.ts'
import type { PathName } from '../../settings/paths.ts'
import type { ClientPages } from '../../ports/client-store.ts'
import type { HttpDeps } from '../edge/endpoint.ts'
import type { RequestBrowser } from '../edge/request-browser.ts'
import type { PlainCookies, SealedCookies } from '../edge/sealed-cookies.ts'
import type { PageErrorDeps } from './errors.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ClientRequest } from '../../authorize/client-request.ts'
import type { AuthorizationParams } from '../../protocol/authorization-params.ts'
import type { Form } from './page-routes.ts'
import type { Waiting } from './waiting.ts'
import type { ConnectButton, FormModel } from '../../pages/common-model.ts'
import type { AccountStates } from '../../pages/account-models.ts'
import type { PageModels } from '../../pages/model.ts'
import type { Renderers } from '../../pages/render.ts'
import type { OAuthError } from '../../errors.ts'
import type { SecondFactorCheck, SessionBegun, StepNeeded } from '../../accounts/slots.ts'
import type { SignedInPerson } from '../../sessions/browser-sessions.ts'
import type { PageSettings } from './reply.ts'
import type { Origin } from '../../sessions/sessions.ts'
import type { AttemptCheck } from '../edge/attempt-limits.ts'
import type { AttemptUser } from '../edge/limit.ts'

/** The dependencies of the hosted pages and the authorization endpoint. */
export interface PageDeps extends PageErrorDeps, Pick<HttpDeps, 'limiter' | 'registration' | 'path'> {
  authorize: AuthorizeDeps
  browser: RequestBrowser
  cookies: PlainCookies
  sealed: SealedCookies
  journeys: Journeys
  waiting: Waiting
  /** The minimum length of a new password, in code points. */
  minLength: number
  /** The path of an endpoint for links and redirects: with the prefix of the host's instance. */
  link(name: PathName): string
  /** The pages that exist, so that other pages can link to them. `consents`: clients can ask people for consent. */
  offers: { signup: boolean; reset: boolean; emailVerification: boolean; account: boolean; consents: boolean }
  /** The host's own texts of scopes. */
  scopeTexts: ScopeTexts
  /** The option `prefix`. */
  prefix: string
  /** The URL of the host's own sign-in page. `null`: the hosted page is used. */
  loginUrl: string | null
  /** The additions of the features that are on. */
  parts: readonly PagePart[]
}

/** A request for a page, and the journey of its person. */
export interface Visit {
  request: FastifyRequest
  /** For setting cookies only. The caller sends the page or the redirect. */
  reply: FastifyReply
  journey: Journey
  origin: Origin
  /** The language of messages that this request causes. */
  locale: string | undefined
}

/** An answer that leads away from the page. */
export type Leave = (reply: FastifyReply) => Promise<FastifyReply>

/** The work that a submitted form asks for. */
export interface Submission<Shown> {
  /**
   * The limit of the work. A check counts before the work, for guesses and expensive work. `failures` counts only
   * failed work, such as a wrong token of 256 bits. `null`: no limit, for a signed-in user or for work that only
   * redirects.
   */
  limit: AttemptCheck | SecondFactorCheck | 'failures' | null
  /** Work that must succeed before `work`, under a limit of its own. Its error is shown on the form. */
  before?: { limit: AttemptCheck; work(): Promise<void> }
  /** The use case. The form shows its error. Resolves to the next content of the page, or to a redirect. */
  work(user: AttemptUser): Promise<Shown | Leave>
}

/**
 * The task that brought a person to a hosted page: an authorization request, a path of the host to return to, or
 * neither.
 */
export interface Journey {
  /** `''`, or `?…` to append to the addresses of pages and forms, so that the journey continues there. */
  query: string
  clientName: string | null
  /** The brand of the client. */
  brand?: ClientPages | undefined
  /** BCP 47, most wanted first. */
  uiLocales: string[]
  /** Targets besides this origin to which the answer to a form may redirect. */
  formActions: string[]
  loginHint: string | undefined
  /** True if a remembered browser must give the second factor too, because the request may need it. */
  asksAll: boolean
  /** True if the person should see the sign-up page first. */
  wantsSignUp: boolean
  /** The target of a sign-in: a local path or an absolute URL. */
  next: string
  /**
   * The authorization request of an app on a device, without the parameters that a sign-in satisfies; `null` for any
   * other journey. The sign-in page answers this request itself, because such an app gets a code only as the answer to
   * a page.
   */
  nativeRequest: ClientRequest | null
}

export interface Journeys {
  /**
   * The journey that the page's own query string describes.
   * @throws OAuthError for an invalid client or redirect URI, to which the browser must not be redirected
   */
  read(request: FastifyRequest): Promise<Journey>
  /** The journey of a query string, `''` or `?…`, that was stored meanwhile. Throws like `read`. */
  from(query: string): Promise<Journey>
  /**
   * The journey of a link in a message. Leads to the home page if there is no query, or if the query is refused, for
   * example because its client is gone. Rejects if the client store is down, so that the link and the journey remain.
   */
  kept(query: string | null | undefined): Promise<Journey>
}

/** Fields that a part adds to the model of a page. */
export type AddedTo<Name extends 'login' | 'reauthenticate'> = Partial<Omit<PageModels[Name], keyof FormModel>>

/** A form that is shown again with an error. */
export interface RefusedForm {
  form: Form
  error: OAuthError
}

/** `isSignUp`: the account was made just now, without a password. */
export interface Arrival extends Pick<Visit, 'request' | 'journey'> {
  isSignUp?: boolean | undefined
}

/** Additions of a feature to the hosted pages. */
export interface PageSlots {
  renderers?: Partial<Renderers>
  /** True if pages ask for passkeys. */
  passkeys?: boolean
  routes?(child: FastifyInstance, deps: PageDeps): void
  /**
   * Groups of routes after the built-in pages, each with its policy for other origins. `null`: the host's own policy,
   * as for unknown paths.
   */
  groups?(deps: PageDeps): ReadonlyArray<{
    cors: 'noOrigin' | 'noOriginBesides' | null
    register(child: FastifyInstance): void | Promise<void>
  }>
  part?(deps: PageDeps): PagePart
}

/** Additions of a feature to the built-in pages. */
export interface PagePart {
  /** Fields of the model of the sign-in page. */
  login?(journey: Journey, refused: RefusedForm | null): AddedTo<'login'>
  /** Links to other providers, for a page of this journey. */
  buttons?(request: FastifyRequest, journey: Pick<Journey, 'query'>): Promise<ConnectButton[]>
  /** Addresses of the pictures on the links of `buttons`. */
  images?: readonly string[]
  /**
   * True if the sign-in page needs no password for some usernames, because `elsewhere` leads them to another sign-in.
   */
  takesNames?: boolean
  /**
   * Handles a form whose username signs in elsewhere, whatever its password. `null`: the feature does not take this
   * username.
   */
  elsewhere?(form: Form, visit: Visit): Promise<Submission<never> | null>
  /**
   * The answer to an authorization request with the parameter `connection`, instead of the sign-in page or the sign-up
   * page. `null`: the page.
   */
  straightOn?(params: AuthorizationParams, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | null>
  /** Set if the sign-in page asks for a passkey. */
  asksPasskey?: NonNullable<PageSettings['passkeys']>
  /** The page that proposes something after a sign-in, before the journey continues; `null`: none. */
  proposal?(begun: SessionBegun | StepNeeded, arrival: Arrival, form: Form): Promise<PathName | null>
  /** The path of a page that a user who has just signed in sees first; `null`: none. */
  leadOn?(userId: string, visit: Pick<Visit, 'request' | 'journey'>): string | null
  /** A way for a signed-in user to prove their identity again. */
  again?: {
    /** True if this way handles the form. */
    takes(form: Form): boolean
    /** Fields of the model of the page; `null`: this user can't use this way. */
    reauthenticate(person: SignedInPerson): Promise<AddedTo<'reauthenticate'> | null>
    submit(person: SignedInPerson, form: Form, visit: Visit): Promise<Submission<never>>
  }
  /** Pages below the account page, by the names of their links on it. */
  account?: { [Name in keyof PageModels['account']['links']]?: AccountPart }
}

/** A page below the account page. */
export interface AccountPart {
  path: PathName
  /** Registers the page. `null`: the page does not exist. */
  add: ((child: FastifyInstance) => void) | null
  /** The state that the page's row on the account page shows. If this rejects, the row shows no state. */
  states?(person: SignedInPerson): Promise<Partial<AccountStates>>
}
