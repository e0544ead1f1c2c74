import { randomBytes } from 'node:crypto'
import type { Client } from 'fastify-authority'

export interface DemoClients {
  /** The page `/app`: public, the host's own. */
  spa: Client
  /** The pages under `/third-party`: with a secret, and not the host's own, so people are asked. */
  thirdParty: Client & { clientSecret: string }
}

/** The demo clients of a server at this origin. The secret lives as long as the process: both of its ends do. */
export function demoClients (origin: string): DemoClients {
  return {
    spa: {
      clientId: 'example-spa',
      name: 'Example app',
      redirectUris: [`${origin}/app`],
      postLogoutRedirectUris: [`${origin}/app`]
    },
    thirdParty: {
      clientId: 'example-third-party',
      clientSecret: randomBytes(32).toString('base64url'),
      name: 'Third-party demo',
      firstParty: false,
      scopes: ['openid', 'profile', 'email'],
      redirectUris: [`${origin}/third-party/callback`],
      postLogoutRedirectUris: [`${origin}/third-party/signed-out`]
    }
  }
}
