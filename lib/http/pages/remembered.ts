import type { FastifyRequest } from 'fastify'
import type { Browser } from '../../sessions/browser-sessions.ts'
import type { Journey, PageDeps } from './deps.ts'

/**
 * The browser for a sign-in of this journey, in which it may be remembered and then need not give a second factor. For
 * what asks for all that the account takes, it is a browser like any other.
 */
export async function signInBrowser(
  request: FastifyRequest,
  { asksAll }: Pick<Journey, 'asksAll'>,
  { browser, cookies: { trusted } }: Pick<PageDeps, 'browser' | 'cookies'>
): Promise<Browser> {
  const read = await browser.read(request)
  return asksAll || trusted === null ? read : { ...read, remembered: trusted.read(request) }
}
