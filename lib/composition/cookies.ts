import type { CookieOwner } from '../http/edge/cookie-jar.ts'
import {
  type Cookies,
  SEALED,
  type SealedName,
  type SessionCookie,
  sessionCookie
} from '../http/edge/sealed-cookies.ts'
import type { Random, Sealer } from '../ports/cryptography.ts'
import type { Settings } from '../settings/settings.ts'
import { anySecrets, cookieKey, sealerOf } from './secrets.ts'

export function cookiesOf({ session, factors }: Settings, owner: CookieOwner): Cookies {
  const lasting = (of: keyof Cookies, ms = 0): SessionCookie => sessionCookie({ ...owner, seconds: ms / 1000, of })
  const rememberDeviceMs = factors?.rememberDeviceMs ?? null
  return {
    session: lasting('session', session.expiresInMs),
    step: lasting('step'),
    trusted: rememberDeviceMs === null ? null : lasting('trusted', rememberDeviceMs),
    device: lasting('device'),
    prompted: lasting('prompted'),
    enrolment: factors === null ? null : lasting('enrolment')
  }
}

export function cookieSealers(
  { secrets }: Pick<Settings, 'secrets'>,
  owner: CookieOwner,
  random: Random
): Record<SealedName, Sealer> {
  const all = anySecrets(secrets, random)
  const sealers = SEALED.map((kind) => [kind, sealerOf(all, (secret) => cookieKey(secret, kind, owner))])
  return Object.fromEntries(sealers) as Record<SealedName, Sealer>
}
