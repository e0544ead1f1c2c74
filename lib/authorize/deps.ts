import type { GrantDeps } from '../oauth/deps.ts'
import type { ConsentStore } from '../ports/state.ts'
import type { Browser, BrowserSessions, SignedInPerson } from '../sessions/browser-sessions.ts'
import type { IdTokens } from '../tokens/id-tokens.ts'
import type { Client } from '../ports/client-store.ts'
import type { User } from '../ports/user-store.ts'
import type { AuthenticationContext } from '../protocol/authentication.ts'
import type { AuthorizationParams, Pushed } from '../protocol/authorization-params.ts'
import type { AuthorizationRequest } from '../protocol/authorization-request.ts'

/** The `acr` of the sign-in must be one of these values. `null`: any value, or none, is enough. */
export type RequiredAcr = readonly string[] | null

/**
 * The dependencies of the authorization endpoint and its pages, and those of the grants, because the authorization code
 * grant completes the flow.
 */
export interface AuthorizeDeps extends GrantDeps {
  browserSessions: BrowserSessions
  consents: ConsentStore
  idTokens: IdTokens
  authorizationCode: { expiresInMs: number }
  /** True if a person can make an account, on our page or on the host's. */
  canSignUp: boolean
  /** The values of `acr` that this configuration can give. */
  acrValues: readonly string[]
  /** True if people sign in on a hosted page, which can ask them for missing steps. */
  hostedSignIn: boolean
  /** The slots of the features that are on. */
  slots: readonly AuthorizeSlots[]
  /** Reads a request from the query or the form, and a pushed one from its `request_uri`. @throws OAuthError */
  readRequest(raw: unknown): AuthorizationParams
  /** `null`: clients can't push requests. */
  pushed: PushedRequests | null
}

/** The requests that clients push before a browser comes. @see RFC 9126 */
export interface PushedRequests {
  /** True if every client must push its requests. */
  isRequired: boolean
  /**
   * Seals a request. The client gets `pushed.uri`, with which a browser must come within `expiresInSeconds`.
   * @throws OAuthError `invalid_request` for a request that is too long
   */
  push(params: AuthorizationParams): AuthorizationParams & { pushed: Pushed }
  expiresInSeconds: number
  /**
   * Returns the pushed request behind a `request_uri` in the query or the form, and ignores all other parameters.
   * `null`: there is no `request_uri`.
   * @throws OAuthError `invalid_request_uri` if the request is unknown or expired, or was pushed by another client than
   * `client_id`
   */
  open(raw: unknown): AuthorizationParams | null
  /**
   * Uses the request up. Only one of several parallel calls resolves.
   * @throws OAuthError `invalid_request_uri` if the request was used before
   */
  use(pushed: Pushed): Promise<void>
}

/** The dependency that logs advice about a mistake in a client. */
export interface Advised {
  accounts: Pick<AuthorizeDeps['accounts'], 'advise'>
}

/** The browser of the request. */
export interface BrowserContext extends Pick<Browser, 'session' | 'origin' | 'remembered'> {
  /** The hosted page that this request answers: the sign-in page, or the consent page. */
  answered?: 'sign_in' | 'consent'
}

/**
 * The step that a signed-in user must take before a client gets a code. `second_factor`: give it. `enrolment`: set one
 * up. `sign_in`: sign in again, because the present sign-in is too old or too weak for the other two steps.
 */
export type MissingStep = 'second_factor' | 'enrolment' | 'sign_in' | null

/** The facts about an authorization request that decide which step is missing. */
export interface AskedOf {
  request: Pick<AuthorizationRequest, 'maxAge'>
  client: Client
  /** The required values that this configuration can give. */
  possible: RequiredAcr
  /** The level for the tokens. `null`: the session reaches none of `possible`. */
  authentication: AuthenticationContext | null
  /** The cookie of a remembered browser. */
  remembered: string | undefined
  now: number
}

/**
 * The kind of sign-in page. `hostedSignIn`: users sign in on our page, which asks for a password. Otherwise the host
 * has a sign-in page, which may ask for anything.
 */
export interface SignInPageKind {
  hostedSignIn: boolean
}

/**
 * The hosted page that raises a session to the `acr` that a page of the host requires. `second_factor`, `enrolment`:
 * the pages of these steps of a sign-in. `reauthenticate`: the page that asks for a factor that the user has but has
 * not given. `passkey`: the page that adds a passkey. `never`: no page would help.
 */
export type StepTowards = 'second_factor' | 'enrolment' | 'reauthenticate' | 'passkey' | 'never'

/** The part of a feature that the authorization endpoint calls. */
export interface AuthorizeSlots {
  missing?(person: SignedInPerson, asked: AskedOf): Promise<MissingStep>
  /** True if a sign-in with the present factors of this account can reach the level `acr`. */
  reaches?(acr: string, user: User, asking: SignInPageKind): Promise<boolean>
  /**
   * The page that raises a session to `acr`. `null`: the user only needs to sign in again. At most one feature
   * implements this.
   */
  towards?(
    acr: string,
    person: SignedInPerson,
    asking: SignInPageKind & { accountPages: boolean }
  ): Promise<StepTowards | null>
}

/** The first missing step of any feature. */
export async function missingStepOf(
  person: SignedInPerson,
  asked: AskedOf,
  slots: readonly AuthorizeSlots[]
): Promise<MissingStep> {
  for (const { missing } of slots) {
    const step = (await missing?.(person, asked)) ?? null
    if (step !== null) return step
  }
  return null
}
