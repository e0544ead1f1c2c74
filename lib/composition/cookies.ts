import { INVITATION_LIFETIME_SECONDS, STEP_LIFETIME_SECONDS } from '../accounts/factors/deps.ts'
import { type Cookies, type SessionCookie, sessionCookie } from '../http/edge/session-cookie.ts'
import { PROMPT_AFTER_SECONDS } from '../http/pages/passkey-proposal.ts'
import type { Settings } from '../settings/settings.ts'

/** `prefix`: before the paths of this registration. */
export function cookiesOf({ issuer, session, factors, emailSignIn }: Settings, prefix: string): Cookies {
  const lasting = (of: keyof Cookies, maxAgeSeconds: number): SessionCookie =>
    sessionCookie({ issuer, prefix, maxAgeSeconds, of })
  const rememberDeviceMs = factors?.rememberDeviceMs ?? null
  return {
    session: lasting('session', session.expiresInMs / 1000),
    step: lasting('step', STEP_LIFETIME_SECONDS),
    trusted: rememberDeviceMs === null ? null : lasting('trusted', rememberDeviceMs / 1000),
    prompted: lasting('prompted', PROMPT_AFTER_SECONDS),
    email: lasting('email', (emailSignIn?.expiresInMs ?? 0) / 1000),
    enrolment: factors === null ? null : lasting('enrolment', INVITATION_LIFETIME_SECONDS)
  }
}
