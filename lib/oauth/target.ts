/** The APIs and scopes of a grant, and the API of each of its access tokens. Every grant decides them here. */
import { OAuthError } from '../errors.ts'
import { isFirstParty } from '../clients/rights.ts'
import type { Client } from '../ports/client-store.ts'
import type { User } from '../ports/user-store.ts'
import { type Resource, resourceNamed, splitResources } from '../protocol/resource.ts'
import {
  grantScope,
  parseScope,
  ADMIN_SCOPES,
  admittedScopes,
  type AdmittedScopes,
  isReservedScope
} from '../protocol/scope.ts'
import { allowedScopes } from '../tokens/disclosure.ts'

/** Parameters of a request. `resource` may have several values (`joinResources`). */
export interface Asked {
  scope?: string | undefined
  resource?: string | undefined
  /** Auth0's name for `resource`. */
  audience?: string | undefined
}

/** The scopes and APIs that a user has granted, or that a client has for itself. */
export interface Granted {
  scopes: string[]
  /** The APIs, by the `aud` of their tokens. Empty: tokens are for the service's own audience. */
  resources: readonly string[]
}

export interface Targets {
  issuer: string
  /** All APIs of the service. */
  resources: readonly Resource[]
  /** The option `accessToken.audience`. */
  audience: readonly string[]
  /** The option `scopes`, and the scopes of all APIs. */
  scopes: readonly string[]
  /** `null`: there is no administration. */
  administration: Administration | null
}

/** The feature that gives scopes of administration. */
export interface Administration {
  /** Returns those of the `scopes` that the host gives. `user`: `null` for the token of a client itself. */
  allow(asked: { user: User | null; client: Client | null; scopes: string[] }): Promise<readonly string[]>
}

/** The values of `resource` and `audience` in a request, without duplicates. */
const namedTexts = ({ resource, audience }: Asked): string[] => [
  ...new Set([...splitResources(resource ?? ''), ...(audience === undefined ? [] : [audience])])
]

const invalidTarget = (description: string): OAuthError => new OAuthError('invalid_target', description)

/** True if this client may ask for tokens for this API. A token for an API always has a client. @see RFC 9068 §2.2 */
function mayTarget(client: Client | null, resource: Resource, { issuer }: Targets): boolean {
  if (client === null) return false
  return (
    resource.allowedClients?.includes(client.clientId) !== false &&
    client.resources?.some((text) => resourceNamed(text, [resource], issuer) !== undefined) !== false
  )
}

/** The API of this `aud`, if the client may still have tokens for it. @throws OAuthError `invalid_target` */
function targetable(audience: string, client: Client | null, targets: Targets): Resource {
  const found = targets.resources.find(({ resource }) => resource === audience)
  if (found === undefined || !mayTarget(client, found, targets))
    throw invalidTarget('The client may not have tokens for this resource any more.')
  return found
}

/**
 * The APIs that a request names. Empty if it names none, or only the service's own audience.
 * @throws OAuthError `invalid_target` for a resource that is unknown, malformed, or not for this client
 * @see RFC 8707 §2
 */
export function namedResources(asked: Asked, client: Client | null, targets: Targets): Resource[] {
  const texts = namedTexts(asked)
  if (texts.every((text) => targets.audience.includes(text))) return []
  const found = texts.map((text) =>
    text.startsWith('/') ? undefined : resourceNamed(text, targets.resources, targets.issuer)
  )
  if (found.some((one) => one === undefined || !mayTarget(client, one, targets)))
    throw invalidTarget(
      client === null
        ? 'A request for a token for an API needs a client.'
        : 'The client may not have tokens for this resource, or there is no such resource.'
    )
  return [...new Set(found as Resource[])]
}

/** True if one of the `texts`, which the configuration contains, names an API whose `aud` is in `audience`. */
export function isAudience(
  texts: readonly string[],
  audience: readonly string[],
  { resources, issuer }: Targets
): boolean {
  const named = texts.map((text) => resourceNamed(text, resources, issuer)?.resource)
  return audience.some((one) => named.includes(one))
}

/** Leaves out the scopes of APIs that are not in `named`. Scopes that belong to no API stay. */
export function scopesWithin(
  scopes: readonly string[],
  named: readonly Pick<Resource, 'resource'>[],
  { resources }: Pick<Targets, 'resources'>
): string[] {
  const others = resources.filter(({ resource }) => !named.some((one) => one.resource === resource))
  return scopes.filter((scope) => !others.some((other) => other.scopes.includes(scope)))
}

