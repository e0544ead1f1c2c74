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
    {
      id: 'github',
      name: 'GitHub',
      mark: {
        currentColor: `M12 .5C5.65.5.5 5.65.5 12
          c0 5.08 3.29 9.39 7.86 10.91.58.11.79-.25.79-.56v-2
          c-3.2.7-3.87-1.36-3.87-1.36-.52-1.33-1.28-1.68-1.28-1.68-1.04-.71.08-.7.08-.7 1.15.08 1.76 1.18 1.76 1.18
          1.03 1.76 2.69 1.25 3.35.96.1-.75.4-1.25.73-1.54-2.56-.29-5.25-1.28-5.25-5.69 0-1.26.45-2.28
          1.18-3.09-.12-.29-.51-1.46.11-3.05 0 0 .97-.31 3.17 1.18a10.9 10.9 0 0 1 5.77 0c2.2-1.49 3.17-1.18
          3.17-1.18.63 1.59.23 2.76.11 3.05.74.81 1.18 1.83 1.18 3.09 0 4.42-2.7 5.39-5.27 5.68.41.36.78 1.06.78
          2.14v3.17c0 .31.21.67.8.56A11.51 11.51 0 0 0 23.5 12C23.5 5.65 18.35.5 12 .5z`
      }
    },
    oauthProvider({
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
