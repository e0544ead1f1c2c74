import { authMethodsOf, hasKeys, isPublic } from '../clients/rights.ts'
import { algsOf, publicKeyOf } from '../protocol/jws.ts'
import { acrTakes } from './auth-requirements.ts'
import { invalid, schemaMistake } from './option-error.ts'
import type { Client } from '../ports/client-store.ts'
import { contextOf } from '../protocol/authentication.ts'
import type { GrantDeclaration } from '../oauth/deps.ts'
import { ADMIN_SCOPES } from '../protocol/scope.ts'
import { type Resource, resourceNamed } from '../protocol/resource.ts'
import type { Settings } from './settings.ts'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import { misfit, MisfitError } from '../errors.ts'
import { checkUris, type Refusal } from './check-addresses.ts'
import { section } from './schema-words.ts'
import { CLIENT_FIELDS } from './sections/clients.ts'

/** Client fields that require a feature, with the option that turns the feature on. */
const NEEDS = { dpopBoundAccessTokens: 'dpop', requirePushedAuthorizationRequests: 'par' } as const

export interface ClientRules {
  /** The option `scopes`. */
  scopes: readonly string[]
  /** The settings of the features that are on. */
  features: Settings['features']
  /**
   * The algorithms that can sign ID tokens. `null`: any algorithm is accepted, because the option `keys` does not list
   * JWKs.
   */
  algorithms: readonly string[] | null
  /** Ids that no client may have. */
  reserved: readonly string[]
  /** The values of `acr` that sign-ins can have. */
  acrValues: readonly string[]
  /** All grants, also those that options turn off. */
  grants: readonly GrantDeclaration[]
}

/**
 * Ids that no client may have: the audiences of access tokens, if `typ` does not distinguish the tokens from ID tokens.
 * The audience of an ID token is its client, so an API could accept that token.
 */
export function reservedIds(
  { audience, typ }: Settings['accessToken'],
  resources: readonly Resource[]
): readonly string[] {
  return typ === 'JWT' ? [audience, ...resources.map(({ resource }) => resource)].flat() : []
}

/**
 * Checks the clients that the host lists. Rows of a client store get only `checkClient`, when read (`clientRows`).
 * @throws StartError `FST_AUTHORITY_INVALID_OPTIONS`
 */
export function checkClients(
  { clients, features, shared: { factors }, apis: { scopes, resources }, keys, accessToken, acrValues }: Settings,
  grants: readonly GrantDeclaration[]
): void {
  if (!Array.isArray(clients)) return
  const algorithms = Array.isArray(keys) ? keys.map(({ alg }) => alg).filter((alg) => typeof alg === 'string') : null
  const seen = new Set<string>()
  for (const [index, client] of clients.entries()) {
    const path = `clients[${index}]`
    if (seen.has(client.clientId)) throw invalid(`${path}.clientId`, client.clientId, 'an id that no other client has')
    seen.add(client.clientId)
    checkClient(
      client,
      {
        scopes,
        features,
        algorithms,
        reserved: reservedIds(accessToken, resources),
        acrValues,
        grants
      },
      (field, got, takes) => invalid(`${path}.${field}`, got, takes)
    )
    const signIns = grants.flatMap(({ type, signsIn }) => (isListed(client, type) ? (signsIn ?? []) : []))
    // A client that signs users in by the password grant alone can't reach a level that needs a page.
    const byPasswordAlone = signIns.includes('password') && !signIns.includes('any')
    if (byPasswordAlone && client.acr !== undefined && !passwordReaches(client.acr, factors !== undefined))
      throw invalid(
        `${path}.acr`,
        client.acr,
        'what the grant "password" can be worth where the client has no other ' +
          `(${factors === undefined ? 'with the option factors that is more' : 'a sign-in elsewhere is none of it'})`
      )
    // Not checked for rows of a client store: they keep their other grants, and this grant is refused when used.
    for (const { type, clients: { firstParty } = {} } of grants) {
      if (firstParty !== undefined && client.firstParty === false && isListed(client, type))
        throw invalid(`${path}.grantTypes`, type, `"${type}" only without firstParty: false, for ${firstParty}`)
    }
  }
}

