import type { GrantDeps } from '../oauth/deps.ts'
import type { ConsentStore } from '../ports/state.ts'
import type { Browser, BrowserSessions, SignedInPerson } from '../sessions/browser-sessions.ts'
import type { IdTokens } from '../tokens/id-tokens.ts'
import type { Client } from '../ports/client-store.ts'
import type { User } from '../ports/user-store.ts'
import type { AuthenticationContext } from '../protocol/authentication.ts'
import type { AuthorizationParams, Pushed } from '../protocol/authorization-params.ts'
import type { AuthorizationRequest } from '../protocol/authorization-request.ts'

/** `acr` must be one of these values; `null`: any value or none will do. */
export type RequiredAcr = readonly string[] | null

/**
 * Dependencies of the browser journey, besides those of the grants, because it begins what the code grant continues.
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
  /** Pushes a request. The answer to the client is `pushed.uri`, which is good for this time. */
  push(params: AuthorizationParams): AuthorizationParams & { pushed: Pushed }
  expiresInSeconds: number
  /**
   * The pushed request behind a `request_uri` of the query or the form, and nothing else that was sent. `null`: no
   * `request_uri` was sent.
   * @throws OAuthError `invalid_request_uri` if it is unknown or expired, or of another client than `client_id`
   */
  open(raw: unknown): AuthorizationParams | null
  /**
   * Uses the request up. Of any number of parallel calls one resolves.
   * @throws OAuthError `invalid_request_uri` if it was used before
   */
  use(pushed: Pushed): Promise<void>
}

/** Tells a developer of a mistake. */
export interface Advised {
  accounts: Pick<AuthorizeDeps['accounts'], 'advise'>
}

/** The browser of the request. */
export interface BrowserContext extends Pick<Browser, 'session' | 'origin' | 'remembered'> {
  /** The hosted page that this request answers: the sign-in page, or the consent page. */
  answered?: 'sign_in' | 'consent'
}

/**
 * The step that a signed-in person owes before a client gets a code: give the second factor, set one up, or sign in
 * again for one of these.
 */
export type MissingStep = 'second_factor' | 'enrolment' | 'sign_in' | null

/** The part of an authorization request that decides which step is missing. */
export interface AskedOf {
  request: Pick<AuthorizationRequest, 'maxAge'>
  client: Client
  /** The required values that this configuration can give. */
  possible: RequiredAcr
  /** `null`: the session does not show it. */
  authentication: AuthenticationContext | null
  /** The cookie of a remembered browser. */
  remembered: string | undefined
  now: number
}

/** `hostedSignIn`: our page asks for a password. Otherwise a page of the host does, which may ask for anything. */
export interface Asking {
  hostedSignIn: boolean
}

/**
 * The target of a page of ours for a user whose sign-in is below the level of a page of the host. `reauthenticate`: the
 * page that asks for a factor that they have and did not show. `passkey`: the page that adds one. `never`: no page
 * would help.
 */
export type StepTowards = 'second_factor' | 'enrolment' | 'reauthenticate' | 'passkey' | 'never'

/** Answers of a feature to questions of the authorization endpoint. */
export interface AuthorizeSlots {
  missing?(person: SignedInPerson, asked: AskedOf): Promise<MissingStep>
  /** True if a sign-in of this account can reach the level `acr` by its present factors. */
  reaches?(acr: string, user: User, asking: Asking): Promise<boolean>
  /**
   * The step on a page of ours that brings a session to `acr`. `null`: a proof of the same kind again, or a new
   * sign-in. One feature answers it.
   */
  towards?(acr: string, person: SignedInPerson, asking: Asking & { accountPages: boolean }): Promise<StepTowards | null>
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
