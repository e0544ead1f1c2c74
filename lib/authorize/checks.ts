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
  /** Granted if no check fails. */
  scopes: string[]
  /** The APIs that the request names. @see RFC 8707 §2.1 */
  resources: readonly Resource[]
  /** The user signed in in this browser. */
  signedIn: SignedInPerson | null
  required: RequiredAcr
  /** The context for the tokens. `null` if nobody is signed in, or not as required. */
  authentication: AuthenticationContext | null
  /** The values of `acr` that this configuration can give. */
  acrValues: readonly string[]
  /** The step that the person owes before this client gets a code. */
  missing: MissingStep
  /**
   * True if another sign-in can reach the requirement that this one missed. Nobody can give a second factor that they
   * do not have.
   */
  canProveMore: boolean
  /** True if a hosted page can ask for the missing step. */
  hostedSignIn: boolean
  /** `null`: none was sent, or it cannot be verified because its key may be gone. */
  hint: IdTokenHint | null
  consent: Consent | null
  /** True if a person can make an account. */
  canSignUp: boolean
  /** True if every client must push its requests. */
  mustPush: boolean
  /** The page that the person has just answered for this request. */
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
 * A digest of what a person sees of a client that nobody registered: who vouches for it, its name, and where it leads.
 * None for a registered client.
 */
export function looksOf(client: Client): { client?: string } {
  const unknown = unknownOf(client)
  if (unknown === null) return {}
  const places = [...new Set((client.redirectUris ?? []).map(placeOf))].toSorted()
  return { client: digest(JSON.stringify([unknown.host, client.name, places])) }
}

/** The items that a person allows: the APIs, each by its `resource`, and the scopes. */
export function allowedOf({ scopes, resources }: Pick<Facts, 'scopes' | 'resources'>): string[] {
  return [...resources.map(({ resource }) => resource), ...scopes]
}

/**
 * True if the client gets refresh tokens. Agents never ask for `offline_access`, so a client that nobody registered
 * gets them by its grants.
 */
export function staysSignedIn({ client, scopes }: Pick<Facts, 'client' | 'scopes'>): boolean {
  return scopes.includes('offline_access') || (unknownOf(client) !== null && mayUse(client, 'refresh_token'))
}

/** The first obstacle. `null`: a code may be issued. */
export function firstObstacle(facts: Facts): Obstacle | null {
  for (const { check } of CHECKS) {
    const obstacle = check(facts)
    if (obstacle !== null)
      return obstacle === 'sign_in' && facts.canSignUp && wantsSignUp(facts.request.params) ? 'sign_up' : obstacle
  }
  return null
}

/** A client that wants no page gets an error instead. */
function interactive(request: AuthorizationRequest, obstacle: 'sign_in' | 'consent'): Obstacle {
  if (!request.prompt.includes('none')) return obstacle
  return obstacle === 'sign_in'
    ? new OAuthError('login_required', 'Nobody is signed in, or not recently enough.')
    : new OAuthError('consent_required', 'The user has not allowed this yet.')
}

/**
 * True if a new sign-in can show what this one does not. Our page asks for everything that the account has. The host's
 * own page is unknown, so the person is sent there, but not again at once.
 */
function mayHelp({ hostedSignIn, canProveMore, signedIn, now }: Facts): boolean {
  return hostedSignIn ? canProveMore : signedIn !== null && !wasProvedJustNow(signedIn.session, now)
}

/** For a client that wants no page and may not learn of the sign-in, decides first what it may learn. */
function anotherSignIn(facts: Facts): Obstacle | null {
  return facts.request.prompt.includes('none') && !mayBeTold(facts) ? null : interactive(facts.request, 'sign_in')
}

/**
 * The same for the missing step of a signed-in person. A second factor is a part of signing in; setting one up is more.
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
 * True if the client may learn the age of the sign-in and the user. A third-party client may, once the person has
 * allowed it something.
 */
function mayBeTold(facts: Facts): boolean {
  return isFirstParty(facts.client) || isAllowed(facts)
}

/** Compares with the `auth_time` of the tokens. */
function isRecent({ request: { maxAge }, authentication, now }: Facts): boolean {
  return authentication === null || maxAge === undefined || now - authentication.authenticatedAt <= maxAge * 1000
}

function isAllowed(facts: Facts): boolean {
  const { client, redirectUri, request, consent, answered } = facts
  if (request.prompt.includes('consent')) return false
  // For a client of the host's own the sign-in page is enough of an answer, because it names the client.
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
