/** The metadata that a client gives of itself, in a document or a registration. */
import { OAuthError } from '../../errors.ts'
import type { Client, UnknownClient } from '../../ports/client-store.ts'
import { UNSEEN } from '../../protocol/bounds.ts'
import { MAX_CLIENT_KEYS } from '../../protocol/client-authentication.ts'
import { isObject } from '../../protocol/json.ts'
import { hasPrivateMembers } from '../../protocol/jws.ts'
import { checkRegistrableRedirectUri, checkWebUri, placeOf } from '../../protocol/redirect-uri.ts'

const MAX_REDIRECT_URIS = 10
const MAX_NAME = 100
/** Members with the address of a page or a service. Each is checked, although few are used. */
const ADDRESSES = [
  'client_uri',
  'logo_uri',
  'tos_uri',
  'policy_uri',
  'jwks_uri',
  'sector_identifier_uri',
  'initiate_login_uri',
  'backchannel_logout_uri',
  'frontchannel_logout_uri'
]
const GRANTS = ['authorization_code', 'refresh_token'] as const

/** Members of metadata by the names of RFC 7591. */
type Metadata = Readonly<Record<string, unknown>>

export interface MetadataRules {
  from: 'document' | 'registration'
  /** Private-use schemes without a dot that redirect URIs may have. */
  redirectSchemes: readonly string[]
  takenNames: readonly string[]
}

/** The checked members. Their order is fixed, so that equal metadata gives equal JSON. */
export interface Described {
  redirect_uris: string[]
  token_endpoint_auth_method: 'none' | 'private_key_jwt'
  grant_types: Array<(typeof GRANTS)[number]>
  response_types: ['code']
  client_name?: string
  client_uri?: string
  scope?: string
  application_type?: 'web' | 'native'
  jwks_uri?: string
  jwks?: { keys: Array<Record<string, unknown>> }
}

/**
 * Checks the metadata, and keeps only the members of `Described`. Treats `null` and `''` as absent.
 * @throws OAuthError `invalid_redirect_uri`, `invalid_client_metadata` with the name of the member
 * @see RFC 7591 §2, §5
 */
export function described(given: unknown, rules: MetadataRules): { metadata: Described; authMethods: AuthMethods } {
  if (!isObject(given)) throw refused('the metadata is no JSON object')
  const members = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null && value !== ''))
  const uris = redirectUrisOf(members, rules)
  const grants = grantsOf(members)
  for (const name of ADDRESSES) checkAddress(name, members[name])
  const logoutUris = textsOf(members, 'post_logout_redirect_uris') ?? []
  for (const uri of logoutUris) checkUri('post_logout_redirect_uris', uri, rules)
  const name = nameOf(members, rules)
  const jwks = keysOf(members)
  const hasKeys = jwks !== undefined || members['jwks_uri'] !== undefined
  const authMethods = authMethodsOf(members, hasKeys, rules)
  const [method = 'none'] = authMethods
  if (jwks !== undefined && members['jwks_uri'] !== undefined) throw refused('there are both jwks and jwks_uri')
  const type = members['application_type']
  return {
    authMethods,
    metadata: {
      redirect_uris: uris,
      token_endpoint_auth_method: method,
      grant_types: grants,
      response_types: ['code'],
      ...(name === undefined ? {} : { client_name: name }),
      ...optional(members, 'client_uri'),
      ...optional(members, 'scope'),
      ...(type === 'web' || type === 'native' ? { application_type: type } : {}),
      ...(authMethods.includes('private_key_jwt')
        ? { ...optional(members, 'jwks_uri'), ...(jwks === undefined ? {} : { jwks }) }
        : {})
    }
  }
}

/** Creates the client from checked metadata. The client is never a first-party client. */
export function unknownClient(
  clientId: string,
  { metadata, authMethods }: ReturnType<typeof described>,
  { host, isTrusted, redirectSchemes }: Pick<UnknownClient['unknown'], 'host' | 'isTrusted' | 'redirectSchemes'>
): UnknownClient {
  const { redirect_uris: redirectUris, grant_types: grantTypes, jwks_uri: jwksUri, jwks } = metadata
  return {
    clientId,
    firstParty: false,
    // `native` allows any loopback port. Many AI agents use a random port without declaring `application_type`.
    applicationType: 'native',
    name: metadata.client_name ?? placeOf(redirectUris[0] ?? ''),
    redirectUris,
    grantTypes,
    tokenEndpointAuthMethod: metadata.token_endpoint_auth_method,
    ...(jwksUri === undefined ? {} : { jwksUri }),
    ...(jwks === undefined ? {} : { jwks }),
    unknown: { host, isTrusted, authMethods, redirectSchemes }
  }
}

type AuthMethods = ReadonlyArray<'none' | 'private_key_jwt'>

