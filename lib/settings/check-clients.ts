import { acrTakes } from './auth-requirements.ts'
import { invalid } from './option-error.ts'
import type { Client } from '../ports/client-store.ts'
import { CONNECTION_ACR, MFA_ACR } from '../protocol/authentication.ts'
import { TOKEN_EXCHANGE_GRANT } from '../protocol/request-params.ts'
import { checkClientRedirectUri, checkWebUri } from '../protocol/redirect-uri.ts'
import type { Settings } from './settings.ts'

/** Apps in a web view have origins such as `capacitor://localhost`. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[1-9]\d{0,4})?$/

/** The error of a bad field: the value and the accepted values. */
type Refusal = (field: string, got: unknown, takes: string) => Error

export interface ClientRules {
  /** The option `scopes`. */
  scopes: readonly string[]
  /** The algorithms that can sign ID tokens. `null`: a key of any algorithm is made on request. */
  algorithms: readonly string[] | null
  /** Ids that no client may have. */
  reserved: readonly string[]
  /** The values of `acr` that sign-ins can have. */
  acrValues: readonly string[]
}

/**
 * With one `typ` for access tokens and ID tokens, an API distinguishes them by audience, and the audience of an ID
 * token is its client.
 */
export function reservedIds({ audience, typ }: Settings['accessToken']): readonly string[] {
  return typ === 'JWT' ? [audience].flat() : []
}

/**
 * Checks the clients that the host lists. Rows of a client store pass the same check at run time (client-rows).
 * @throws StartError `FST_AUTHORITY_INVALID_OPTIONS`
 */
export function checkClients({ clients, connections, factors, scopes, keys, accessToken, acrValues }: Settings): void {
  if (!Array.isArray(clients)) return
  const algorithms = Array.isArray(keys) ? keys.map(({ alg }) => alg).filter((alg) => typeof alg === 'string') : null
  const seen = new Set<string>()
  for (const [index, client] of clients.entries()) {
    const path = `clients[${index}]`
    if (seen.has(client.clientId)) throw invalid(`${path}.clientId`, client.clientId, 'an id that no other client has')
    seen.add(client.clientId)
    checkClient(client, { scopes, algorithms, reserved: reservedIds(accessToken), acrValues }, (field, got, takes) =>
      invalid(`${path}.${field}`, got, takes)
    )
    if (hasPasswordAlone(client) && client.acr !== undefined && !passwordReaches(client.acr, factors !== null))
      throw invalid(
        `${path}.acr`,
        client.acr,
        'what the grant "password" can be worth where the client has no other ' +
          `(${factors === null ? 'with the option factors that is more' : 'a sign-in elsewhere is none of it'})`
      )
    // A row in a client store keeps its other grants. This one is refused when it is used.
    if (client.firstParty === false && client.grantTypes?.includes(TOKEN_EXCHANGE_GRANT) === true)
      throw invalid(
        `${path}.grantTypes`,
        TOKEN_EXCHANGE_GRANT,
        'the token exchange only without firstParty: false, for nobody is asked there what the client may'
      )
    if (
      client.grantTypes?.includes(TOKEN_EXCHANGE_GRANT) === true &&
      !connections.some(({ audiences }) => audiences.length > 0)
    )
      throw invalid(
        `${path}.grantTypes`,
        TOKEN_EXCHANGE_GRANT,
        'the token exchange only where a connection has audiences: there are no ID tokens to be exchanged without'
      )
    if (client.firstParty === false && client.grantTypes?.includes('password') === true)
      throw invalid(
        `${path}.grantTypes`,
        'password',
        '"password" only without firstParty: false, for nobody should tell a password to other people\'s programs'
      )
  }
}

/** True if its users get tokens by the password grant alone, without any page. */
function hasPasswordAlone({ grantTypes = [] }: Client): boolean {
  return (
    grantTypes.includes('password') &&
    !grantTypes.includes('authorization_code') &&
    !grantTypes.includes(TOKEN_EXCHANGE_GRANT)
  )
}

