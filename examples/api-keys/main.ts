/**
 * Rate limits by API key: partners that send a key we know have counters (and, if we like, allowances) of their own;
 * everybody else, whatever they put into the header, is counted by address.
 *
 *   PARTNER_KEY=$(openssl rand -hex 32) node dist/examples/api-keys/main.js
 */
import { hash } from 'node:crypto'
import Fastify from 'fastify'
import authPlugin, { memoryUserStore } from 'fastify-authority'

interface Partner {
  name: string
  max?: number
}

// Keys are kept as digests: a reader of this table has no key. A digest of a long random key needs no salt and no slow
// hash.
const digest = (key: string): string => hash('sha256', key)
const partners = new Map<string, Partner>()
const { PARTNER_KEY } = process.env
if (PARTNER_KEY !== undefined) partners.set(digest(PARTNER_KEY), { name: 'partner', max: 50 })

const app = Fastify({ logger: true })
await app.register(authPlugin, {
  issuer: 'http://localhost:3000',
  users: memoryUserStore(),
  rateLimit: {
    apiKey: {
      header: 'x-api-key',
      // false: the address counts. true: the key counts under the rule's own max. { max }: under this one.
      verify(key) {
        const partner = partners.get(digest(key))
        if (partner === undefined) return false
        return partner.max === undefined ? true : { max: partner.max }
      }
    },
    // Our own health checks and the office. The `account` rule still holds for them.
    bypass: ['192.0.2.10', '198.51.100.0/24', '2001:db8:1::/48'],
    login: { windowMs: 900_000, max: 5 },
    onLimit(request, reply, { rule, retryAfter }) {
      request.log.warn({ rule, retryAfter }, 'over the limit')
      reply.header('x-limited-by', rule)
      return {
        error: 'too_many_requests',
        error_description: `Slow down: try again in ${retryAfter} s.`,
        retryAfter,
        help: 'https://example.com/limits'
      }
    }
  }
})
app.get('/me', { onRequest: [app.authenticate] }, async (request) => request.auth)
await app.listen({ port: Number(process.env['PORT'] ?? 3000) })
