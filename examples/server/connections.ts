/** Sign-in with others, as far as the environment has their clients. */
import type { ConnectionOption } from 'fastify-authority'
import { apple, discord, facebook, github, google, microsoft, oidc } from 'fastify-authority/connections'
import { ConfigError } from './config-error.ts'

type Env = Readonly<Record<string, string | undefined>>

/** @throws ConfigError where of one provider some variables are there and others are missing */
export function connectionsIn(env: Env): ConnectionOption[] {
  const value = (name: string): string => env[name]?.trim() ?? ''
  /** If the first of these is set, all of them by name; else `undefined`. */
  const all = <Name extends string>(...names: [Name, ...Name[]]): Record<Name, string> | undefined => {
    const missing = names.filter((name) => value(name) === '')
    if (missing.length === names.length) return undefined
    if (missing.length > 0)
      throw new ConfigError(
        `${missing.join(' and ')} must be set where ` +
          `${names.filter((name) => !missing.includes(name)).join(' and ')} is.`
      )
    return Object.fromEntries(names.map((name) => [name, value(name)])) as Record<Name, string>
  }
  const found: ConnectionOption[] = []
  const g = all('GOOGLE_CLIENT_ID', 'GOOGLE_CLIENT_SECRET')
  if (g !== undefined) found.push(google({ clientId: g.GOOGLE_CLIENT_ID, clientSecret: g.GOOGLE_CLIENT_SECRET }))
  const a = all('APPLE_CLIENT_ID', 'APPLE_TEAM_ID', 'APPLE_KEY_ID', 'APPLE_PRIVATE_KEY')
  if (a !== undefined)
    found.push(
      apple({
        clientId: a.APPLE_CLIENT_ID,
        teamId: a.APPLE_TEAM_ID,
        keyId: a.APPLE_KEY_ID,
        privateKey: a.APPLE_PRIVATE_KEY
      })
    )
  const m = all('MICROSOFT_CLIENT_ID', 'MICROSOFT_CLIENT_SECRET')
  if (m !== undefined)
    found.push(
      microsoft({
        clientId: m.MICROSOFT_CLIENT_ID,
        clientSecret: m.MICROSOFT_CLIENT_SECRET,
        ...(value('MICROSOFT_TENANT') === '' ? {} : { tenant: value('MICROSOFT_TENANT') })
      })
    )
  const h = all('GITHUB_CLIENT_ID', 'GITHUB_CLIENT_SECRET')
  if (h !== undefined) found.push(github({ clientId: h.GITHUB_CLIENT_ID, clientSecret: h.GITHUB_CLIENT_SECRET }))
  const d = all('DISCORD_CLIENT_ID', 'DISCORD_CLIENT_SECRET')
  if (d !== undefined) found.push(discord({ clientId: d.DISCORD_CLIENT_ID, clientSecret: d.DISCORD_CLIENT_SECRET }))
  const f = all('FACEBOOK_CLIENT_ID', 'FACEBOOK_CLIENT_SECRET')
  if (f !== undefined) found.push(facebook({ clientId: f.FACEBOOK_CLIENT_ID, clientSecret: f.FACEBOOK_CLIENT_SECRET }))
  const o = all('OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET')
  if (o !== undefined)
    found.push(
      oidc({
        id: 'oidc',
        name: value('OIDC_NAME') === '' ? new URL(o.OIDC_ISSUER).host : value('OIDC_NAME'),
        issuer: o.OIDC_ISSUER,
        clientId: o.OIDC_CLIENT_ID,
        clientSecret: o.OIDC_CLIENT_SECRET
      })
    )
  return found
}
