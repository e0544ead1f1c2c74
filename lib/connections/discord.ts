import { UpstreamError } from '../errors.ts'
import type { ConnectionOption, ConnectionOptions } from '../ports/provider.ts'
import { connection, oauthProvider, object, optionsOf, text } from './make.ts'

const ISSUER = 'https://discord.com'

export interface DiscordOptions extends ConnectionOptions {
  clientSecret: string
}

/**
 * Sign-in with Discord. Reads the user from Discord's API, because Discord's userinfo has no `sub`, and its ID tokens
 * have no claim about the user except `sub`.
 *
 * @see docs/guides/connections/discord.md
 * @example
 * connections: [discord({ clientId, clientSecret })]
 */
export function discord(given: DiscordOptions): ConnectionOption {
  const options = optionsOf('discord', given)
  return connection(
    options,
    {
      id: 'discord',
      name: 'Discord',
      mark: {
        '#5865F2': `M20.32 4.37A19.8 19.8 0 0 0 15.43 2.86
          a13.7 13.7 0 0 0-.63 1.28 18.4 18.4 0 0 0-5.5 0 13 13 0 0 0-.64-1.28 19.7 19.7 0 0 0-4.89 1.52
          C.68 9.02-.16 13.55.26 18.02a19.9 19.9 0 0 0 6 3.03
          c.48-.66.91-1.36 1.28-2.09-.7-.26-1.37-.59-2-.97.17-.12.33-.25.49-.38a14.2 14.2 0 0 0 11.94 0
          c.16.13.33.26.49.38-.64.38-1.31.71-2.01.98.37.73.8 1.43 1.28 2.08a19.8 19.8 0 0 0 6-3.03
          c.5-5.18-.84-9.67-3.41-13.65zM8.02 15.27c-1.17 0-2.13-1.07-2.13-2.39
          s.94-2.39 2.13-2.39 2.15 1.08 2.13 2.39c0 1.32-.94 2.39-2.13 2.39zm7.96 0c-1.17 0-2.13-1.07-2.13-2.39
          s.94-2.39 2.13-2.39 2.15 1.08 2.13 2.39c0 1.32-.94 2.39-2.13 2.39z`
      }
    },
    oauthProvider({
      issuer: ISSUER,
      endpoints: { authorization: `${ISSUER}/oauth2/authorize`, token: `${ISSUER}/api/oauth2/token` },
      secretRequired: true,
      scopes: ['identify', 'email'],
      async identify(get) {
        const user = object(await get(`${ISSUER}/api/users/@me`))
        const { id, username, global_name: name, email, verified, avatar, locale } = user
        // Ids are larger than 2^53. Parsing rounds an id that is a JSON number, so it may become another person's id.
        if (typeof id !== 'string' || !/^\d{1,20}$/.test(id))
          throw new UpstreamError('userinfo', 'The answer of Discord has no id that is a string of digits.')
        const picture =
          typeof avatar === 'string' && /^\w+$/.test(avatar)
            ? `https://cdn.discordapp.com/avatars/${id}/${avatar}.png`
            : undefined
        return {
          subject: id,
          email: text(email),
          emailVerified: verified === true,
          profile: Object.fromEntries(
            Object.entries({ name: text(name) ?? text(username), picture, locale: text(locale) }).filter(
              ([, value]) => value !== undefined
            )
          ),
          claims: user
        }
      }
    })
  )
}
