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
 * a Workspace account. Any other address may have got another owner since Google verified it.
 *
 * @see docs/guides/connections/google.md
 * @example
 * connections: [google({ clientId, clientSecret })]
 */
export function google(given: GoogleOptions): ConnectionOption {
  const { hd, ...options } = optionsOf('google', given)
  const organizations = hd === undefined ? [] : [hd].flat()
  const wrong = organizations.find((domain) => typeof domain !== 'string' || !DOMAIN.test(domain))
  return connection(
    options,
    {
      id: 'google',
      name: 'Google',
      mark: {
        '#4285F4': `M23.49 12.27c0-.79-.07-1.54-.19-2.27H12v4.51h6.47
          c-.29 1.48-1.14 2.73-2.4 3.58v3h3.86c2.26-2.09 3.56-5.17 3.56-8.82z`,
        '#34A853': `M12 24c3.24 0 5.95-1.08 7.93-2.91l-3.86-3
          c-1.08.72-2.45 1.16-4.07 1.16-3.13 0-5.78-2.11-6.73-4.96H1.29v3.09C3.26 21.3 7.31 24 12 24z`,
        '#FBBC05': `M5.27 14.29c-.25-.72-.38-1.49-.38-2.29s.14-1.57.38-2.29V6.62H1.29
          C.47 8.24 0 10.06 0 12s.47 3.76 1.29 5.38z`,
        '#EA4335': `M12 4.75c1.77 0 3.35.61 4.6 1.8l3.42-3.42
          C17.95 1.19 15.24 0 12 0 7.31 0 3.26 2.7 1.29 6.62l3.98 3.09C6.22 6.86 8.87 4.75 12 4.75z`
      }
    },
    openidProvider({
      issuer: ISSUER,
      // Userinfo adds nothing to the claims of the ID token.
      userinfo: false,
      secretRequired: true,
      clientAuthentication: 'client_secret_post',
      mistake:
        wrong === undefined && (hd === undefined || organizations.length > 0)
          ? null
          : {
              option: 'hd',
              got: wrong ?? hd,
              takes: 'the primary domain of a Google Workspace organization in lower case, or an array of them'
            },
      // `hd` narrows the account chooser to one domain, or with `*` to any organization. `assertion` checks the
      // organization in the ID token.
      parameters:
        organizations.length === 0 ? {} : { hd: organizations.length === 1 ? (organizations[0] as string) : '*' },
      // Google ignores `prompt=login` and `max_age`, and its ID tokens have no `auth_time`.
      wishes: ({ loginHint, prompt }) => ({
        ...(loginHint === undefined ? {} : { login_hint: loginHint }),
        ...(prompt === undefined ? {} : { prompt: 'select_account' })
      }),
      // The `iss` of Google's ID tokens may lack the `https://`.
      acceptsIssuer: (iss) => iss === ISSUER || iss === 'accounts.google.com',
      assertion(claims) {
        const organization = text(claims['hd'])
        if (organizations.length > 0 && !organizations.includes(organization ?? ''))
          throw new UpstreamError('email', 'The Google account is of none of the organizations in hd.')
        const email = text(claims['email'])
        return {
          subject: String(claims['sub']),
          issuer: ISSUER,
          email,
          emailVerified: claims['email_verified'] === true,
          emailAuthoritative: organization !== undefined || email?.toLowerCase().endsWith('@gmail.com') === true,
          profile: profileClaims(claims),
          authenticatedAt: authenticatedAt(claims)
        }
      }
    })
  )
}
