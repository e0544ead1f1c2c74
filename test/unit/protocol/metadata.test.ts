import t from '../../support/tap.ts'
import {
  metadataPath,
  type OfferedEndpoints,
  openidConfigurationPath,
  serverMetadata
} from '../../../lib/protocol/metadata.ts'

const ISSUER = 'https://auth.example.com'
const plain: OfferedEndpoints = {
  issuer: ISSUER,
  endpoints: {
    token: `${ISSUER}/auth/token`,
    revoke: `${ISSUER}/auth/revoke`,
    introspect: `${ISSUER}/auth/introspect`,
    jwks: null
  },
  grantTypes: ['refresh_token'],
  scopes: ['openid'],
  acrValues: ['password'],
  openid: null,
  dpopAlgs: []
}
const openid: OfferedEndpoints = {
  ...plain,
  endpoints: { ...plain.endpoints, jwks: `${ISSUER}/jwks` },
  openid: {
    endpoints: {
      authorize: `${ISSUER}/auth/authorize`,
      userinfo: `${ISSUER}/auth/userinfo`,
      logout: `${ISSUER}/auth/logout`,
      par: null
    },
    mustPush: false,
    idTokenAlgs: ['ES256', 'RS256'],
    uiLocales: ['en', 'de'],
    canSignUp: false
  }
}

// covers R8414-2
t.test('leaves disabled features out of the metadata', async (t) => {
  t.strictSame(serverMetadata(plain), {
    issuer: ISSUER,
    token_endpoint: `${ISSUER}/auth/token`,
    revocation_endpoint: `${ISSUER}/auth/revoke`,
    introspection_endpoint: `${ISSUER}/auth/introspect`,
    grant_types_supported: ['refresh_token'],
    response_types_supported: [],
    scopes_supported: ['openid'],
    acr_values_supported: ['password'],
    token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    token_endpoint_auth_signing_alg_values_supported: ['ES256', 'EdDSA', 'PS256', 'RS256'],
    revocation_endpoint_auth_methods_supported: [
      'none',
      'client_secret_basic',
      'client_secret_post',
      'private_key_jwt'
    ],
    revocation_endpoint_auth_signing_alg_values_supported: ['ES256', 'EdDSA', 'PS256', 'RS256'],
    introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    introspection_endpoint_auth_signing_alg_values_supported: ['ES256', 'EdDSA', 'PS256', 'RS256']
  })
})

// covers OIDF-oidcc-discovery-endpoint-verification R9700-2.1.1 R9207-2.3
t.test('lists the endpoints and features of an OpenID provider in the metadata', async (t) => {
  const document = serverMetadata(openid)
  t.match(document, {
    jwks_uri: `${ISSUER}/jwks`,
    authorization_endpoint: `${ISSUER}/auth/authorize`,
    userinfo_endpoint: `${ISSUER}/auth/userinfo`,
    end_session_endpoint: `${ISSUER}/auth/logout`,
    authorization_response_iss_parameter_supported: true,
    claims_parameter_supported: true,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true
  })
  t.strictSame(document.response_types_supported, ['code'])
  t.strictSame(document.response_modes_supported, ['query', 'fragment', 'form_post'])
  t.strictSame(document.code_challenge_methods_supported, ['S256'])
  t.strictSame(document.subject_types_supported, ['public'])
  t.strictSame(document.id_token_signing_alg_values_supported, ['ES256', 'RS256'])
  t.strictSame(document.ui_locales_supported, ['en', 'de'])
  t.strictSame(document.acr_values_supported, ['password'])
  for (const claim of ['sub', 'iss', 'auth_time', 'sid', 'name', 'email_verified'])
    t.ok(document.claims_supported?.includes(claim), claim)
  t.equal(new Set(document.claims_supported).size, document.claims_supported?.length)
})

// covers R8414-3.1
t.test('OIDC-Discovery-4 derives the paths of both metadata documents from the issuer', async (t) => {
  const cases = [
    ['https://a.example', '', '/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'],
    ['https://a.example/', '', '/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'],
    [
      'https://a.example/one',
      '',
      '/.well-known/oauth-authorization-server/one',
      '/one/.well-known/openid-configuration'
    ],
    [
      'https://a.example/one/',
      '',
      '/.well-known/oauth-authorization-server/one',
      '/one/.well-known/openid-configuration'
    ],
    [
      'https://a.example/one/two',
      '/one',
      '/.well-known/oauth-authorization-server/one/two',
      '/two/.well-known/openid-configuration'
    ],
    [
      'https://a.example/one',
      '/one',
      '/.well-known/oauth-authorization-server/one',
      '/.well-known/openid-configuration'
    ],
    [
      'https://a.example/onetwo',
      '/one',
      '/.well-known/oauth-authorization-server/onetwo',
      '/onetwo/.well-known/openid-configuration'
    ],
    ['https://a.example', '/one', '/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']
  ] as const
  for (const [issuer, mountedAt, metadata, configuration] of cases) {
    t.equal(metadataPath(issuer), metadata, issuer)
    t.equal(openidConfigurationPath(issuer, mountedAt), configuration, `${issuer} at ${mountedAt}`)
  }
})

t.test('lists create as a prompt value only if users can sign up', async (t) => {
  t.strictSame(serverMetadata(openid).prompt_values_supported, ['none', 'login', 'consent', 'select_account'])
  t.strictSame(
    serverMetadata({
      ...openid,
      openid: { ...(openid.openid as NonNullable<OfferedEndpoints['openid']>), canSignUp: true }
    }).prompt_values_supported,
    ['none', 'login', 'consent', 'select_account', 'create']
  )
})
