import { isLoopbackHost } from '../protocol/redirect-uri.ts'
import { invalid } from './option-error.ts'
import type { AuthorityOptions } from './options.ts'

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
