import { createPublicKey, generateKeyPairSync, type KeyPairKeyObjectResult } from 'node:crypto'
import type { Client } from '../lib/index.ts'

/** The suite gives each alias its own callback address. */
export const ALIAS = 'fastify-authority'

/**
 * The suite's clients by their place in its configuration. A client without a back-channel address hears of no
 * sign-out.
 */
export const CREDENTIALS = {
  client: secretOf('suite'),
  ownClient: secretOf('suite-own'),
  backChannelClient: secretOf('suite-back-channel'),
  client2: secretOf('suite2'),
  clientSecretPost: secretOf('suite-secret-post')
}

/**
 * The address of the library as a relying party, and the name of its connection to the suite. The name is never
 * resolved, because the suite asks nothing there.
 */
export const RELYING_PARTY = 'https://relying-party.test'
export const CONNECTION = 'suite'
export const REDIRECT_URI = `${RELYING_PARTY}/auth/connect/${CONNECTION}/callback`

/** The clients of the FAPI plan, each with a private key. The provider is another process, and inherits them. */
process.env['CONFORMANCE_CLIENTS'] ??= JSON.stringify([
  keyedClient('suite-fapi', 'PS256', generateKeyPairSync('rsa', { modulusLength: 2048 })),
  keyedClient('suite-fapi2', 'ES256', generateKeyPairSync('ec', { namedCurve: 'P-256' })),
  // The person has allowed these two nothing yet.
  ...['suite-fapi-new', 'suite-fapi-new2'].map((clientId) =>
    keyedClient(clientId, 'ES256', generateKeyPairSync('ec', { namedCurve: 'P-256' }))
  )
])
export const KEYED_CLIENTS = JSON.parse(process.env['CONFORMANCE_CLIENTS']) as Array<ReturnType<typeof keyedClient>>

function keyedClient(clientId: string, alg: string, { privateKey }: KeyPairKeyObjectResult) {
  const key = { ...privateKey.export({ format: 'jwk' }), kid: clientId, alg, use: 'sig' }
  return { client_id: clientId, scope: 'openid profile email address phone offline_access', jwks: { keys: [key] } }
}

/** How they are registered at the provider. */
export function suiteClients(suiteUrl: string): Client[] {
  const address = (name: string): string => `${suiteUrl}/test/a/${ALIAS}/${name}`
  const common = {
    // Not the host's own, so that the consent page is part of what is tested. Most modules send no PKCE challenge.
    firstParty: false,
    requirePkce: false,
    redirectUris: [address('callback')],
    postLogoutRedirectUris: [address('post_logout_redirect')]
  }
  return [
    { ...common, ...registered(CREDENTIALS.client) },
    { ...common, ...registered(CREDENTIALS.ownClient), firstParty: true },
    { ...common, ...registered(CREDENTIALS.backChannelClient), backchannelLogoutUri: address('backchannel_logout') },
    {
      ...common,
      ...registered(CREDENTIALS.client2),
      redirectUris: [address('callback'), `${address('callback')}?dummy1=lorem&dummy2=ipsum`]
    },
    { ...common, ...registered(CREDENTIALS.clientSecretPost) },
    ...KEYED_CLIENTS.map(({ client_id: clientId, jwks }): Client => ({
      clientId,
      name: `Conformance suite (${clientId})`,
      jwks: {
        keys: jwks.keys.map(({ alg, kid, ...key }) => ({
          ...createPublicKey({ key, format: 'jwk' }).export({ format: 'jwk' }),
          alg,
          kid
        }))
      },
      firstParty: false,
      redirectUris: [address('callback'), `${address('callback')}?dummy1=lorem&dummy2=ipsum`],
      idTokenSignedResponseAlg: 'ES256',
      dpopBoundAccessTokens: true,
      requirePushedAuthorizationRequests: true
    }))
  ]
}

function secretOf(clientId: string): { client_id: string; client_secret: string } {
  return { client_id: clientId, client_secret: `the secret of ${clientId}, which nobody needs to guess` }
}

function registered({
  client_id: clientId,
  client_secret: clientSecret
}: {
  client_id: string
  client_secret: string
}): Pick<Client, 'clientId' | 'clientSecret' | 'name'> {
  return { clientId, clientSecret, name: `Conformance suite (${clientId})` }
}
