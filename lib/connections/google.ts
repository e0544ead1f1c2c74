import { UpstreamError } from '../errors.ts'
import type { ConnectionOption, ConnectionOptions } from '../ports/provider.ts'
import { authenticatedAt, connection, openidProvider, optionsOf, profileClaims, text } from './make.ts'

const ISSUER = 'https://accounts.google.com'
const DOMAIN = /^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/

export interface GoogleOptions extends ConnectionOptions {
  clientSecret: string
  /**
   * The primary domains of the Google Workspace organizations whose accounts may sign in. Checked in the ID token,
   * because the browser can change the request. Default: any Google account.
   */
  hd?: string | string[] | undefined
}

/**
 * Sign-in with Google. Google is authoritative for an email address that ends in `@gmail.com`, and for the address of
 * a Workspace account. Any other address may belong to another person since Google verified it.
 *
 * @see docs/guides/connections/google.md
 * @example
 * connections: [google({ clientId, clientSecret })]
 */
export function google(given: GoogleOptions): ConnectionOption {
  const { hd, ...options } = optionsOf('google', given)
  const organisations = hd === undefined ? [] : [hd].flat()
  const wrong = organisations.find((domain) => typeof domain !== 'string' || !DOMAIN.test(domain))
  return connection(
    options,
    { id: 'google', name: 'Google' },
    openidProvider({
      brand: 'google',
      issuer: ISSUER,
      // Userinfo adds nothing to the claims of the ID token.
      userinfo: false,
      secretRequired: true,
      clientAuthentication: 'client_secret_post',
      mistake:
        wrong === undefined && (hd === undefined || organisations.length > 0)
          ? null
          : {
              option: 'hd',
              got: wrong ?? hd,
              takes: 'the primary domain of a Google Workspace organisation in lower case, or an array of them'
            },
      // `hd` narrows the account chooser to one domain, or with `*` to any organization. `assertion` checks the
      // organization in the ID token.
      parameters:
        organisations.length === 0 ? {} : { hd: organisations.length === 1 ? (organisations[0] as string) : '*' },
      // Google ignores `prompt=login` and `max_age`, and its ID tokens have no `auth_time`.
      wishes: ({ loginHint, prompt }) => ({
        ...(loginHint === undefined ? {} : { login_hint: loginHint }),
        ...(prompt === undefined ? {} : { prompt: 'select_account' })
      }),
      // The `iss` of Google's ID tokens may have no `https://`.
      acceptsIssuer: (iss) => iss === ISSUER || iss === 'accounts.google.com',
      assertion(claims) {
        const organisation = text(claims['hd'])
        if (organisations.length > 0 && !organisations.includes(organisation ?? ''))
          throw new UpstreamError('email', 'The Google account is of none of the organisations in hd.')
        const email = text(claims['email'])
        return {
          subject: String(claims['sub']),
          issuer: ISSUER,
          email,
          emailVerified: claims['email_verified'] === true,
          emailAuthoritative: organisation !== undefined || email?.toLowerCase().endsWith('@gmail.com') === true,
          profile: profileClaims(claims),
          authenticatedAt: authenticatedAt(claims)
        }
      }
    })
  )
}
