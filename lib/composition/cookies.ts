import { aesSealer } from '../adapters/node/sealer.ts'
import type { CookieOwner } from '../http/edge/cookie-jar.ts'
import type { SealedName } from '../http/edge/sealed-cookies.ts'
import { type Cookies, type SessionCookie, sessionCookie } from '../http/edge/session-cookie.ts'
import type { Random } from '../ports/random.ts'
import type { Sealer } from '../ports/sealer.ts'
import type { Settings } from '../settings/settings.ts'
import { cookieKey } from './secrets.ts'

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

/** Where there is no secret, what a browser has begun ends with this process, as the state in memory does. */
export function cookieSealers(
  { secrets }: Pick<Settings, 'secrets'>,
  owner: CookieOwner,
  random: Random
): Record<SealedName, Sealer> {
  const [first = random.secret(), ...former] = secrets
  const sealerOf = (kind: SealedName): Sealer => {
    const keyOf = (secret: string): string => cookieKey(secret, kind, owner).toString('base64url')
    return aesSealer([keyOf(first), ...former.map(keyOf)], { deflates: true })
  }
  return {
    flow: sealerOf('flow'),
    query: sealerOf('query'),
    codes: sealerOf('codes'),
    email: sealerOf('email'),
    link: sealerOf('link'),
    answer: sealerOf('answer')
  }
}
