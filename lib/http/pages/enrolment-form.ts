import { type FactorDeps, secondFactorCheck } from '../../accounts/factors/deps.ts'
import type { User } from '../../ports/user-store.ts'
import type { PageDeps, Visit } from './deps.ts'
import type { Enrolment } from '../../accounts/factors/apps.ts'
import type { ShownEnrolment } from '../../pages/common-model.ts'

/**
 * An enrolment as a page shows it. The encoder is loaded at the first enrolment, because most starts of the server see
 * none.
 */
export async function withQr({ enrolment, secret, uri }: Enrolment): Promise<ShownEnrolment> {
  const { qrPath } = await import('../../pages/qr.ts')
  return { token: enrolment, secret, uri, qr: qrPath(uri) }
}

/**
 * Makes the browser in which a factor was set up known for it, as a sign-in with it does. Under the factors of now, so
 * another change makes the browser unknown again. A failure stops nobody: the reply has the recovery codes.
 */
export async function knowBrowser(
  user: User,
  { request, reply }: Pick<Visit, 'request' | 'reply'>,
  { limiter }: Pick<PageDeps, 'limiter'>,
  { store }: Pick<FactorDeps, 'store'>
): Promise<void> {
  const found = await store.findFactors(user.id).catch(() => null)
  if (found !== null) limiter.makeKnown(request, reply, secondFactorCheck(user, found, { kind: 'totp' }))
}
