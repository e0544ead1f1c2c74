import { cookieJar } from '../../lib/http/edge/cookie-jar.ts'
import type { CookieName } from '../../lib/protocol/cookies.ts'
import { ISSUER } from './app.ts'

/** The name of one of our cookies. */
export const cookieName = (what: CookieName, issuer = ISSUER, prefix = '/auth'): string =>
  cookieJar({ issuer, prefix }).nameOf(what)