/**
 * The scopes that a request may name: those of the client, and for a first-party client also those of administration.
 */
export function askableScopes(
  client: Client | null,
  { scopes, administration }: Pick<Targets, 'scopes' | 'administration'>
): string[] {
  return administration === null || !isFirstParty(client)
    ? allowedScopes(client, scopes)
    : [...allowedScopes(client, scopes), ...allowedScopes(client, ADMIN_SCOPES)]
}

/**
 * The scopes of an access token: without those of administration that the host does not give now.
 * @throws OAuthError `invalid_scope` if the host gives none of them and no other scope is left
 */
export function admitted(
  scopes: readonly string[],
  { user, client }: { user: User | null; client: Client | null },
  { administration }: Pick<Targets, 'administration'>
): Promise<AdmittedScopes> {
  const asks = administration !== null && isFirstParty(client)
  return admittedScopes(scopes, asks ? (reserved) => administration.allow({ user, client, scopes: reserved }) : null)
}

/**
 * The grant of a request without a consent page: all requested scopes. Without `scope`, all scopes that the client may
 * have, except those of administration. Leaves out scopes of APIs that the request does not name.
 * @param but scopes that this kind of grant never has
 * @throws OAuthError `invalid_scope`, `invalid_target`
 */
export function grantedBy(asked: Asked, client: Client | null, targets: Targets, but: readonly string[] = []): Granted {
  const named = oneOf(namedResources(asked, client, targets))
  const requested = parseScope(asked.scope)
  const allowed = (named.length > 0 ? allowedScopes(client, targets.scopes) : askableScopes(client, targets)).filter(
    (scope) => !but.includes(scope)
  )
  const known = requested?.filter(
    (scope) => !allowed.includes(scope) || scopesWithin([scope], named, targets).length > 0
  )
  if (known?.length === 0)
    throw new OAuthError('invalid_scope', 'These scopes are of APIs that resource does not name.')
  return {
    scopes:
      known === undefined
        ? scopesWithin(allowed, named, targets).filter((scope) => !isReservedScope(scope))
        : grantScope(known, scopesWithin(allowed, named, targets)),
    resources: named.map(({ resource }) => resource)
  }
}

function oneOf(named: Resource[]): Resource[] {
  if (named.length > 1) throw invalidTarget('A token is for one resource: name one.')
  return named
}

/**
 * The API of a client credentials request that names none: the only one for which a client with a list `resources` may
 * have tokens. `{}` if the client may have tokens for no API, or has no list and there is only one API.
 * @throws OAuthError `invalid_target` if the client may have tokens for several APIs
 */
export function impliedResource(client: Client, targets: Targets): { resource?: string } {
  const possible = targets.resources.filter((resource) => mayTarget(client, resource, targets))
  if (possible.length > 1) throw invalidTarget('The client may have tokens for several resources: name one.')
  const [only] = possible
  return only === undefined || client.resources === undefined ? {} : { resource: only.resource }
}

/**
 * The API of an access token: the one that the request names, otherwise the only one of the grant. `null`: the
 * service's own audience. A grant for an API does not include that audience.
 * @throws OAuthError `invalid_target`
 * @see RFC 8707 §2.2
 */
export function targetOf(
  asked: Asked,
  { resources }: Pick<Granted, 'resources'>,
  client: Client | null,
  targets: Targets
): Resource | null {
  const [named] = oneOf(namedResources(asked, client, targets))
  const [only, ...more] = resources
  const namesService = named === undefined && namedTexts(asked).length > 0
  if (named === undefined ? namesService && only !== undefined : !resources.includes(named.resource))
    throw invalidTarget('The resource was not named when access was granted.')
  if (named !== undefined || only === undefined) return named ?? null
  if (more.length > 0) throw invalidTarget('The grant is for several resources: name one.')
  return targetable(only, client, targets)
}

/** The granted scopes that belong in an access token for `target`. */
export function scopesFor(
  target: Resource | null,
  scopes: readonly string[],
  targets: Pick<Targets, 'resources'>
): string[] {
  return target === null ? scopesWithin(scopes, [], targets) : scopes.filter((scope) => target.scopes.includes(scope))
}
