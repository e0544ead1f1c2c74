/**
 * The server of the React example: it signs people in, answers `/api/me`, and serves the app, bundled once at the
 * start.
 */
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import Fastify from 'fastify'
import authPlugin, { memoryUserStore } from 'fastify-authority'

const port = Number(process.env['PORT'] ?? 3000)
const issuer = `http://localhost:${port}`
const users = memoryUserStore()

const app = Fastify({ logger: true })
await app.register(authPlugin, {
  issuer,
  users,
  clients: [
    {
      clientId: 'spa-react',
      name: 'React example',
      redirectUris: [`${issuer}/me`],
      postLogoutRedirectUris: [`${issuer}/`]
    }
  ]
})

app.get('/api/me', { onRequest: [app.authenticate, app.requireScope('profile')] }, async (request) => {
  const user = request.auth === null ? null : await users.findById(request.auth.sub)
  return { username: user?.username ?? null, scope: request.auth.scope }
})

const {
  outputFiles: [bundle]
} = await build({
  entryPoints: [fileURLToPath(new URL('./src/app.tsx', import.meta.url))],
  bundle: true,
  minify: true,
  format: 'esm',
  jsx: 'automatic',
  write: false,
  define: { 'process.env.NODE_ENV': '"production"' }
})
const page =
  '<!doctype html><html lang="en"><meta charset="utf-8"><title>React example</title><link ' +
  'rel="icon" href="data:,"><div id="root"></div><script type="module" ' +
  'src="/app.js"></script></html>'
for (const path of ['/', '/me'])
  app.get(path, async (_request, reply) =>
    reply
      .type('text/html; charset=utf-8')
      .header(
        'content-security-policy',
        "default-src 'none'; script-src 'self'; connect-src 'self'; img-src data:; base-uri " +
          "'none'; frame-ancestors 'none'"
      )
      .send(page)
  )
app.get('/app.js', async (_request, reply) => reply.type('text/javascript; charset=utf-8').send(bundle?.text))

await app.listen({ port })
console.log(`Open ${issuer}`)
