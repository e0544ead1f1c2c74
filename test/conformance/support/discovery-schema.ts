/** The rule for a member of a provider's metadata. @see OpenID Connect Discovery 1.0 §3, RFC 8414 §2 */
interface Member {
  is: 'issuer' | 'url' | 'words' | 'flag'
  required?: true
  /** Required words. */
  holds?: readonly string[]
  /** The pattern of each word. */
  like?: RegExp
}

const WORD = /^[\x21-\x7e]+$/
/** RFC 6749 §3.3 */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/
/** Checks the letter case of BCP 47. */
const LANGUAGE = /^[a-z]{2,3}(?:-[A-Z][a-z]{3})?(?:-[A-Z]{2})?$/
const ALG = /^(?:RS|ES|PS)(?:256|384|512)$|^EdDSA$/
const AUTH_METHOD = /^(?:none|client_secret_basic|client_secret_post|private_key_jwt)$/

/** The members that we may have, by the specification that defines them. */
export const MEMBERS: Readonly<Record<string, Member>> = {
  // OpenID Connect Discovery 1.0 §3
  issuer: { is: 'issuer', required: true },
  authorization_endpoint: { is: 'url', required: true },
  token_endpoint: { is: 'url', required: true },
  userinfo_endpoint: { is: 'url', required: true },
  jwks_uri: { is: 'url', required: true },
  scopes_supported: { is: 'words', required: true, holds: ['openid'], like: SCOPE },
  response_types_supported: { is: 'words', required: true, holds: ['code'] },
  response_modes_supported: { is: 'words', holds: ['query', 'form_post'] },
  grant_types_supported: { is: 'words', required: true, holds: ['authorization_code', 'refresh_token'] },
  acr_values_supported: { is: 'words' },
  subject_types_supported: { is: 'words', required: true, holds: ['public'] },
  id_token_signing_alg_values_supported: { is: 'words', required: true, holds: ['RS256'], like: ALG },
  userinfo_signing_alg_values_supported: { is: 'words', like: ALG },
  token_endpoint_auth_methods_supported: {
    is: 'words',
    required: true,
    holds: ['client_secret_basic', 'client_secret_post'],
    like: AUTH_METHOD
  },
  display_values_supported: { is: 'words' },
  claims_supported: { is: 'words', required: true, holds: ['sub', 'iss', 'auth_time', 'acr', 'name', 'email'] },
  ui_locales_supported: { is: 'words', like: LANGUAGE },
  claims_parameter_supported: { is: 'flag' },
  request_parameter_supported: { is: 'flag' },
  request_uri_parameter_supported: { is: 'flag', required: true },
  // RFC 8414 §2
  code_challenge_methods_supported: { is: 'words', required: true, holds: ['S256'], like: /^S256$/ },
  revocation_endpoint: { is: 'url' },
  revocation_endpoint_auth_methods_supported: { is: 'words', like: AUTH_METHOD },
  introspection_endpoint: { is: 'url' },
  introspection_endpoint_auth_methods_supported: { is: 'words', like: AUTH_METHOD },
  token_endpoint_auth_signing_alg_values_supported: { is: 'words', like: ALG },
  revocation_endpoint_auth_signing_alg_values_supported: { is: 'words', like: ALG },
  introspection_endpoint_auth_signing_alg_values_supported: { is: 'words', like: ALG },
  // RFC 9207 §3
  authorization_response_iss_parameter_supported: { is: 'flag', required: true },
  // Initiating User Registration via OpenID Connect 1.0 §4.1
  prompt_values_supported: { is: 'words', holds: ['none', 'login', 'consent', 'select_account', 'create'] },
  // RP-Initiated Logout 1.0 §2.1, Back-Channel Logout 1.0 §2.1
  end_session_endpoint: { is: 'url', required: true },
  backchannel_logout_supported: { is: 'flag', required: true },
  backchannel_logout_session_supported: { is: 'flag', required: true }
}

/** Returns the faults of a document. Its URLs must be https, or http on localhost. */
export function faultsOf(document: Readonly<Record<string, unknown>>): string[] {
  const missing = Object.entries(MEMBERS)
    .filter(([name, { required }]) => required === true && !(name in document))
    .map(([name]) => `${name} is missing`)
  return [
    ...missing,
    ...Object.entries(document).flatMap(([name, value]) => {
      const member = Object.hasOwn(MEMBERS, name) ? MEMBERS[name] : undefined
      return member === undefined
        ? [`${name} is not known`]
        : faultsOfMember(value, member).map((fault) => `${name} ${fault}`)
    })
  ]
}

function faultsOfMember(value: unknown, { is, holds = [], like = WORD }: Member): string[] {
  if (is === 'flag') return typeof value === 'boolean' ? [] : ['is no boolean']
  if (is !== 'words') return typeof value === 'string' ? faultsOfUrl(value, is) : ['is no string']
  if (!Array.isArray(value) || value.length === 0) return ['is no list with elements']
  const words: unknown[] = value
  return [
    ...(new Set(words).size === words.length ? [] : ['says something twice']),
    ...words
      .filter((word) => typeof word !== 'string' || !like.test(word))
      .map((word) => `must not hold ${JSON.stringify(word)}`),
    ...holds.filter((word) => !words.includes(word)).map((word) => `lacks ${word}`)
  ]
}

function faultsOfUrl(value: string, is: 'issuer' | 'url'): string[] {
  if (!URL.canParse(value)) return ['is no URL']
  const { protocol, hostname, search, hash, username, password, href } = new URL(value)
  return [
    ...(protocol === 'https:' || (protocol === 'http:' && hostname === 'localhost') ? [] : ['is not https']),
    ...(hash + username + password === '' ? [] : ['has a fragment or a user name']),
    ...(is === 'issuer' && search !== '' ? ['has a query'] : []),
    ...(href === value || href === `${value}/` ? [] : ['is not spelled as browsers do'])
  ]
}
