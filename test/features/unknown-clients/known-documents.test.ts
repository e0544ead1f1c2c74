/** The members and redirect URIs that the documents of known clients have, each served at a URL of its own. */
import t from '../../support/tap.ts'
import { BODIES } from './bodies.ts'
import { documentHost, refresh, tokensFor, world } from './world.ts'

const native = { token_endpoint_auth_method: 'none', application_type: 'native' }
const DOCUMENTS: Array<[string, Record<string, unknown>, string[]]> = [
  [
    'Claude',
    {
      client_name: 'Claude',
      client_uri: 'https://claude.ai',
      redirect_uris: ['https://claude.ai/api/mcp/auth_callback', 'https://claude.com/api/mcp/auth_callback'],
      token_endpoint_auth_method: 'none'
    },
    ['https://claude.ai/api/mcp/auth_callback', 'https://claude.com/api/mcp/auth_callback']
  ],
  [
    'Claude Code, at another port than its document names',
    {
      ...native,
      client_name: 'Claude Code',
      redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback']
    },
    ['http://localhost:3118/callback', 'http://127.0.0.1:50123/callback']
  ],
  [
    'ChatGPT',
    {
      client_name: 'ChatGPT',
      redirect_uris: [
        'https://chatgpt.com/connector/oauth/abc',
        'https://chatgpt.com/connector_platform_oauth_redirect'
      ],
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_signing_alg: 'RS256',
      token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
      jwks_uri: 'https://chatgpt.com/oauth/jwks.json'
    },
    ['https://chatgpt.com/connector/oauth/abc', 'https://chatgpt.com/connector_platform_oauth_redirect']
  ],
  [
    'VS Code, at a random port',
    { ...BODIES['vscode']?.body },
    ['https://vscode.dev/redirect', 'http://127.0.0.1:33418/', 'http://127.0.0.1:50123/']
  ],
  ['OpenCode', { ...BODIES['opencode']?.body }, ['http://127.0.0.1:19876/mcp/oauth/callback']]
]

for (const [name, document, redirectUris] of DOCUMENTS)
  t.test(`accepts the document of ${name}, and refreshes its tokens`, async (t) => {
    const host = await documentHost(t)
    const test = await world(t)
    host.metadata = { ...document, grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] }
    for (const redirect_uri of redirectUris) {
      const tokens = await tokensFor(test, host.url, { redirect_uri })
      t.equal((await refresh(test, host.url, tokens.refresh_token)).status, 200, redirect_uri)
    }
    t.equal(host.calls(), 1)
  })
