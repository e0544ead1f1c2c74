import Fastify, { type FastifyInstance } from 'fastify'
import authPlugin, { type AuthorityOptions, memoryUserStore } from 'fastify-authority'

interface Call {
  id?: number | string
  method?: string
  params?: { name?: string; arguments?: { text?: string }; protocolVersion?: string }
}

const TOOLS = [
  { name: 'list_notes', description: 'Lists your notes.', inputSchema: { type: 'object' } },
  {
    name: 'add_note',
    description: 'Adds a note.',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
  }
]

/** An MCP server with two tools, one of which needs more scope, and the service that signs its users in. */
export async function mcpApp(options: Omit<AuthorityOptions, 'users'>): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(authPlugin, {
    users: memoryUserStore(),
    clientIdMetadata: true,
    clientRegistration: { redirectSchemes: ['cursor'] },
    resources: [
      {
        resource: '/mcp',
        name: 'Notes',
        scopes: { 'notes:read': { en: 'read your notes' }, 'notes:write': { en: 'add notes' } }
      }
    ],
    ...options
  })
  const mcp = app.protectedResource({ resource: '/mcp', scopes: ['notes:read'] })
  const notes = new Map<string, string[]>()

  app.post('/mcp', { onRequest: [mcp] }, async (request, reply) => {
    const { id, method, params = {} } = request.body as Call
    const { sub, scope = '' } = request.auth
    const own = notes.get(sub) ?? []
    const answer = (result: object): object => ({ jsonrpc: '2.0', id, result })
    const text = (lines: readonly string[]): object => answer({ content: [{ type: 'text', text: lines.join('\n') }] })
    if (id === undefined) return await reply.code(202).send()
    if (method === 'initialize')
      return answer({
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'notes', version: '1.0.0' }
      })
    if (method === 'tools/list') return answer({ tools: TOOLS })
    if (method === 'tools/call' && params.name === 'list_notes') return text(own)
    if (method === 'tools/call' && params.name === 'add_note') {
      if (!scope.split(' ').includes('notes:write')) throw mcp.insufficientScope(['notes:read', 'notes:write'])
      notes.set(sub, [...own, params.arguments?.text ?? ''])
      return text(['added'])
    }
    return { jsonrpc: '2.0', id, error: { code: -32_601, message: 'There is no such method.' } }
  })
  return app
}
