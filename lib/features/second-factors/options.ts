import { TOKEN_EXCHANGE_GRANT } from '../../protocol/request-params.ts'

export const CREDENTIAL = {
  bytes: 16384,
  what: 'The answer of `navigator.credentials.get`, as the text of `AuthenticationResponseJSON`.'
}

/** Finishes a password grant or a token exchange by the second factor. */
export const MFA_GRANT = {
  type: 'urn:fastify-authority:grant-type:mfa',
  rightOf: ['password', TOKEN_EXCHANGE_GRANT],
  params: {
    mfa_token: { bytes: 8192, what: 'From the answer `mfa_required`.' },
    otp: { bytes: 64, what: 'Six digits of an authenticator app.' },
    recovery_code: { bytes: 128, what: 'Instead of `otp`.' },
    credential: CREDENTIAL
  },
  errors: ['invalid_code', 'invalid_grant'],
  what:
    'the tokens of `grant_type=password` for a user with a second factor. That grant answers 400 ' +
    '`mfa_required` after the right password, with an `mfa_token` and the accepted `methods`. The same client ' +
    'sends the token here within ten minutes, with `otp`, `recovery_code`, or as `credential` the answer of a ' +
    'passkey to `passkey_options`. Nothing is issued before. A token exchange of a user with a second factor ' +
    'answers and continues in the same way. Exists with `factors` and one of the two grants; a client needs ' +
    'the grant with which it began.'
} as const
