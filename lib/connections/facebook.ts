import { createHmac } from 'node:crypto'
import { UpstreamError } from '../errors.ts'
import type { ConnectionOption, ConnectionOptions } from '../ports/provider.ts'
import { connection, oauthProvider, object, optionsOf, text } from './make.ts'

export interface FacebookOptions extends ConnectionOptions {
  clientSecret: string
  /** The version of the Graph API. Facebook ends a version about two years after its release. Default: `v24.0`. */
  version?: string | undefined
}

/**
 * Sign-in with Facebook. Facebook does not say whether it verified an email address, so its addresses are not used. A
 * new account of this connection has no email address from Facebook.
 *
 * @see docs/guides/connections/facebook.md
 * @example
 * connections: [facebook({ clientId, clientSecret })]
 */
export function facebook(given: FacebookOptions): ConnectionOption {
  const { version = 'v24.0', ...options } = optionsOf('facebook', given)
  const graph = `https://graph.facebook.com/${version}`
  return connection(
    options,
    {
      id: 'facebook',
      name: 'Facebook',
      mark: {
        '#1877F2': `M24 12a12 12 0 1 0-13.87 11.85v-8.38H7.08V12h3.05V9.36
          c0-3.01 1.79-4.67 4.53-4.67 1.31 0 2.69.24 2.69.24v2.95h-1.52c-1.49 0-1.95.92-1.95 1.87V12h3.32l-.53 3.47
          h-2.79v8.38A12 12 0 0 0 24 12z`
      }
    },
    oauthProvider({
      issuer: 'https://www.facebook.com',
      endpoints: {
        authorization: `https://www.facebook.com/${version}/dialog/oauth`,
        token: `${graph}/oauth/access_token`
      },
      secretRequired: true,
      scopes: ['public_profile', 'email'],
      mistake: /^v\d+\.\d+$/.test(version)
        ? null
        : { option: 'version', got: version, takes: 'a version of the Graph API such as "v24.0"' },
      async identify(get, { accessToken }) {
        // With the proof, Facebook rejects a token that it issued to another app. @see omniauth-facebook CVE-2013-4593
        const proof = createHmac('sha256', options.clientSecret).update(accessToken).digest('hex')
        const user = object(
          await get(`${graph}/me?fields=id,name,first_name,last_name,email,picture&appsecret_proof=${proof}`)
        )
        const { id, name, first_name: given, last_name: family, email, picture } = user
        if (typeof id !== 'string' || !/^\d{1,32}$/.test(id))
          throw new UpstreamError('userinfo', 'The answer of Facebook has no id.')
        const { url } = ((picture as { data?: unknown } | null | undefined)?.data ?? {}) as { url?: unknown }
        return {
          subject: id,
          email: text(email),
          emailVerified: false,
          profile: Object.fromEntries(
            Object.entries({
              name: text(name),
              given_name: text(given),
              family_name: text(family),
              picture: text(url)
            }).filter(([, value]) => value !== undefined)
          ),
          claims: user
        }
      }
    })
  )
}
