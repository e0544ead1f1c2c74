import { readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'

/** Nothing but our own script and style, no inline code, no framing, no form that leaves without the script. */
const CONTENT_SECURITY_POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

const FILES = [
  { url: '/', file: 'page.html', type: 'text/html; charset=utf-8' },
  // Where the link of a reset message points. The page reads the token from the fragment, which no server ever sees.
  { url: '/auth/reset-password', file: 'page.html', type: 'text/html; charset=utf-8' },
  { url: '/page.css', file: 'page.css', type: 'text/css; charset=utf-8' },
  { url: '/page.js', file: 'page.js', type: 'text/javascript; charset=utf-8' }
]

export async function pages (app: FastifyInstance): Promise<void> {
  app.addHook('onSend', async (_request, reply) => {
    reply.headers({
      'content-security-policy': CONTENT_SECURITY_POLICY,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
      'cache-control': 'no-cache'
    })
  })
  for (const { url, file, type } of FILES) {
    const content = readFileSync(new URL(`./${file}`, import.meta.url), 'utf8')
    app.get(url, async (_request, reply) => await reply.type(type).send(content))
  }
}
