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
    { id: 'discord', name: 'Discord' },
    oauthProvider({
      brand: 'discord',
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
