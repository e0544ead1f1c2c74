import { Type } from '@sinclair/typebox'
import { GRANT_TYPES } from '../../ports/client-store.ts'
import { flag, oneOf, optional, secretText, words } from '../schema-words.ts'

/** A registered client, listed or from a client store. */
export const CLIENT_SCHEMA = Type.Object(
  {
    clientId: Type.String({
      minLength: 1,
      maxLength: 256,
      takes: 'a string of 1 to 256 characters',
      description: 'What the client is called in requests and tokens.'
    }),
    clientSecret: optional(
      secretText({
        description:
          'Without it the client is public. Make it in base64url, which is the same with and without ' +
          'form-encoding: `node -p "crypto.randomBytes(32).toString(\'base64url\')"`.'
      })
    ),
    applicationType: optional(
      oneOf(['web', 'native'], {
        description:
          "Default: `web`. `native`: an app on the person's device, whose redirect URIs may have a " +
          'private-use scheme with a dot, and any port of a loopback address.'
      })
    ),
    redirectUris: optional(
      words({
        takes: 'an array of URIs',
        description:
          'Where codes may be sent: `https:`, `http:` on this machine, or for `native` a private-use ' +
          'scheme with a dot. Compared character by character; the port of a loopback address may be ' +
          'another for `native`.'
      })
    ),
    postLogoutRedirectUris: optional(
      words({ takes: 'an array of URIs', description: 'Where a sign-out may lead. Compared character by character.' })
    ),
    origins: optional(
      words({
        takes: 'an array of origins',
        description: 'Which pages may call by CORS. Default: the origins of `redirectUris`.'
      })
    ),
    grantTypes: optional(
      Type.Array(oneOf(GRANT_TYPES, {}), {
        takes: 'an array of grant types',
        description: 'What the client may use. Default: `authorization_code` and `refresh_token`.'
      })
    ),
    scopes: optional(
      words({ takes: 'an array of scopes', description: 'What the client may be granted. Default: all of `scopes`.' })
    ),
    requirePkce: optional(
      flag({ takes: 'true or false', description: 'Default: `true`. `false` only with a `clientSecret`.' })
    ),
    firstParty: optional(
      flag({
        takes: 'true or false',
        description:
          "Default: `true`. `false`: somebody else's program. It asks people for consent and never " +
          'has the password grant.'
      })
    ),
    name: optional(Type.String({ takes: 'a string', description: 'What the pages call it. Default: its `clientId`.' })),
    logoUri: optional(Type.String({ takes: 'a URI', description: 'Its logo, on the consent page: an `https:` URL.' })),
    clientUri: optional(
      Type.String({ takes: 'a URI', description: 'A page about it, linked on the consent page: an `https:` URL.' })
    ),
    idTokenSignedResponseAlg: optional(
      oneOf(['RS256', 'ES256', 'PS256', 'EdDSA'], { description: 'Default: `RS256`.' })
    ),
    idTokenClaims: optional(
      oneOf(['requested', 'scopes'], { description: 'Which claims its ID tokens have. Default: `idToken.claims`.' })
    ),
    backchannelLogoutUri: optional(
      Type.String({
        takes: 'a URI',
        description:
          'Is told when a browser session ends that the client took part in (OpenID Connect Back-Channel Logout 1.0).'
      })
    ),
    acr: optional(
      Type.String({
        takes: 'a string',
        description:
          'What a sign-in must be worth at the least for this client to get tokens of the user, ' +
          'whatever `acr_values` the request has: one of `acr_values_supported`. Default: anything. ' +
          '[Step-up](../guides/step-up.md)'
      })
    )
  },
  { additionalProperties: false, takes: 'a client' }
)
