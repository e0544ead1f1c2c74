/**
 * An MCP server whose users sign in here, for Claude, ChatGPT, VS Code, Cursor and every other agent, and an agent that
 * uses it. Open the addresses that it prints.
 *
 *   npm run start:mcp
 */
import { randomBytes } from 'node:crypto'
import { agent } from './agent.ts'
import { mcpApp } from './app.ts'

// Production keeps the secret: it signs the ids of registered clients.
const { AUTH_SECRET = randomBytes(32).toString('base64url'), PORT = '3000' } = process.env
const app = await mcpApp({ issuer: `http://localhost:${PORT}`, secret: AUTH_SECRET })
await app.listen({ port: Number(PORT) })
const server = new URL(`http://localhost:${PORT}/mcp`)
console.log(`The MCP server is at ${server.href}. Its sign-in page has a way to sign up.`)
const notes = await agent(server, (page) => {
  console.log(`The example agent asks for access: open ${page.href}`)
})
console.log(`The agent has read your notes: ${notes}`)
