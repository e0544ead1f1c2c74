import { TOKEN_EXCHANGE_GRANT } from '../../protocol/request-params.ts'

/** The exchange of an ID token, which an app got from another provider, for tokens of this service. */
export const TOKEN_EXCHANGE = {
  type: TOKEN_EXCHANGE_GRANT,
  signsIn: 'any',
  clients: { firstParty: 'nobody is asked there what the client may' },
  params: {
    // The limit of the whole body, because another issuer decides how long the token is.
    subject_token: { bytes: 16384, what: 'An ID token that an app got from the provider of `connection`.' },
    subject_token_type: { bytes: 256, what: '`urn:ietf:params:oauth:token-type:id_token`.' },
    requested_token_type: { bytes: 256, what: '`urn:ietf:params:oauth:token-type:access_token`, or absent.' },
    actor_token: { bytes: 16384, what: null },
    actor_token_type: { bytes: 256, what: null },
    connection: { bytes: 32, what: 'The `id` of a connection with `audiences`.' },
    nonce: {
      bytes: 512,
      what: 'The `nonce` that the app put into the ID token, or the value whose SHA-256 that is, in hexadecimal.'
    }
  },
  errors: ['invalid_grant', 'invalid_scope', 'mfa_enrollment_required', 'mfa_required'],
  what:
    "(RFC 8693): tokens for an ID token that an app got by the provider's own library, for first-party clients" +
    ' that list the grant. `connection` is a connection whose `audiences` name the app. `subject_token` is the' +
    ' ID token, `subject_token_type` is always `urn:ietf:params:oauth:token-type:id_token`, and `nonce` is the' +
    ' value that the app put into it, or the value whose SHA-256 that is in hexadecimal. The server checks ' +
    'signature, `iss`, `aud` (all of several, and `azp`), `exp` and `nonce`. `iat` is at most 300 seconds ago. ' +
    'A token that passes these checks is used up, even if the answer is an error. The person is [decided as at the ' +
    'callback](../guides/connections/README.md#linking). The answer has a refresh token, ' +
    '`issued_token_type`, and an `id_token` if `openid` was granted and redirect sign-in is on. There is no ' +
    '`actor_token`. Exists with a connection that has `audiences`; [the guide](../guides/connections/apps.md) ' +
    'shows it.'
} as const
