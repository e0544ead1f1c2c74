import { checkWebUri, isLoopbackHost, checkClientRedirectUri } from '../protocol/redirect-uri.ts'
import type { Logo } from '../pages/layout.ts'
import { localPath } from '../protocol/same-origin.ts'
import { invalid } from './option-error.ts'
import type { AuthorityOptions } from './options.ts'
import type { Settings } from './settings.ts'
import type { Client } from '../ports/client-store.ts'

const ADDRESSES = ['faviconUrl', 'stylesheetUrl', 'home', 'loginUrl'] as const
const LINKS = ['terms', 'privacy', 'support'] as const
/** Allows no query, because a mail program would take the subject and the text of the mail from it. */
const MAIL_ADDRESS = /^mailto:[\w.!#$&'*+/=^`{|}~-]{1,64}@[A-Za-z0-9.-]{1,255}$/

/** A host with or without a port: an issuer without its scheme. */
const HOST_ALONE = /^[a-z0-9.-]+(?::\d+)?\/?$/i

/** Checks the options `issuer` and `allowInsecureIssuer`. */
export function checkIssuer({ issuer, allowInsecureIssuer = false }: AuthorityOptions): void {
  if (allowInsecureIssuer && process.env['NODE_ENV'] === 'production')
    throw invalid(
      'allowInsecureIssuer',
      true,
      'false where NODE_ENV is "production": passwords and tokens would cross the network in clear text'
    )
  const takes =
    'an absolute https: URL without query, fragment, user name, empty path segments or percent ' +
    'signs, spelled as browsers do (lower case, xn--, no default port); http: only for ' +
    'localhost, 127.0.0.0/8 and [::1], or with allowInsecureIssuer: true in development'
  if (HOST_ALONE.test(issuer)) {
    const scheme = isLoopbackHost(issuer.split(/[:/]/, 1)[0] ?? '') ? 'http' : 'https'
    throw invalid('issuer', issuer, `an absolute URL with its scheme: "${scheme}://${issuer.replace(/\/$/, '')}"`)
  }
  let url: URL
  try {
    url = new URL(issuer)
  } catch {
    throw invalid('issuer', issuer, takes)
  }
  if (url.protocol === 'http:' && !allowInsecureIssuer && !isLoopbackHost(url.hostname))
    throw invalid(
      'issuer',
      issuer,
      `an absolute https: URL, such as "https://${url.host}". In development, http: on localhost, 127.0.0.0/8 and ` +
        '[::1], or with allowInsecureIssuer: true'
    )
  const plain =
    url.protocol === 'https:' || (url.protocol === 'http:' && (allowInsecureIssuer || isLoopbackHost(url.hostname)))
  const spelled = issuer === url.origin || issuer === url.href
  // The well-known documents of an issuer with a path are routes, and a router gives some characters a special meaning.
  const literal = /^[A-Za-z0-9._~!$&'+,;=@/-]*$/.test(url.pathname)
  if (
    !plain ||
    !spelled ||
    !literal ||
    url.pathname.includes('//') ||
    /[?#]/.test(issuer) ||
    url.username !== '' ||
    url.password !== ''
  )
    throw invalid('issuer', issuer, takes)
}

/** Rejects two decorators with the same name. */
export function checkNames({ decorators }: Settings): void {
  const names = Object.entries(decorators)
  for (const [what, name] of names) {
    const other = names.find(([which, taken]) => which !== what && taken === name)
    if (other !== undefined)
      throw invalid(`decorators.${what}`, name, `another name: this one is that of decorators.${other[0]}`)
  }
}

/** Rejects two endpoints with the same path. */
export function checkPaths({ paths }: Settings): void {
  const places = Object.entries(paths)
  for (const [name, place] of places) {
    if (places.some(([other, taken]) => other !== name && taken === place))
      throw invalid(`paths.${name}`, place, 'a path that no other endpoint has')
  }
}

/** Checks the addresses of the option `pages`. Templates escape them, so this check is only against mistakes. */
export function checkPages({ pages, issuer }: AuthorityOptions): void {
  if (pages === undefined || pages === false) return
  for (const name of ADDRESSES) checkAddress(`pages.${name}`, pages[name], issuer)
  checkLogo('pages.logo', pages.logo, issuer)
  for (const name of LINKS) {
    const given = pages.links?.[name]
    if (name === 'support' && given !== undefined && MAIL_ADDRESS.test(given)) continue
    checkAddress(`pages.links.${name}`, given, issuer)
  }
}

/** Checks the addresses of a logo. `path`: the path of its option, for the error. */
function checkLogo(path: string, given: Logo | undefined, issuer: string): void {
  checkAddress(`${path}.url`, given?.url, issuer)
  checkAddress(`${path}.dark`, given?.dark, issuer)
}

function checkAddress(path: string, given: string | undefined, issuer: string): void {
  const takes = given === undefined ? null : addressTakes(given, issuer)
  if (takes !== null) throw invalid(path, given, takes)
}

/** The accepted values, if a page can't use the address; else `null`. */
function addressTakes(given: string, issuer: string): string | null {
  if (localPath(given, issuer) !== null) return null
  const takes = checkWebUri(given)
  return takes === null ? null : `a path such as "/home", or ${takes}`
}

/** Allows any scheme, because apps in a web view have origins such as `capacitor://localhost`. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[1-9]\d{0,4})?$/

/** A placeholder for the issuer. The validity of a path does not depend on the issuer. */
const ANY_ISSUER = 'https://issuer.invalid'

/** Makes the error of an invalid field from the value and the accepted values. */
export type Refusal = (field: string, got: unknown, takes: string) => Error

/**
 * Checks all URIs and origins of a client.
 * @throws the error that `refusal` makes
 * @see RFC 6749 §3.1.2, RFC 9700 §2.6, OpenID Connect Back-Channel Logout 1.0 §2.2
 */
export function checkUris(client: Client, refusal: Refusal): void {
  for (const name of ['redirectUris', 'postLogoutRedirectUris'] as const) {
    for (const [index, uri] of (client[name] ?? []).entries()) {
      const takes = checkClientRedirectUri(uri, client.applicationType ?? 'web')
      if (takes !== null) throw refusal(`${name}[${index}]`, uri, takes)
      if (uri.includes('*'))
        throw refusal(`${name}[${index}]`, uri, 'a whole URI, because there are no wildcards: list each')
    }
  }
  for (const [index, origin] of (client.origins ?? []).entries()) {
    if (!isOrigin(origin))
      throw refusal(
        `origins[${index}]`,
        origin,
        'one origin as browsers send it: scheme, host and a port that is not the default one, such ' +
          'as "https://app.example.com"'
      )
  }
  for (const name of ['logoUri', 'clientUri', 'backchannelLogoutUri', 'jwksUri'] as const) {
    const uri = client[name]
    const takes = uri === undefined ? null : checkWebUri(uri)
    if (takes !== null) throw refusal(name, uri, takes)
  }
  for (const name of ['url', 'dark'] as const) {
    const address = client.pages?.logo?.[name]
    const takes = address === undefined ? null : addressTakes(address, ANY_ISSUER)
    if (takes !== null) throw refusal(`pages.logo.${name}`, address, takes)
  }
}

/**
 * True if browsers spell the origin like this. Requests are allowed only if their `Origin` header is equal to the
 * origin, character by character.
 * @see RFC 6454 §6.2
 */
function isOrigin(origin: string): boolean {
  if (!ORIGIN.test(origin) || !URL.canParse(origin)) return false
  const url = new URL(origin)
  return url.protocol === 'https:' || url.protocol === 'http:' ? url.origin === origin : url.protocol !== 'file:'
}
