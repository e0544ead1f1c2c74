import { cookieJar } from '../../lib/http/edge/cookie-jar.ts'
import { ISSUER } from './app.ts'

/** The name of one of our cookies. */
export const cookieName = (what: string, issuer = ISSUER, prefix = '/auth'): string =>
  cookieJar({ issuer, prefix }).nameOf(what)
