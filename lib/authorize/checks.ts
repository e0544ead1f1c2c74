import { isFirstParty, isNativeRedirect, isPublic, mayUse, needsPkce, unknownOf } from '../clients/rights.ts'
import { OAuthError } from '../errors.ts'
import type { Client } from '../ports/client-store.ts'
import type { Consent } from '../ports/state.ts'
import { type AuthorizationRequest } from '../protocol/authorization-request.ts'
import { wantsSignUp } from '../protocol/authorization-params.ts'
import { type AuthenticationContext, wasProvedJustNow } from '../protocol/authentication.ts'
import { digest } from '../protocol/digest.ts'
import { isPublicNativeRedirect, placeOf } from '../protocol/redirect-uri.ts'
import type { Resource } from '../protocol/resource.ts'
import type { SignedInPerson } from '../sessions/browser-sessions.ts'
import type { IdTokenHint } from '../tokens/id-tokens.ts'
import type { MissingStep, RequiredAcr } from './deps.ts'

/** Everything that the decision on an authorization request needs, looked up beforehand. */
export interface Facts {
  request: AuthorizationRequest
  client: Client
  redirectUri: string
  /** The scopes to grant if no check fails. */
  scopes: string[]
  /** The APIs that the request names. @see RFC 8707 §2.1 */
  resources: readonly Resource[]
  /** The user who is signed in with this browser. `null`: nobody is. */
  signedIn: SignedInPerson | null
  required: RequiredAcr
  /**
   * `acr`, `amr` and `auth_time` for the tokens. `null` if nobody is signed in, or if the session does not reach
   * `required`.
   */
  authentication: AuthenticationContext | null
  /** The values of `acr` that this configuration can give. */
  acrValues: readonly string[]
  /** The step that the user must take before this client gets a code. `null`: none. */
  missing: MissingStep
  /**
   * False only if no sign-in of the signed-in user can reach `required`, for example because the account has no second
   * factor.
   */
  canProveMore: boolean
  /** True if users sign in on a hosted page, which can ask for the missing step. */
  hostedSignIn: boolean
  /**
   * The content of `id_token_hint`. `null`: the request has none, or it is no ID token that this service can verify
   * (its key may be gone).
   */
  hint: IdTokenHint | null
  consent: Consent | null
  /** True if a person can make an account. */
  canSignUp: boolean
  /** True if every client must push its requests. */
  mustPush: boolean
  /** The page that the person has just answered for this request. `null`: none. */
  answered: 'sign_in' | 'consent' | null
  /** Milliseconds since the epoch. */
  now: number
}

/** An obstacle: an error for the client, or a step for the person. */
type Obstacle = OAuthError | 'sign_in' | 'sign_up' | 'second_factor' | 'enrolment' | 'consent'

interface Check {
  name: string
  see: string
  check(facts: Facts): Obstacle | null
}

/**
 * The checks of an authorization request, in this order, after its client and redirect URI are valid. The first
 * obstacle decides. protocol/authorization-request has checked the form of the parameters before.
 */
