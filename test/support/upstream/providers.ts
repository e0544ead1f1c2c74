/** The named providers, as servers that imitate their hosts with the documented formats. */
import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { openidServer, type OpenidServer, signingKey } from './openid-server.ts'
import { type Answer, type Asked, providerServer, type ProviderServer } from './provider-server.ts'

const RSA = signingKey('RS256', 'rsa')

/** @see https://developers.google.com/identity/openid-connect/openid-connect#obtainuserinfo */
export async function googleServer(claims: Record<string, unknown> = {}): Promise<OpenidServer> {
  return await openidServer(
    {
      key: RSA,
      sendsIss: false,
      metadata: {
        authorization_response_iss_parameter_supported: undefined,
        id_token_signing_alg_values_supported: ['RS256']
      },
      claims: {
        sub: '110169484474386276334',
        azp: 'client',
        email: 'ann@gmail.com',
        email_verified: true,
        at_hash: 'HK6E_P6Dh8Y93mRNtsDB1Q',
        name: 'Ann Example',
        given_name: 'Ann',
        family_name: 'Example',
        picture: 'https://lh3.googleusercontent.com/a/photo',
        ...claims
      }
    },
    {
      issuer: () => 'https://accounts.google.com',
      hosts: ['accounts.google.com', 'oauth2.googleapis.com', 'www.googleapis.com', 'openidconnect.googleapis.com'],
      authorize: 'accounts.google.com/o/oauth2/v2/auth',
      token: 'oauth2.googleapis.com/token',
      keys: 'www.googleapis.com/oauth2/v3/certs',
      userinfo: 'openidconnect.googleapis.com/v1/userinfo'
    }
  )
}

/** The key of a team, as Apple gives it once in a `.p8` file. */
export const APPLE_KEY = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString()

/**
 * Takes a client secret that was signed with `APPLE_KEY` alone, with the times and names that Apple asks for.
 * @see https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret
 */
export async function appleServer(
  claims: Record<string, unknown> = {},
  now: () => number = () => Math.floor(Date.now() / 1000)
): Promise<OpenidServer & { secrets: Array<Record<string, unknown>> }> {
  const server = await openidServer(
    {
      key: RSA,
      sendsIss: false,
      now,
      claims: {
        sub: '001234.a0b1c2d3e4f5.0123',
        email: 'ann@example.com',
        email_verified: 'true',
        is_private_email: 'false',
        nonce_supported: true,
        auth_time: now(),
        ...claims
      }
    },
    {
      issuer: () => 'https://appleid.apple.com',
      hosts: ['appleid.apple.com'],
      authorize: 'appleid.apple.com/auth/authorize',
      token: 'appleid.apple.com/auth/token',
      keys: 'appleid.apple.com/auth/keys',
      userinfo: 'appleid.apple.com/none'
    }
  )
  const secrets: Array<Record<string, unknown>> = []
  const token = server.routes['POST appleid.apple.com/auth/token']
  server.routes['POST appleid.apple.com/auth/token'] = async (asked: Asked): Promise<Answer> => {
    const [header = '', payload = '', signature = ''] = (asked.form.get('client_secret') ?? '').split('.')
    const signed = verify(
      'sha256',
      Buffer.from(`${header}.${payload}`),
      { key: createPublicKey(APPLE_KEY), dsaEncoding: 'ieee-p1363' },
      Buffer.from(signature, 'base64url')
    )
    const secret = {
      ...(JSON.parse(Buffer.from(header, 'base64url').toString()) as object),
      ...(JSON.parse(Buffer.from(payload, 'base64url').toString()) as object)
    } as Record<string, unknown>
    secrets.push(secret)
    const fits =
      signed &&
      secret['alg'] === 'ES256' &&
      secret['kid'] === 'KEYID' &&
      secret['iss'] === 'TEAMID' &&
      secret['sub'] === asked.form.get('client_id') &&
      secret['aud'] === 'https://appleid.apple.com' &&
      Number(secret['exp']) > now()
    return fits ? ((await token?.(asked)) ?? {}) : { status: 400, json: { error: 'invalid_client' } }
  }
  return Object.assign(server, { secrets })
}

export const TENANT = '3338040d-6c67-4c5b-b112-36a304b66dad'
export const CONSUMER_TENANT = '9188040d-6c67-4c5b-b112-36a304b66dad'

/**
 * `tenant`: the endpoints that the connection asks. @see
 * https://learn.microsoft.com/entra/identity-platform/id-token-claims-reference
 */
