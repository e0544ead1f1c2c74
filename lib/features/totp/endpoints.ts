import { type ProvingDeps } from '../second-factors/deps.ts'
import { Type } from '@sinclair/typebox'
import { requireConfirmedAddress } from '../second-factors/addition.ts'
import { accountOf } from '../../http/edge/caller-guards.ts'
import { localeOf, originOf } from '../../http/edge/request-origin.ts'
import { endpoint, type Endpoint } from '../../http/edge/endpoint.ts'
import { FactorName, SecondFactorCode } from '../../http/edge/schemas.ts'
import { ENDED, freshCaller, RecoveryCodes } from '../second-factors/endpoints.ts'
import { confirmEnrolment, startEnrolment } from './enrol.ts'

const Enrolment = Type.Object({
  enrolment: Type.String({ description: 'Goes back with the first code, within ten minutes.' }),
  secret: Type.String({ description: 'base32, for people who type it.' }),
  uri: Type.String({ description: 'The `otpauth:` URI, for a link on the same device.' }),
  qr_svg: Type.String({ description: 'The same as an SVG image of a QR code.' })
})
const ConfirmBody = Type.Object(
  { enrolment: Type.String({ maxLength: 4096 }), code: SecondFactorCode, name: Type.Optional(FactorName) },
  { additionalProperties: false }
)

/**
 * The endpoints that set up an app. Beginning requires a fresh sign-in. Confirming does not, because the sealed
 * enrolment proves that sign-in.
 */
export function totpEndpoints(accounts: ProvingDeps): Endpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/factors/totp',
      callers: 'account',
      summary: 'Begin to set up an authenticator app',
      what:
        'Returns a new key for an authenticator app as text, URI and QR code. Nothing is stored before a code of the ' +
        'app was right.',
      answers: { 200: Enrolment },
      errors: { 401: 'insufficient_user_authentication' },
      async handle(request) {
        const { user, sid, locale, origin } = await freshCaller(request, accounts)
        await requireConfirmedAddress(user, { locale, origin }, accounts)
        const begun = await startEnrolment({ user, sid }, accounts)
        const { qrSvg } = await import('../../pages/qr.ts')
        return { ...begun, qr_svg: qrSvg(begun.uri) }
      }
    }),
    endpoint({
      method: 'POST',
      path: '/factors/totp/confirm',
      callers: 'account',
      summary: 'Set up an authenticator app',
      what:
        'Stores the app after a right code of it, and turns two-step sign-in on. If that was off, all other sign-ins ' +
        'of the user end. A user without recovery codes gets `recovery_codes`.',
      body: ConfirmBody,
      answers: { 201: Type.Object({ id: Type.String(), recovery_codes: Type.Optional(RecoveryCodes) }) },
      errors: {
        400: { invalid_code: '', invalid_token: 'the enrolment is of another sign-in, or older than ten minutes' },
        401: { login_required: ENDED },
        409: 'factor_limit'
      },
      async handle(request, reply) {
        const { user, sid, stay } = accountOf(request)
        const { enrolment, code, name = '' } = request.body
        const { factorId, recoveryCodes } = await confirmEnrolment(
          {
            user,
            sid,
            stays: stay(reply),
            enrolment,
            code,
            name,
            locale: localeOf(request),
            origin: originOf(request)
          },
          accounts
        )
        return { id: factorId, ...(recoveryCodes === null ? {} : { recovery_codes: recoveryCodes }) }
      }
    })
  ]
}
