import { type Client, GRANT_TYPES } from '../../ports/client-store.ts'
import { Type } from '@sinclair/typebox'
import { AUTH_METHODS, MAX_CLIENT_KEYS } from '../../protocol/client-authentication.ts'
import { JWS_ALGS } from '../../protocol/jws.ts'
import { flag, list, oneOf, option, required, secretText, section, shortText, text, words } from '../schema-words.ts'
import { CLIENT_PAGES } from './pages.ts'

const JWKS = option<NonNullable<Client['jwks']>>(
  Type.Object(
    {
      keys: Type.Array(Type.Record(Type.String(), Type.Unknown()), {
        minItems: 1,
        maxItems: MAX_CLIENT_KEYS,
        takes: `1 to ${MAX_CLIENT_KEYS} public JWKs`
      })
    },
    { takes: 'a key set: { keys: [...] }' }
  )
)
const uri = text({ takes: 'a URI' })
const resource = text({ pattern: '^(?:https?://|/)', takes: 'a resource as the option resources has it' })
const uris = words({ takes: 'an array of URIs' })

/** A registered client, listed or from a client store. The comments of `Client` are the texts of these options. */
export const CLIENT_FIELDS = {
  clientId: required(shortText(256, {})),
  clientSecret: secretText(),
  tokenEndpointAuthMethod: oneOf(AUTH_METHODS, {
    otherwise: 'with a secret Basic and post, with keys `private_key_jwt`, else `none`'
  }),
  jwks: JWKS,
  jwksUri: uri,
  applicationType: oneOf(['web', 'native'], { otherwise: '`web`' }),
  redirectUris: uris,
  postLogoutRedirectUris: uris,
  origins: words({ takes: 'an array of origins', otherwise: 'the origins of `redirectUris`' }),
  grantTypes: list(oneOf(GRANT_TYPES, {}), {
    takes: 'an array of grant types',
    otherwise: '`authorization_code` and `refresh_token`'
  }),
  scopes: words({ takes: 'an array of scopes', otherwise: 'all of `scopes`' }),
  requirePkce: flag({ otherwise: '`true`' }),
  requirePushedAuthorizationRequests: flag({ otherwise: '`false`' }),
  firstParty: flag({ otherwise: '`true`' }),
  name: text({ otherwise: 'its `clientId`' }),
  logoUri: uri,
  clientUri: uri,
  pages: section<NonNullable<Client['pages']>>(CLIENT_PAGES, { takes: '{ title, logo, accentColor }' }),
  idTokenSignedResponseAlg: oneOf(JWS_ALGS, { otherwise: '`RS256`' }),
  idTokenClaims: oneOf(['requested', 'scopes'], { otherwise: '`idToken.claims`' }),
  backchannelLogoutUri: uri,
  acr: text({ otherwise: 'any level' }),
  dpopBoundAccessTokens: flag({ otherwise: '`false`' }),
  resources: list(resource, { takes: 'an array of resources', otherwise: 'all that allow it' }),
  introspects: list(resource, { takes: 'an array of resources', otherwise: 'its own tokens' })
}
