import { createPrivateKey, type KeyObject } from 'node:crypto'
import { domainToASCII } from 'node:url'
import type { Feature } from '../../feature.ts'
import type { Provider } from '../../ports/provider.ts'
import { CONNECTION_ACR } from '../../protocol/authentication.ts'
import { checkWebUri } from '../../protocol/redirect-uri.ts'
import { invalid, requireAssertions } from '../../settings/option-error.ts'
import type { AuthorityOptions } from '../../settings/options.ts'
import { SECRET_TAKES } from '../../settings/schema-words.ts'
import { TOKEN_EXCHANGE } from './grants.ts'
import { CONNECTION_OPTIONS, type ConnectionSettings, resolveConnections, TAKES } from './options.ts'

/** Sign-in at other providers. The option `connections` turns it on. */
export const connections: Feature<ConnectionSettings[]> = {
  name: 'connections',
  options: CONNECTION_OPTIONS,
  acr: [CONNECTION_ACR],
  grants: [TOKEN_EXCHANGE],
  before: refuseUnmade,
  resolve(given) {
    checkProviders(given)
    const { users, registration } = given
    const mayRegister = registration !== false && users.createWithIdentity !== undefined
    const on = resolveConnections(given.connections, mayRegister)
    if (on.length > 0) checkConnections(on, given)
    checkExchange(on, given)
    return on.length === 0 ? null : on
  },
  answersByPost: (on) => on.some(({ provider }) => provider.formPost),
  load: async () => await import('./create.ts')
}

/** Rejects a client with the token exchange grant if no connection takes ID tokens of apps. */
function checkExchange(connections: readonly ConnectionSettings[], { clients = [] }: AuthorityOptions): void {
  if (!Array.isArray(clients) || connections.some(({ audiences }) => audiences.length > 0)) return
  const { type } = TOKEN_EXCHANGE
  const index = clients.findIndex(({ grantTypes }) => grantTypes?.includes(type))
  if (index >= 0)
    throw invalid(
      `clients[${index}].grantTypes`,
      type,
      'the token exchange only where a connection has audiences: there are no ID tokens to be exchanged without'
    )
}

/** Ids that no connection can have, because `/connect/<id>` is the path of a page. */
const RESERVED_IDS = ['confirm']
const DOMAIN = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}$/
const STORE_METHODS = ['findByIdentity', 'linkIdentity'] as const

/**
 * Rejects an entry of `connections` without a `provider`, such as the plain argument of `google(…)`. Runs before the
 * schema check, whose error would name a field that only that function knows.
 * @throws StartError `FST_AUTHORITY_INVALID_OPTIONS` with the path
 */
function refuseUnmade({ connections }: Readonly<Record<string, unknown>>): void {
  if (!Array.isArray(connections)) return
  for (const [index, given] of (connections as unknown[]).entries()) {
    if (typeof given !== 'object' || given === null || Array.isArray(given)) continue
    const { provider } = given as { provider?: unknown }
    if (typeof provider !== 'object' || provider === null)
      throw invalid(`connections[${index}].provider`, provider, TAKES)
  }
}

/**
 * Checks the fields of each provider. A host that does not use TypeScript may omit or misspell an argument of the
 * function that makes the provider.
 * @throws StartError `FST_AUTHORITY_INVALID_OPTIONS` with the path
 */
function checkProviders({ connections = [] }: AuthorityOptions): void {
  for (const [index, { provider }] of connections.entries()) {
    const refuse: Refuse = (field, got, takes) => invalid(`connections[${index}].${field}`, got, takes)
    const { protocol, issuer, endpoints, mistake }: Partial<Provider> = provider
    if (protocol !== 'openid' && protocol !== 'oauth2') throw refuse('provider', provider, TAKES)
    if (typeof issuer !== 'string') throw refuse('issuer', issuer, 'the issuer of the provider: an https: URL')
    for (const place of ['authorization', 'token'] as const) {
      if (endpoints !== null && typeof endpoints?.[place] !== 'string')
        throw refuse(endpointOption(protocol, place), endpoints?.[place], 'an https: URL')
    }
    if (mistake !== null && mistake !== undefined) throw refuse(mistake.option, mistake.got, mistake.takes)
  }
}

function endpointOption(protocol: Provider['protocol'], place: string): string {
  return protocol === 'openid' ? `endpoints.${place}` : `${place}Endpoint`
}

type Refuse = (field: string, got: unknown, takes: string, confidential?: boolean) => Error

/**
 * Checks the rules that the schema of a single field can't express.
 * @throws StartError `FST_AUTHORITY_INVALID_OPTIONS` with the path
 */
