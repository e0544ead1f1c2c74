import { INVITATION_LIFETIME_SECONDS, STEP_LIFETIME_SECONDS } from '../accounts/factors/deps.ts'
import type { CookieOwner } from '../http/edge/cookie-jar.ts'
import { type Cookies, type SessionCookie, sessionCookie } from '../http/edge/session-cookie.ts'
import { KNOWN_FOR_SECONDS } from '../limits/known-devices.ts'
import { PROMPT_AFTER_SECONDS } from '../http/pages/passkey-proposal.ts'
import type { Settings } from '../settings/settings.ts'

export function cookiesOf({ session, factors, emailSignIn }: Settings, owner: CookieOwner): Cookies {
  const lasting = (of: keyof Cookies, maxAgeSeconds: number): SessionCookie =>
    sessionCookie({ ...owner, maxAgeSeconds, of })
  const rememberDeviceMs = factors?.rememberDeviceMs ?? null
  return {
    session: lasting('session', session.expiresInMs / 1000),
    step: lasting('step', STEP_LIFETIME_SECONDS),
    trusted: rememberDeviceMs === null ? null : lasting('trusted', rememberDeviceMs / 1000),
    device: lasting('device', KNOWN_FOR_SECONDS),
    prompted: lasting('prompted', PROMPT_AFTER_SECONDS),
    email: lasting('email', (emailSignIn?.expiresInMs ?? 0) / 1000),
    enrolment: factors === null ? null : lasting('enrolment', INVITATION_LIFETIME_SECONDS)
  }
}