function refused(
  detail: string,
  code: 'invalid_client_metadata' | 'invalid_redirect_uri' = 'invalid_client_metadata'
): OAuthError {
  return new OAuthError(code, `${detail.charAt(0).toUpperCase()}${detail.slice(1)}.`, { detail })
}

const refusedUri = (detail: string): OAuthError => refused(detail, 'invalid_redirect_uri')

function optional(members: Metadata, name: 'client_uri' | 'scope' | 'jwks_uri'): Partial<Record<typeof name, string>> {
  const value = members[name]
  if (value !== undefined && typeof value !== 'string') throw refused(`${name} is no string`)
  return value === undefined ? {} : { [name]: value }
}

function textsOf(members: Metadata, name: string): string[] | undefined {
  const value = members[name]
  if (value === undefined) return undefined
  if (!Array.isArray(value) || !value.every((one) => typeof one === 'string'))
    throw refused(`${name} is no array of strings`)
  return value
}

function redirectUrisOf(members: Metadata, rules: MetadataRules): string[] {
  const uris = textsOf(members, 'redirect_uris') ?? []
  if (uris.length === 0) throw refusedUri('redirect_uris is missing')
  if (uris.length > MAX_REDIRECT_URIS) throw refusedUri(`redirect_uris has more than ${MAX_REDIRECT_URIS} entries`)
  for (const uri of uris) checkUri('redirect_uris', uri, rules)
  return uris
}

function checkUri(name: string, uri: string, { redirectSchemes }: MetadataRules): void {
  const takes = checkRegistrableRedirectUri(uri, redirectSchemes)
  if (takes !== null) throw refusedUri(`an entry of ${name} should have been ${takes}`)
  if (uri.includes('*')) throw refusedUri(`an entry of ${name} has a wildcard`)
}

function grantsOf(members: Metadata): Described['grant_types'] {
  const asked = textsOf(members, 'grant_types') ?? ['authorization_code']
  if (!asked.includes('authorization_code')) throw refused('grant_types lacks authorization_code')
  const responses = textsOf(members, 'response_types') ?? ['code']
  if (!responses.includes('code')) throw refused('response_types lacks code')
  return GRANTS.filter((type) => asked.includes(type))
}

function checkAddress(name: string, value: unknown): void {
  if (value === undefined) return
  if (typeof value !== 'string' || checkWebUri(value) !== null || !value.startsWith('https:'))
    throw refused(`${name} is no https: URL`)
}

function nameOf(members: Metadata, { from, takenNames }: MetadataRules): string | undefined {
  const name = members['client_name']
  if (name === undefined) {
    if (from === 'document') throw refused('client_name is missing')
    return undefined
  }
  if (typeof name !== 'string' || name.trim() === '' || [...name].length > MAX_NAME || UNSEEN.test(name))
    throw refused(`client_name is no text of 1 to ${MAX_NAME} characters that can be shown`)
  if (takenNames.some((taken) => plain(taken) === plain(name))) throw refused('client_name is taken')
  return name
}

const plain = (name: string): string =>
  name
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
    .normalize('NFKC')
    .trim()
    .replaceAll(/\s+/g, ' ')
    .toLowerCase()

/**
 * Returns the authentication methods that both the client and the service support, the client's own choice first.
 * @see OpenID Connect Relying Party Metadata Choices 1.0
 */
function authMethodsOf(members: Metadata, hasKeys: boolean, { from }: MetadataRules): AuthMethods {
  const own = members['token_endpoint_auth_method']
  if (own !== undefined && typeof own !== 'string') throw refused('token_endpoint_auth_method is no string')
  const listed = textsOf(members, 'token_endpoint_auth_methods_supported') ?? []
  if (from === 'document' && Object.keys(members).some((name) => name.startsWith('client_secret')))
    throw refused('a public document has a client_secret')
  const ours = hasKeys ? (['private_key_jwt', 'none'] as const) : (['none'] as const)
  const known = ours.filter((one) => one === own || listed.includes(one))
  if (known.length > 0) return known.toSorted((one, other) => Number(other === own) - Number(one === own))
  // A self-registered client that asks for a secret becomes a public client. PKCE protects its codes, and rotation its
  // refresh tokens.
  if (from === 'registration' || own === undefined) return ['none']
  throw refused('token_endpoint_auth_method and its list have neither none nor private_key_jwt with keys')
}

function keysOf(members: Metadata): Client['jwks'] {
  const jwks = members['jwks']
  if (jwks === undefined) return undefined
  const keys = isObject(jwks) ? jwks['keys'] : undefined
  if (!Array.isArray(keys) || keys.length > MAX_CLIENT_KEYS || !keys.every((key) => isObject(key)))
    throw refused(`jwks has no array of at most ${MAX_CLIENT_KEYS} keys`)
  if (keys.some(hasPrivateMembers)) throw refused('jwks has a private or symmetric key')
  return { keys }
}