/**
 * Checks that the APIs of listed clients exist. It runs when the app is ready, because `app.protectedResource` adds
 * APIs until then.
 * @throws StartError `FST_AUTHORITY_INVALID_OPTIONS`
 */
export function checkClientResources({ clients, issuer, apis: { resources } }: Settings): void {
  if (!Array.isArray(clients)) return
  const takes = `an API of the option resources or of protectedResource (${
    resources.map(({ resource }) => resource).join(', ') || 'there is none'
  })`
  for (const [index, client] of clients.entries())
    for (const field of ['resources', 'introspects'] as const)
      for (const [place, text] of (client[field] ?? []).entries())
        if (resourceNamed(text, resources, issuer) === undefined)
          throw invalid(`clients[${index}].${field}[${place}]`, text, takes)
}

const isListed = ({ grantTypes = [] }: Pick<Client, 'grantTypes'>, type: string): boolean =>
  (grantTypes as readonly string[]).includes(type)

/** True if a password reaches this level, together with a second factor if the service has them. */
function passwordReaches(acr: string, withFactors: boolean): boolean {
  const methods = ['password' as const, ...(withFactors ? (['otp', 'passkey'] as const) : [])]
  return contextOf({ methods: methods.map((method) => ({ method, at: 0 })), authenticatedAt: 0 }, [acr]) !== null
}

/**
 * Checks one client by itself, beyond the schema of its fields.
 * @throws the error that `refusal` makes
 */
function checkClient(
  client: Client,
  { scopes, features, algorithms, reserved, acrValues, grants }: ClientRules,
  refusal: Refusal
): void {
  if (reserved.includes(client.clientId))
    throw refusal(
      'clientId',
      client.clientId,
      'another id than accessToken.audience, where accessToken.typ is "JWT": an API would take ' +
        'its ID tokens for access tokens'
    )
  const known = Object.hasOwn(features, 'admin') ? [...scopes, ...ADMIN_SCOPES] : scopes
  const unknown = client.scopes?.find((scope) => !known.includes(scope))
  if (unknown !== undefined)
    throw refusal('scopes', unknown, `scopes of the options scopes and resources (${scopes.join(' ')})`)
  checkUris(client, refusal)
  checkProof(client, refusal)
  checkGrants(client, grants, refusal)
  for (const [field, feature] of Object.entries(NEEDS) as Array<[keyof typeof NEEDS, string]>)
    if (client[field] === true && !Object.hasOwn(features, feature))
      throw refusal(field, true, `true only with the option ${feature}`)
  const alg = client.idTokenSignedResponseAlg
  if (alg !== undefined && algorithms !== null && !algorithms.includes(alg))
    throw refusal('idTokenSignedResponseAlg', alg, `an algorithm of the option keys (${algorithms.join(', ')})`)
  if (client.acr !== undefined && !acrValues.includes(client.acr)) throw refusal('acr', client.acr, acrTakes(acrValues))
}

/**
 * Checks that the client has the secret or keys of its authentication method, and each key. A client with both must
 * name its method. A client with `none` must have neither. @see RFC 7523 §3, RFC 7517 §4
 */
function checkProof(client: Client, refusal: Refusal): void {
  const { tokenEndpointAuthMethod: method, clientSecret, jwks, jwksUri } = client
  if (jwks !== undefined && jwksUri !== undefined) throw refusal('jwksUri', jwksUri, 'nothing where jwks is set')
  const [hasSecret, hasKey] = [clientSecret !== undefined, hasKeys(client)]
  if (hasSecret && hasKey && method === undefined)
    throw refusal('tokenEndpointAuthMethod', method, 'one way for a client that has both a secret and keys')
  const fits = { none: !hasSecret && !hasKey, private_key_jwt: hasKey }[authMethodsOf(client)[0] as string] ?? hasSecret
  if (!fits)
    throw refusal(
      'tokenEndpointAuthMethod',
      method,
      'a way that fits: client_secret_… with clientSecret, private_key_jwt with jwks or jwksUri, none with neither'
    )
  for (const [index, jwk] of (jwks?.keys ?? []).entries())
    if (!algsOf(jwk).some((alg) => publicKeyOf(jwk, alg) !== null))
      throw refusal(
        `jwks.keys[${index}]`,
        jwk['kty'],
        'a public key for ES256, EdDSA, PS256 or RS256 (2,048 to 4,096 bits), without private members'
      )
}

