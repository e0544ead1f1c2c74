import type { Enrolment } from '../../accounts/factors/enrol-totp.ts'
import type { ShownEnrolment } from '../../pages/common-model.ts'

/** An enrolment as a page shows it. The encoder is read where somebody enrols: few starts of the server see one. */
export async function withQr({ enrolment, secret, uri }: Enrolment): Promise<ShownEnrolment> {
  const { qrPath } = await import('../../pages/qr.ts')
  return { token: enrolment, secret, uri, qr: qrPath(uri) }
}
