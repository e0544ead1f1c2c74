import { UpstreamError } from '../errors.ts'
import type { ConnectionOption, ConnectionOptions } from '../ports/provider.ts'
import { connection, oauthProvider, object, optionsOf, text } from './make.ts'

const ISSUER = 'https://github.com/login/oauth'
const API = 'https://api.github.com'
const HEADERS = { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' }
const MAIL_SCOPES = ['user:email', 'user']

export interface GithubOptions extends ConnectionOptions {
  clientSecret: string
}

/**
 * Sign-in with GitHub. Identifies a user by the numeric id, because GitHub can give a former login to another user.
 * Uses the primary email address, if GitHub verified it. Ignores the public address of the profile, because GitHub does
 * not say whether that one is verified.
 *
 * @see docs/guides/connections/github.md
 * @example
 * connections: [github({ clientId, clientSecret })]
 */
export function github(given: GithubOptions): ConnectionOption {
  const options = optionsOf('github', given)
  const scopes = options.scopes ?? ['read:user', 'user:email']
  return connection(
    options,
    { id: 'github', name: 'GitHub' },
    oauthProvider({
      brand: 'github',
      issuer: ISSUER,
      endpoints: { authorization: `${ISSUER}/authorize`, token: `${ISSUER}/access_token` },
      secretRequired: true,
      scopes,
      wishes: ({ loginHint, prompt }) => ({
        ...(loginHint === undefined || loginHint.includes('@') ? {} : { login: loginHint }),
        ...(prompt === undefined ? {} : { prompt: 'select_account' })
      }),
      async identify(get) {
        const [user, emails] = await Promise.all([
          get(`${API}/user`, HEADERS).then(object),
          scopes.some((scope) => MAIL_SCOPES.includes(scope)) ? get(`${API}/user/emails`, HEADERS) : []
        ])
        const { id, name, login, avatar_url: picture, html_url: profile } = user
        if (!Number.isSafeInteger(id)) throw new UpstreamError('userinfo', 'The answer of GitHub has no numeric id.')
        const email = primaryOf(emails)
        return {
          subject: String(id),
          email,
          emailVerified: email !== undefined,
          profile: Object.fromEntries(
            Object.entries({ name: text(name) ?? text(login), picture: text(picture), profile: text(profile) }).filter(
              ([, value]) => value !== undefined
            )
          ),
          claims: user
        }
      }
    })
  )
}

function primaryOf(emails: unknown): string | undefined {
  if (!Array.isArray(emails))
    throw new UpstreamError('userinfo', 'GitHub answered something else than a list of email addresses.')
  const primary = (emails as unknown[]).find(
    (entry) => typeof entry === 'object' && entry !== null && (entry as { primary?: unknown }).primary === true
  ) as { email?: unknown; verified?: unknown } | undefined
  return primary?.verified === true ? text(primary.email) : undefined
}