export async function microsoftServer(
  tenant: string,
  claims: Record<string, unknown> & { tid?: string } = {}
): Promise<OpenidServer> {
  const base = `login.microsoftonline.com/${tenant}`
  const { tid = TENANT } = claims
  return await openidServer(
    {
      key: RSA,
      sendsIss: false,
      claims: {
        iss: `https://login.microsoftonline.com/${tid}/v2.0`,
        tid,
        oid: '690222be-ff1a-4d56-abd1-7e4f7d38e474',
        sub: 'pairwise-for-this-app',
        name: 'Ann Example',
        preferred_username: 'ann@contoso.example',
        email: 'ann@contoso.example',
        ver: '2.0',
        ...claims
      }
    },
    {
      issuer: () => `https://${base}/v2.0`,
      hosts: ['login.microsoftonline.com'],
      authorize: `${base}/oauth2/v2.0/authorize`,
      token: `${base}/oauth2/v2.0/token`,
      keys: `${base}/discovery/v2.0/keys`,
      userinfo: `${base}/none`
    }
  )
}

export interface GithubSwitches {
  user: unknown
  emails: unknown
  /** The answer of the token endpoint, instead of the usual one. */
  token: Answer | null
  /** True if the token comes form-encoded, as it does without `Accept`. */
  formEncoded: boolean
}

/**
 * GitHub over its documented API, with switches for what goes wrong. @see
 * https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
 */
export async function githubServer(
  switches: Partial<GithubSwitches> = {}
): Promise<ProviderServer & { is: GithubSwitches }> {
  const is: GithubSwitches = {
    user: {
      login: 'octo-ann',
      id: 583231,
      node_id: 'MDQ6',
      avatar_url: 'https://avatars.githubusercontent.com/u/583231',
      html_url: 'https://github.com/octo-ann',
      type: 'User',
      name: 'Ann Example',
      email: 'public@example.com'
    },
    emails: [
      { email: 'old@example.com', primary: false, verified: true, visibility: null },
      { email: 'ann@example.com', primary: true, verified: true, visibility: 'private' }
    ],
    token: null,
    formEncoded: false,
    ...switches
  }
  const api =
    (answer: () => unknown) =>
    ({ headers }: Asked): Answer => {
      if (headers['user-agent'] === undefined)
        return { status: 403, json: { message: 'Request forbidden by administrative rules.' } }
      return headers.authorization === 'Bearer gho_token'
        ? { json: answer(), type: 'application/json; charset=utf-8' }
        : { status: 401, json: { message: 'Bad credentials' } }
    }
  const server = await providerServer(
    {
      'POST github.com/login/oauth/access_token': ({ form, headers }) => {
        if (is.token !== null) return is.token
        if (form.get('code') !== 'good')
          return {
            json: { error: 'bad_verification_code', error_description: 'CANARY', error_uri: 'https://docs.github.com' }
          }
        const answer = { access_token: 'gho_token', scope: 'read:user,user:email', token_type: 'bearer' }
        return is.formEncoded || headers.accept?.includes('json') !== true
          ? { type: 'application/x-www-form-urlencoded; charset=utf-8', body: String(new URLSearchParams(answer)) }
          : { json: answer }
      },
      'GET api.github.com/user': api(() => is.user),
      'GET api.github.com/user/emails': api(() => is.emails)
    },
    ['github.com', 'api.github.com']
  )
  return Object.assign(server, { is })
}

/** @see https://discord.com/developers/docs/resources/user#user-object */
export async function discordServer(user: Record<string, unknown> = {}): Promise<ProviderServer> {
  return await providerServer(
    {
      'POST discord.com/api/oauth2/token': () => ({
        json: {
          access_token: 'discord-token',
          token_type: 'Bearer',
          expires_in: 604800,
          refresh_token: 'r',
          scope: 'identify email',
          id_token: 'CANARY'
        }
      }),
      'GET discord.com/api/users/@me': () => ({
        body: JSON.stringify({
          id: '80351110224678912',
          username: 'nelly',
          discriminator: '0',
          global_name: 'Nelly',
          avatar: '8342729096ea3675442027381ff50dfe',
          verified: true,
          email: 'nelly@example.com',
          locale: 'en-US',
          ...user
        })
      })
    },
    ['discord.com']
  )
}

/** @see https://developers.facebook.com/docs/graph-api/reference/user */
export async function facebookServer(user: Record<string, unknown> = {}): Promise<ProviderServer> {
  return await providerServer(
    {
      'POST graph.facebook.com/v24.0/oauth/access_token': ({ form }) =>
        form.get('code') === 'good'
          ? { json: { access_token: 'fb-token', token_type: 'bearer', expires_in: 5183944 } }
          : { status: 400, json: { error: { message: 'CANARY', type: 'OAuthException', code: 100, fbtrace_id: 'x' } } },
      'GET graph.facebook.com/v24.0/me': () => ({
        json: {
          id: '10158444224678912',
          name: 'Ann Example',
          first_name: 'Ann',
          last_name: 'Example',
          email: 'ann@example.com',
          picture: {
            data: { height: 50, is_silhouette: false, url: 'https://platform-lookaside.fbsbx.com/p.jpg', width: 50 }
          },
          ...user
        }
      })
    },
    ['graph.facebook.com']
  )
}