const CHECKS: readonly Check[] = [
  {
    name: 'the client may use codes',
    see: 'RFC 6749 §4.1.2.1',
    check: ({ client }) =>
      mayUse(client, 'authorization_code')
        ? null
        : new OAuthError('unauthorized_client', 'The client may not use authorization codes.')
  },
  {
    name: 'the request was pushed, if it must be',
    see: 'RFC 9126 §5',
    check: ({ client, request, mustPush }) =>
      request.params.pushed === undefined && (mustPush || client.requirePushedAuthorizationRequests === true)
        ? new OAuthError('invalid_request', 'The client must push its authorization requests.')
        : null
  },
  {
    name: 'a code challenge is there',
    see: 'RFC 9700 §2.1.1',
    check: ({ client, request }) =>
      request.codeChallenge === undefined && needsPkce(client)
        ? new OAuthError('invalid_request', 'code_challenge is missing.')
        : null
  },
  {
    name: 'something of the scope can be granted',
    see: 'RFC 6749 §3.3',
    check: ({ scopes }) =>
      scopes.length === 0 ? new OAuthError('invalid_scope', 'None of the requested scopes can be granted.') : null
  },
  {
    name: 'the requested authentication context can be given',
    see: 'OpenID Connect Core 1.0 §5.5.1.1, RFC 9470 §5',
    check: ({ required, acrValues }) =>
      required === null || required.some((value) => acrValues.includes(value)) ? null : unmet()
  },
  {
    name: 'an app on a device does not ask in silence',
    see: 'RFC 8252 §8.6',
    check: ({ request, client, redirectUri }) =>
      request.prompt.includes('none') && isNativeRedirect(client, redirectUri)
        ? new OAuthError('interaction_required', 'An app on a device gets no code without a page.')
        : null
  },
  {
    name: 'an account can be made, where one was asked for',
    see: 'Initiating User Registration via OpenID Connect 1.0 §4.1',
    check: ({ request, canSignUp }) =>
      request.prompt.includes('create') && !canSignUp
        ? new OAuthError('invalid_request', 'prompt=create: nobody can sign up here.')
        : null
  },
  {
    name: 'a new account was not asked for',
    see: 'Initiating User Registration via OpenID Connect 1.0 §4',
    check: ({ request }) => (request.prompt.includes('create') ? 'sign_up' : null)
  },
  {
    name: 'a user is signed in',
    see: 'OpenID Connect Core 1.0 §3.1.2.3',
    check: ({ signedIn, request }) => (signedIn === null ? interactive(request, 'sign_in') : null)
  },
  {
    name: 'a new sign-in was not asked for',
    see: 'OpenID Connect Core 1.0 §3.1.2.1 prompt',
    check: ({ request }) =>
      request.prompt.includes('login') || request.prompt.includes('select_account') ? 'sign_in' : null
  },
  {
    name: 'the sign-in is recent enough',
    see: 'OpenID Connect Core 1.0 §3.1.2.1 max_age',
    check: (facts) => (isRecent(facts) ? null : anotherSignIn(facts))
  },
  {
    name: 'the person has proved what was asked for',
    see: 'RFC 9470 §5',
    check(facts) {
      if (facts.required === null || facts.authentication !== null) return null
      if (facts.missing === 'second_factor') return addToSignIn(facts, facts.missing)
      return mayHelp(facts) ? anotherSignIn(facts) : mayBeTold(facts) ? unmet() : null
    }
  },
  {
    name: 'the person has the second factor that the host wants',
    see: 'NIST SP 800-63B-4 §2.2.1',
    check: (facts) => (facts.missing === null ? null : addToSignIn(facts, facts.missing))
  },
  {
    name: 'it is the person the client asked for',
    see: 'OpenID Connect Core 1.0 §3.1.2.2',
    check: (facts) =>
      isRequestedSubject(facts) || !mayBeTold(facts)
        ? null
        : new OAuthError('login_required', 'Another person is signed in.')
  },
  {
    name: 'the person allows it',
    see: 'OpenID Connect Core 1.0 §3.1.2.4, RFC 8252 §8.6',
    check: (facts) => (isAllowed(facts) ? null : interactive(facts.request, 'consent'))
  }
]

/**
 * Returns a digest of the facts that the consent page shows about an unregistered client: the host that vouches for it,
 * its name, and the hosts or schemes of its redirect URIs. A consent with another digest is void. `{}` for a registered
 * client.
 */
export function looksOf(client: Client): { client?: string } {
  const unknown = unknownOf(client)
  if (unknown === null) return {}
  const places = [...new Set((client.redirectUris ?? []).map(placeOf))].toSorted()
  return { client: digest(JSON.stringify([unknown.host, client.name, places])) }
}

/** The items that a person allows on the consent page: the APIs, each by its `resource`, and the scopes. */
export function allowedOf({ scopes, resources }: Pick<Facts, 'scopes' | 'resources'>): string[] {
  return [...resources.map(({ resource }) => resource), ...scopes]
}

/**
 * True if the client gets refresh tokens. For a client that nobody registered, such as an AI agent, the grant type
 * `refresh_token` is enough, because such clients seldom ask for `offline_access`.
 */