/** Checks what the grants require of the client. @see RFC 6749 §3.1.2.2, §4.4, RFC 9700 §2.1.1 */
function checkGrants(client: Client, grants: readonly GrantDeclaration[], refusal: Refusal): void {
  const { redirectUris = [], requirePkce } = client
  if (isPublic(client) && requirePkce === false)
    throw refusal(
      'requirePkce',
      requirePkce,
      'false only with a clientSecret or keys: a public client has nothing else to prove that it began'
    )
  for (const { type, clients: needs = {} } of grants) {
    if (!isListed(client, type)) continue
    if (needs.confidential === true && isPublic(client))
      throw refusal('grantTypes', type, `"${type}" only with a clientSecret or keys`)
    if (needs.redirectUris === true && redirectUris.length === 0)
      throw refusal('redirectUris', redirectUris, `one URI at least, for the grant "${type}"`)
  }
}

const SCHEMA = section<Client>(CLIENT_FIELDS, { takes: 'a client' })
const SOURCE = 'clients.findById'
/** The cached texts take at most 8 MB. */
const MOST_KNOWN = 1000
const LONGEST_KNOWN = 4096

/**
 * Reads and checks a row of a client store at each lookup. A field with `null`, as in SQL, counts as absent. An unknown
 * field is refused, because a table's own `first_party` would otherwise be ignored silently.
 *
 * @throws MisfitError that names the field, and shows no value
 */
export function clientRows(rules: ClientRules): (row: unknown) => Client {
  let schema: TypeCheck<typeof SCHEMA> | undefined
  const names = Object.keys(CLIENT_FIELDS)
  const known = new Map<string, { text: string; client: Client }>()

  /**
   * Copies the fields, and reads known fields by name, because an instance of a class may have getters, which
   * `Object.keys` omits.
   */
  function fieldsOf(row: unknown): Client {
    if (typeof row !== 'object' || row === null || Array.isArray(row)) throw refusal(undefined, row, 'a client')
    const given = row as Record<string, unknown>
    const fields = [...new Set([...Object.keys(given), ...names])].map((name) => [name, given[name]] as const)
    return Object.fromEntries(fields.filter(([, value]) => value !== null && value !== undefined)) as unknown as Client
  }

  function checked(client: Client): Client {
    schema ??= TypeCompiler.Compile(SCHEMA)
    if (!schema.Check(client)) {
      const mistake = schemaMistake(SCHEMA, client)
      if (mistake?.among !== undefined)
        throw new MisfitError('store', {
          source: SOURCE,
          field: mistake.path,
          problem: `no field of a client. There are: ${mistake.among.join(', ')}`
        })
      throw refusal(mistake?.path, mistake?.got, mistake?.takes ?? 'a client')
    }
    checkClient(client, rules, refusal)
    return client
  }

  // Cache the result, because checking a client's addresses takes a tenth of a refresh, and most rows have not changed.
  return (row) => {
    // Compares the fields, not the row itself, because the `toJSON` of a row may omit secret fields.
    const fields = fieldsOf(row)
    const text = textOf(fields)
    const before = text === null ? undefined : known.get(fields.clientId)
    if (before !== undefined && before.text === text) return before.client
    const client = checked(fields)
    if (text !== null) {
      if (known.size >= MOST_KNOWN) known.clear()
      known.set(client.clientId, { text, client })
    }
    return client
  }
}

/** Identifies a row. `null` if it is too long to keep, or not JSON. */
function textOf(fields: Client): string | null {
  try {
    const text = JSON.stringify(fields)
    return text.length > LONGEST_KNOWN ? null : text
  } catch {
    return null
  }
}

function refusal(field: string | undefined, got: unknown, takes: string): MisfitError {
  return misfit('store', { source: SOURCE, got, takes, ...(field === undefined ? {} : { field }) })
}
