/**
 * A second service by the same plugin, to sign in with at the first one: a provider for which nobody needs an account
 * anywhere.
 */
import { createHmac } from 'node:crypto'
import Fastify, { type FastifyInstance } from 'fastify'
import authPlugin, { type ConnectionOption, memoryUserStore } from 'fastify-authority'
import { oidc } from 'fastify-authority/connections'
import type { Config } from './config.ts'

const CLIENT_ID = 'example'

/** On 127.0.0.1, since cookies of localhost would be those of both, whatever the port. */
function issuerOf(port: number): string {
  return `http://127.0.0.1:${port}`
}

function secretFor(what: string, { secret }: Pick<Config, 'secret'>): string {
  return createHmac('sha256', secret).update(`${what} of the other instance`).digest('base64url')
}

/** How the first one signs in with the second. */
export function otherConnection(port: number, config: Pick<Config, 'secret'>): ConnectionOption {
  return oidc({
    id: 'other',
    name: 'the other instance',
    issuer: issuerOf(port),
    clientId: CLIENT_ID,
    clientSecret: secretFor('client', config)
  })
}

/** The second one, not yet listening. All its data is in memory: people sign up there again after each start. */
export async function otherInstance(
  port: number,
  config: Pick<Config, 'secret' | 'issuer' | 'bypass' | 'logLevel'>
): Promise<FastifyInstance> {
  const app = Fastify({ logger: { level: config.logLevel === 'info' ? 'warn' : config.logLevel } })
  await app.register(authPlugin, {
    issuer: issuerOf(port),
    users: memoryUserStore(),
    secret: secretFor('keys', config),
    clients: [
      {
        clientId: CLIENT_ID,
        clientSecret: secretFor('client', config),
        name: 'fastify-authority example',
        redirectUris: [`${new URL(config.issuer).origin}/auth/connect/other/callback`]
      }
    ],
    pages: { title: 'The other instance', accentColor: '#7a3db8' },
    rateLimit: { bypass: config.bypass }
  })
  return app
}