function checkConnections(
  connections: readonly ConnectionSettings[],
  { users, secret, pages, state }: AuthorityOptions
): void {
  if (pages === false)
    throw invalid(
      'pages',
      false,
      'anything but false where there are connections: a sign-in elsewhere begins and ends on a page'
    )
  const missing = STORE_METHODS.find((method) => users[method] === undefined)
  if (missing !== undefined)
    throw invalid(
      `users.${missing}`,
      undefined,
      'a function where there are connections: it is how people are known again who signed in elsewhere'
    )
  if (secret === undefined)
    throw invalid(
      'secret',
      undefined,
      `${SECRET_TAKES}, where there are connections: it seals what a sign-in elsewhere begins with, in the browser`
    )
  requireAssertions(state, 'there are connections', 'an answer of a provider is accepted only once')
  for (const [index, connection] of connections.entries()) {
    const refuse: Refuse = (field, got, takes, confidential) =>
      invalid(`connections[${index}].${field}`, got, takes, confidential)
    checkConnection(connection, refuse)
    if (connection.registration && users.createWithIdentity === undefined)
      throw refuse('registration', true, 'true only where the user store has createWithIdentity')
    for (const [before, other] of connections.slice(0, index).entries())
      checkPair(connection, other, `connections[${before}]`, refuse)
  }
}

function checkConnection(
  {
    id,
    clientSecret,
    privateKey,
    keyId,
    teamId,
    scopes,
    domains,
    enforce,
    audiences,
    appNonce,
    button,
    provider
  }: ConnectionSettings,
  refuse: Refuse
): void {
  if (RESERVED_IDS.includes(id)) throw refuse('id', id, 'another id: the path of this one is that of a page')
  const { issuer, endpoints, protocol } = provider
  for (const [name, url] of Object.entries({
    issuer,
    ...Object.fromEntries(Object.entries(endpoints ?? {}).map(([place, url]) => [endpointOption(protocol, place), url]))
  })) {
    const takes = url === undefined ? null : checkWebUri(url)
    if (takes !== null) throw refuse(name, url, takes)
  }
  if (provider.secretRequired && clientSecret === null)
    throw refuse('clientSecret', undefined, 'the secret that the provider gave')
  if (clientSecret !== null && privateKey !== null)
    throw refuse(
      'privateKey',
      privateKey,
      'nothing where clientSecret is set: the client proves itself by one of them',
      true
    )
  const isApple = provider.clientAuthentication === 'apple'
  for (const [name, value] of Object.entries({ privateKey, keyId, teamId })) {
    if (isApple && value === null) throw refuse(name, undefined, `that of Apple's key`)
  }
  if (privateKey !== null && !isSigningKey(keyOf(privateKey), isApple))
    throw refuse(
      'privateKey',
      privateKey,
      isApple
        ? 'the content of the .p8 file that Apple gave: a P-256 key in PEM'
        : 'a private key in PEM: P-256, Ed25519 or RSA of 2048 bits or more',
      true
    )
  if (provider.scopes.includes('openid') && !scopes.includes('openid'))
    throw refuse('scopes', scopes, 'scopes with "openid" among them: there is no ID token without')
  for (const [at, domain] of domains.entries()) {
    if (!DOMAIN.test(domain) || domainToASCII(domain) !== domain)
      throw refuse(`domains[${at}]`, domain, 'a domain in ASCII (xn--), such as "example.com"')
  }
  if (audiences.length > 0 && protocol !== 'openid')
    throw refuse(
      'audiences',
      audiences,
      'nothing here: this provider has no ID tokens, and an access token does not say who signed in'
    )
  if (!appNonce && audiences.length === 0)
    throw refuse('appNonce', appNonce, 'false only with audiences: it is about ID tokens of apps')
  if (enforce && domains.length === 0) throw refuse('enforce', true, 'true only with domains')
  const takes = button.logoUrl === null ? null : checkWebUri(button.logoUrl)
  if (takes !== null) throw refuse('button.logoUrl', button.logoUrl, takes)
}

/** Checks that two connections share no id and no domain, and that two with the same issuer use the same client. */
function checkPair(
  { id, clientId, clientSecret, domains, provider }: ConnectionSettings,
  other: ConnectionSettings,
  where: string,
  refuse: Refuse
): void {
  if (id === other.id) throw refuse('id', id, `an id that no other connection has (${where} has it)`)
  // Links are kept by issuer and subject, and a provider may give one person different subjects for two of its clients.
  if (provider.issuer === other.provider.issuer) {
    const takes = `that of ${where}, which has the same issuer`
    if (clientId !== other.clientId) throw refuse('clientId', clientId, takes)
    if (!Object.is(clientSecret, other.clientSecret)) throw refuse('clientSecret', clientSecret, takes, true)
  }
  const shared = domains.findIndex((domain) => other.domains.includes(domain))
  if (shared >= 0)
    throw refuse(`domains[${shared}]`, domains[shared], `a domain that no other connection has (${where} has it)`)
}

function keyOf(pem: string): KeyObject | null {
  try {
    return createPrivateKey(pem)
  } catch {
    return null
  }
}

function isSigningKey(key: KeyObject | null, es256: boolean): boolean {
  const details = key?.asymmetricKeyDetails
  if (key?.asymmetricKeyType === 'ec') return details?.namedCurve === 'prime256v1'
  return (
    !es256 &&
    (key?.asymmetricKeyType === 'ed25519' ||
      (key?.asymmetricKeyType === 'rsa' && (details?.modulusLength ?? 0) >= 2048))
  )
}
