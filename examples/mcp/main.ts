/**
 * An MCP server whose users sign in here: for Claude, ChatGPT, VS Code, Cursor and every other agent.
 *
 *   npm run --silent build:examples && node dist/examples/mcp/main.js
 *   npx @modelcontextprotocol/inspector        # then connect it to http://localhost:3000/mcp
 */
import { randomBytes } from 'node:crypto'
import { mcpApp } from './app.ts'

// Production keeps the secret: it signs the ids of registered clients.
const { AUTH_SECRET = randomBytes(32).toString('base64url'), PORT = '3000' } = process.env
const app = await mcpApp({ issuer: `http://localhost:${PORT}`, secret: AUTH_SECRET })
await app.listen({ port: Number(PORT) })
console.log(`The MCP server is at http://localhost:${PORT}/mcp. Its sign-in page has a way to sign up.`)
