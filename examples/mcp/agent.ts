import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import {
  Client,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport
} from '@modelcontextprotocol/client'

/**
 * An agent that uses both tools of the server. It knows nothing but the address: it registers, and `open` shows the user
 * the page on which they sign in and allow the access. The second tool needs more scope, so it asks twice.
 */
export async function agent(server: URL, open: (page: URL) => void): Promise<string> {
  let back = (_answer: URLSearchParams): void => {}
  const listener = createServer((request, reply) => {
    back(new URL(request.url ?? '/', 'http://localhost').searchParams)
    reply.end('Done. Go back to the terminal.')
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const redirectUrl = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/callback`
  let allowed: Promise<URLSearchParams> | undefined

  const kept: {
    client?: StoredOAuthClientInformation
    tokens?: StoredOAuthTokens
    verifier?: string
    discovery?: OAuthDiscoveryState
  } = {}
  const authProvider: OAuthClientProvider = {
    redirectUrl,
    clientMetadata: {
      client_name: 'Example agent',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none'
    },
    clientInformation: () => kept.client,
    saveClientInformation(client) {
      kept.client = client
    },
    tokens: () => kept.tokens,
    saveTokens(tokens) {
      kept.tokens = tokens
    },
    codeVerifier: () => kept.verifier ?? '',
    saveCodeVerifier(verifier) {
      kept.verifier = verifier
    },
    discoveryState: () => kept.discovery,
    saveDiscoveryState(discovery) {
      kept.discovery = discovery
    },
    redirectToAuthorization(page) {
      allowed = new Promise((resolve) => {
        back = resolve
      })
      open(page)
    }
  }

  /** Does `work`, and again after the user has allowed it. */
  async function withAccess<Answer>(
    work: (transport: StreamableHTTPClientTransport) => Promise<Answer>
  ): Promise<Answer> {
    const transport = new StreamableHTTPClientTransport(server, { authProvider })
    try {
      return await work(transport)
    } catch (error) {
      if (allowed === undefined) throw error
      await transport.finishAuth(await allowed)
      allowed = undefined
      return await work(new StreamableHTTPClientTransport(server, { authProvider }))
    }
  }

  try {
    const call = async (name: string, given: Record<string, unknown>): Promise<string> =>
      await withAccess(async (transport) => {
        const mcp = new Client({ name: 'example-agent', version: '1.0.0' })
        await mcp.connect(transport)
        const { content } = await mcp.callTool({ name, arguments: given })
        const [first] = content as Array<{ text: string }>
        return first?.text ?? ''
      })
    await call('list_notes', {})
    await call('add_note', { text: 'Buy milk.' })
    return await call('list_notes', {})
  } finally {
    listener.close()
    listener.closeAllConnections()
  }
}
