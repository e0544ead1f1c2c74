import { CREDENTIAL } from '../second-factors/options.ts'

/** Signs in by a passkey alone. */
export const PASSKEY_GRANT = {
  type: 'urn:fastify-authority:grant-type:passkey',
  rightOf: ['password'],
  params: { credential: CREDENTIAL },
  errors: ['invalid_grant', 'invalid_scope'],
  what:
    'the tokens of `grant_type=password` for a user with a passkey. `credential` is its answer to the options ' +
    'of `GET /auth/passkey-challenge`. There is no username, no password and no second step; the tokens have ' +
    'the `acr` `phr`. Every refusal is `invalid_grant` with one text. An answer works once. Exists with the ' +
    'password grant and passkeys; a client needs the grant `password`.'
} as const
