import { checkWebUri } from '../protocol/redirect-uri.ts'
import { localPath } from '../protocol/return-to.ts'
import { invalid } from './option-error.ts'
import type { AuthorityOptions } from './options.ts'

const ADDRESSES = ['logoUrl', 'logoUrlDark', 'faviconUrl', 'stylesheetUrl', 'home', 'loginUrl'] as const
const LINKS = ['terms', 'privacy', 'support'] as const
/** Without a query: a mail program would take a subject and a text from there. */
const MAIL_ADDRESS = /^mailto:[\w.!#$&'*+/=^`{|}~-]{1,64}@[A-Za-z0-9.-]{1,255}$/

/**
 * The addresses of the option `pages`. What they are written into escapes them; this refuses those that could not be
 * meant.
 */
export function checkPages({ pages, issuer }: AuthorityOptions): void {
  if (pages === undefined || pages === false) return
  for (const name of ADDRESSES) checkAddress(`pages.${name}`, pages[name], issuer)
  for (const name of LINKS) {
    const given = pages.links?.[name]
    if (name === 'support' && given !== undefined && MAIL_ADDRESS.test(given)) continue
    checkAddress(`pages.links.${name}`, given, issuer)
  }
}

function checkAddress(path: string, given: string | undefined, issuer: string): void {
  if (given === undefined || localPath(given, issuer) !== null) return
  const takes = checkWebUri(given)
  if (takes !== null) throw invalid(path, given, `a path such as "/home", or ${takes}`)
}
