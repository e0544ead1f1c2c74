import type { ConnectionOption, ConnectionOptions } from '../ports/provider.ts'
import { authenticatedAt, connection, openidProvider, optionsOf, text } from './make.ts'

const ISSUER = 'https://appleid.apple.com'
/**
 * The issuer that Apple's discovery document named for some days in June 2025, while its ID tokens kept the usual one.
 */
const OTHER_ISSUER = 'https://account.apple.com'
const MAX_NAME = 100
/** The email domains of Apple's own mailboxes. */
const OWN_MAILBOX = /@(?:privaterelay\.appleid|icloud|me|mac)\.com$/

export interface AppleOptions extends Omit<ConnectionOptions, 'clientSecret'> {
  /** The Services ID. */
  clientId: string
  teamId: string
  /** The id of the key "Sign in with Apple". */
  keyId: string
  /** The content of the key's `.p8` file. A literal `\n`, frequent in environment variables, counts as a line break. */
  privateKey: string
}

/**
 * Sign-in with Apple. Each call signs a new client secret that lives for 300 seconds, so the host need not renew a
 * secret every six months. Apple sends the name only once, at the first consent, and unsigned. The email
 * address comes only from the ID token. Each link keeps Apple's refresh token, sealed, because Apple requires an app to
 * revoke it when the account is deleted.
 * @see docs/guides/connections/apple.md
 * @example connections: [apple({ clientId: 'com.example.web', teamId, keyId, privateKey: process.env.APPLE_KEY })]
 */
export function apple(given: AppleOptions): ConnectionOption {
  const options = optionsOf('apple', given, '{ clientId, teamId, keyId, privateKey }')
  return connection(
    options,
    {
      id: 'apple',
      name: 'Apple',
      mark: {
        currentColor: `M17.05 12.54
          c-.03-2.6 2.12-3.85 2.22-3.91-1.21-1.77-3.09-2.01-3.76-2.04-1.6-.16-3.12.94-3.93.94-.81
          0-2.07-.92-3.4-.89-1.75.03-3.36 1.02-4.26 2.58-1.82 3.15-.47 7.81 1.3 10.37.87 1.25 1.9 2.66 3.26 2.6
          1.31-.05 1.8-.84 3.38-.84 1.58 0 2.02.84 3.4.82 1.41-.03 2.3-1.28 3.16-2.54 1-1.45 1.41-2.86
          1.43-2.93-.03-.01-2.75-1.05-2.8-4.16zM14.46 4.92c.72-.87 1.2-2.08 1.07-3.29-1.03.04-2.28.69-3.02
          1.56-.67.77-1.25 2-1.1 3.18 1.15.09 2.33-.58 3.05-1.45z`
      }
    },
    openidProvider({
      issuer: ISSUER,
      endpoints: {
        authorization: `${ISSUER}/auth/authorize`,
        token: `${ISSUER}/auth/token`,
        keys: `${ISSUER}/auth/keys`,
        revocation: `${ISSUER}/auth/revoke`
      },
      signingAlgs: ['RS256'],
      clientAuthentication: 'apple',
      scopes: ['name', 'email'],
      // Apple answers only by POST if a request asks for a name or an email address.
      formPost: true,
      acceptsIssuer: (iss) => iss === ISSUER || iss === OTHER_ISSUER,
      assertion(claims, answer) {
        const email = text(claims['email'])
        return {
          subject: String(claims['sub']),
          issuer: ISSUER,
          email,
          emailVerified: claims['email_verified'] === true || claims['email_verified'] === 'true',
          emailAuthoritative: email !== undefined && OWN_MAILBOX.test(email.toLowerCase()),
          profile: nameOf(answer.get('user')),
          authenticatedAt: authenticatedAt(claims)
        }
      }
    })
  )
}

/** Reads only the name from the parameter `user`, because the parameter is unsigned and the browser can forge it. */
function nameOf(user: string | null): Record<string, string> {
  if (user === null || user.length > 4096) return {}
  let parsed: unknown
  try {
    parsed = JSON.parse(user)
  } catch {
    return {}
  }
  const { name } = (typeof parsed === 'object' && parsed !== null ? parsed : {}) as { name?: unknown }
  const { firstName, lastName } = (typeof name === 'object' && name !== null ? name : {}) as {
    firstName?: unknown
    lastName?: unknown
  }
  const [given, family] = [firstName, lastName].map((part) => text(part)?.slice(0, MAX_NAME))
  const full = [given, family].filter((part) => part !== undefined).join(' ')
  return {
    ...(full === '' ? {} : { name: full }),
    ...(given === undefined ? {} : { given_name: given }),
    ...(family === undefined ? {} : { family_name: family })
  }
}
