import { DEVICE_CODE_GRANT } from '../../protocol/request-params.ts'

export const DEVICE_CODE = {
  type: DEVICE_CODE_GRANT,
  signsIn: 'any',
  params: { device_code: { bytes: 256, what: 'The answer of `POST /auth/device`.' } },
  errors: ['access_denied', 'authorization_pending', 'expired_token', 'invalid_grant', 'slow_down'],
  what:
    '(RFC 8628): tokens for a `device_code` after the person has allowed the access on the page of ' +
    '`deviceGrant.path`. Until then the answer is `authorization_pending`, or `slow_down` for a poll that came too ' +
    'early, which adds five seconds to the interval. `access_denied`: the person refused. `expired_token`: nobody ' +
    'decided in time. One poll gets tokens, and every later one `invalid_grant`. The answer has an `id_token` and a ' +
    'refresh token as after an authorization code. Exists with the option `deviceGrant`.'
} as const
