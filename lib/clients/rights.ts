import type { Client, GrantType } from '../ports/client-store.ts'
import { covers } from '../protocol/authentication.ts'
import { isPublicNativeRedirect, matchesRedirectUri } from '../protocol/redirect-uri.ts'

/** What a client may that registers no grant types. @see RFC 7591 §2 */
const DEFAULT_GRANT_TYPES: readonly GrantType[] = ['authorization_code', 'refresh_token']

export function mayUse({ grantTypes }: Pick<Client, 'grantTypes'>, grantType: GrantType): boolean {
  return (grantTypes ?? DEFAULT_GRANT_TYPES).includes(grantType)
}

/**
 * Whether the client is the host's own, as clients are that don't say otherwise. One of somebody else's asks the user
 * for consent. `null` is a caller without a client: the account itself.
 */
export function isFirstParty(client: Pick<Client, 'firstParty'> | null): boolean {
  return client?.firstParty !== false
}

/**
 * Whether a sign-in of this worth is enough for the client to act for its user. `null` is a caller without a client:
 * anything is.
 */
export function isContent(client: Pick<Client, 'acr'> | null, acr: string | null): boolean {
  return client?.acr === undefined || covers(acr, client.acr)
}

export function isPublic({ clientSecret }: Pick<Client, 'clientSecret'>): boolean {
  return clientSecret === undefined
}

/** A public client has nothing else to prove that it is the one who began. @see RFC 9700 §2.1.1 */
export function needsPkce(client: Pick<Client, 'clientSecret' | 'requirePkce'>): boolean {
  return isPublic(client) || client.requirePkce !== false
}

/**
 * Whether it is an app on a person's device. @see OpenID Connect Dynamic Client Registration 1.0 §2 application_type
 */
export function isNative({ applicationType }: Pick<Client, 'applicationType'>): boolean {
  return applicationType === 'native'
}

/** Whether the client may be answered at this URI. @see RFC 6749 §3.1.2.3 */
export function mayBeAnsweredAt({ redirectUris = [], applicationType }: Client, redirectUri: string): boolean {
  return matchesRedirectUri(redirectUris, redirectUri, applicationType)
}

/**
 * Whether any app on the device could pretend to be this one and catch its code, so that nothing is given without a
 * person who looks.
 * @see RFC 8252 §8.6
 */
export function isNativeRedirect(client: Client, redirectUri: string): boolean {
  return isNative(client) && isPublicNativeRedirect(redirectUri)
}

/** Where pages of the client may be: as registered, else the origins of its redirect URIs. */
export function originsOf({ origins, redirectUris = [] }: Pick<Client, 'origins' | 'redirectUris'>): string[] {
  if (origins === undefined) return redirectUris.map(originOfUrl).filter((origin) => origin !== 'null')
  // The URL standard gives an app's own scheme no origin, but its web view sends one: as it is registered.
  return origins
    .map((given) => (originOfUrl(given) === 'null' && URL.canParse(given) ? given : originOfUrl(given)))
    .filter((origin) => origin !== 'null')
}

/** `null` where the URL has no origin, as in the URL standard. */
export function originOfUrl(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : 'null'
}
