import { createHmac } from 'node:crypto'
import type { Client } from 'fastify-authority'

export interface DemoClients {
  /** The page `/app`: public, the host's own. */
  spa: Client
  /** The pages under `/third-party`: with a secret, and not the host's own, so people are asked. */
  thirdParty: Client & { clientSecret: string }
}

/**
 * The demo clients of a server at this origin. Their secret is made of the server's own, so that all instances know it.
 */
export function demoClients(origin: string, secret: string): DemoClients {
  return {
    spa: {
      clientId: 'example-spa',
      name: 'Example app',
      redirectUris: [`${origin}/app`],
      postLogoutRedirectUris: [`${origin}/app`]
    },
    thirdParty: {
      clientId: 'example-third-party',
      clientSecret: createHmac('sha256', secret).update('client secret of the third-party demo').digest('base64url'),
      name: 'Third-party demo',
      firstParty: false,
      scopes: ['openid', 'profile', 'email'],
      redirectUris: [`${origin}/third-party/callback`],
      postLogoutRedirectUris: [`${origin}/third-party/signed-out`]
    }
  }
}