export function staysSignedIn({ client, scopes }: Pick<Facts, 'client' | 'scopes'>): boolean {
  return scopes.includes('offline_access') || (unknownOf(client) !== null && mayUse(client, 'refresh_token'))
}

/** Returns the first obstacle. `null`: a code may be issued. */
export function firstObstacle(facts: Facts): Obstacle | null {
  for (const { check } of CHECKS) {
    const obstacle = check(facts)
    if (obstacle !== null)
      return obstacle === 'sign_in' && facts.canSignUp && wantsSignUp(facts.request.params) ? 'sign_up' : obstacle
  }
  return null
}

/** Returns the step, or with `prompt=none` the error that replaces the page. */
function interactive(request: AuthorizationRequest, obstacle: 'sign_in' | 'consent'): Obstacle {
  if (!request.prompt.includes('none')) return obstacle
  return obstacle === 'sign_in'
    ? new OAuthError('login_required', 'Nobody is signed in, or not recently enough.')
    : new OAuthError('consent_required', 'The user has not allowed this yet.')
}

/**
 * True if a new sign-in could reach the required level. The hosted page asks for every factor of the account, so
 * `canProveMore` decides. A sign-in page of the host may ask for anything, so the user is sent there, but not again
 * right after a sign-in.
 */
function mayHelp({ hostedSignIn, canProveMore, signedIn, now }: Facts): boolean {
  return hostedSignIn ? canProveMore : signedIn !== null && !wasProvedJustNow(signedIn.session, now)
}

/**
 * Asks for a new sign-in. With `prompt=none`, returns `null` if the client may not learn about the sign-in: the consent
 * check then answers without revealing it.
 */
function anotherSignIn(facts: Facts): Obstacle | null {
  return facts.request.prompt.includes('none') && !mayBeTold(facts) ? null : interactive(facts.request, 'sign_in')
}

/**
 * Returns the obstacle for a step that a signed-in user must still take. With `prompt=none`, a missing second factor is
 * `login_required`. A missing enrolment is `interaction_required`, because a sign-in alone does not solve it.
 */
function addToSignIn(facts: Facts, missing: Exclude<MissingStep, null>): Obstacle | null {
  if (missing === 'sign_in') return anotherSignIn(facts)
  if (!facts.request.prompt.includes('none')) return missing
  if (!mayBeTold(facts)) return null
  return missing === 'second_factor'
    ? interactive(facts.request, 'sign_in')
    : new OAuthError('interaction_required', 'The user has to set up a second factor.')
}

const unmet = (): OAuthError =>
  new OAuthError('unmet_authentication_requirements', 'The requested acr is not available.')

function isRequestedSubject({ request: { claims }, signedIn, hint }: Facts): boolean {
  const asked = claims.id_token?.sub?.value
  const id = signedIn?.user.id
  return (hint?.sub === undefined || hint.sub === id) && (asked === undefined || asked === id)
}

/**
 * True if the client may learn who is signed in and since when. A third-party client may only if the user has allowed
 * what this request asks for.
 */
function mayBeTold(facts: Facts): boolean {
  return isFirstParty(facts.client) || isAllowed(facts)
}

/** Compares `max_age` with the `auth_time` that the tokens would state. */
function isRecent({ request: { maxAge }, authentication, now }: Facts): boolean {
  return authentication === null || maxAge === undefined || now - authentication.authenticatedAt <= maxAge * 1000
}

function isAllowed(facts: Facts): boolean {
  const { client, redirectUri, request, consent, answered } = facts
  if (request.prompt.includes('consent')) return false
  // For a first-party app on a device, an answer on the sign-in page is enough, because that page names the client.
  if (isFirstParty(client)) return !isNativeRedirect(client, redirectUri) || answered !== null
  if (consent === null || !allowedOf(facts).every((one) => consent.scopes.includes(one))) return false
  if (consent.client !== looksOf(client).client) return false
  return (
    answered === 'consent' ||
    !(
      isNativeRedirect(client, redirectUri) ||
      (isPublicNativeRedirect(redirectUri) && (isPublic(client) || unknownOf(client) !== null))
    )
  )
}