function passwordReaches(acr: string, withFactors: boolean): boolean {
  return withFactors ? acr !== CONNECTION_ACR : acr !== CONNECTION_ACR && acr !== MFA_ACR
}

/**
 * Checks one client by itself, beyond the schema of its fields.
 * @throws the error that `refusal` makes
 */
export function checkClient(
  client: Client,
  { scopes, algorithms, reserved, acrValues }: ClientRules,
  refusal: Refusal
): void {
  if (reserved.includes(client.clientId))
    throw refusal(
      'clientId',
      client.clientId,
      'another id than accessToken.audience, where accessToken.typ is "JWT": an API would take ' +
        'its ID tokens for access tokens'
    )
  const unknown = client.scopes?.find((scope) => !scopes.includes(scope))
  if (unknown !== undefined) throw refusal('scopes', unknown, `scopes of the option scopes (${scopes.join(' ')})`)
  checkUris(client, refusal)
  checkGrants(client, refusal)
  const alg = client.idTokenSignedResponseAlg
  if (alg !== undefined && algorithms !== null && !algorithms.includes(alg))
    throw refusal('idTokenSignedResponseAlg', alg, `an algorithm of the option keys (${algorithms.join(', ')})`)
  if (client.acr !== undefined && !acrValues.includes(client.acr)) throw refusal('acr', client.acr, acrTakes(acrValues))
}

/** @see RFC 6749 §3.1.2, RFC 9700 §2.6, OpenID Connect Back-Channel Logout 1.0 §2.2 */
function checkUris(client: Client, refusal: Refusal): void {
  for (const name of ['redirectUris', 'postLogoutRedirectUris'] as const) {
    for (const [index, uri] of (client[name] ?? []).entries()) {
      const takes = checkClientRedirectUri(uri, client.applicationType ?? 'web')
      if (takes !== null) throw refusal(`${name}[${index}]`, uri, takes)
      if (uri.includes('*'))
        throw refusal(`${name}[${index}]`, uri, 'a whole URI, because there are no wildcards: list each')
    }
  }
  for (const [index, origin] of (client.origins ?? []).entries()) {
    if (!isOrigin(origin))
      throw refusal(
        `origins[${index}]`,
        origin,
        'one origin as browsers send it: scheme, host and a port that is not the default one, such ' +
          'as "https://app.example.com"'
      )
  }
  for (const name of ['logoUri', 'clientUri', 'backchannelLogoutUri'] as const) {
    const uri = client[name]
    const takes = uri === undefined ? null : checkWebUri(uri)
    if (takes !== null) throw refusal(name, uri, takes)
  }
}

/**
 * An `Origin` header is compared character by character.
 * @see RFC 6454 §6.2
 */
function isOrigin(origin: string): boolean {
  if (!ORIGIN.test(origin) || !URL.canParse(origin)) return false
  const url = new URL(origin)
  return url.protocol === 'https:' || url.protocol === 'http:' ? url.origin === origin : url.protocol !== 'file:'
}

/** @see RFC 6749 §3.1.2.2, §4.4, RFC 9700 §2.1.1 */
function checkGrants(
  { clientSecret, grantTypes = [], redirectUris = [], requirePkce }: Client,
  refusal: Refusal
): void {
  if (clientSecret === undefined && requirePkce === false)
    throw refusal(
      'requirePkce',
      requirePkce,
      'false only with a clientSecret: a public client has nothing else to prove that it began'
    )
  if (clientSecret === undefined && grantTypes.includes('client_credentials'))
    throw refusal('grantTypes', 'client_credentials', '"client_credentials" only with a clientSecret')
  if (grantTypes.includes('authorization_code') && redirectUris.length === 0)
    throw refusal('redirectUris', redirectUris, 'one URI at least, for the grant "authorization_code"')
}
