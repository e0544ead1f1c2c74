import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
// @ts-expect-error -- oidc-provider ships no types
import Provider from 'oidc-provider'
import type { Scope } from './provider.ts'

/** The user of each sign-in. */
export const ACCOUNT = { sub: 'bea', name: 'Bea', email: 'bea@example.com' }

/** oidc-provider on a socket, with the client `app` and pages that continue without input. */
export async function startForeignProvider(
  t: Scope,
  { redirectUris, signedOutUris }: { redirectUris: string[]; signedOutUris: string[] }
): Promise<{ origin: string }> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`
  const provider = new Provider(origin, {
    clients: [
      {
        client_id: 'app',
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        redirect_uris: redirectUris,
        post_logout_redirect_uris: signedOutUris
      }
    ],
    clientBasedCORS: () => true,
    claims: { openid: ['sub'], profile: ['name'], email: ['email'] },
    cookies: { keys: ['for tests only'] },
    features: {
      devInteractions: { enabled: false },
      revocation: { enabled: true },
      rpInitiatedLogout: {
        logoutSource: (context: { body: string }, form: string) => {
          context.body =
            `<!doctype html><html lang="en"><title>Sign out</title>${form}<button form="op.logoutForm" ` +
            'name="logout" value="yes">Yes</button>'
        }
      }
    },
    findAccount: (_context: unknown, accountId: string) => ({ accountId, claims: async () => ACCOUNT }),
    interactions: { url: (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    issueRefreshToken: async () => true,
    ttl: {
      AccessToken: 3600,
      AuthorizationCode: 60,
      Grant: 86_400,
      IdToken: 3600,
      Interaction: 3600,
      RefreshToken: 86_400,
      Session: 86_400
    }
  })
  const handle = provider.callback()
  const interact = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { prompt, params, session } = await provider.interactionDetails(request, response)
    if (prompt.name === 'login')
      return await provider.interactionFinished(request, response, { login: { accountId: ACCOUNT.sub } })
    const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id })
    grant.addOIDCScope(params.scope)
    await provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } })
  }
  server.on('request', (request, response) => {
    if (request.url?.startsWith('/interaction/') === true)
      interact(request, response).catch((error: unknown) => {
        response.destroy(error as Error)
      })
    else handle(request, response)
  })
  return { origin }
}
