/**
 * The provider that the suite tests: the library with every scope and claim, and four clients. Run.ts starts it as a
 * process of its own, because Node trusts a further certificate only from its start on. Arguments: port, URL of the
 * suite, file of the certificate.
 */
import dns from 'node:dns'
import Fastify from 'fastify'
import { oidc } from '../lib/connections/index.ts'
import authPlugin, { memoryFactorStore, memoryUserStore } from '../lib/index.ts'
import { HOST, PROVIDER_NAME, tlsOf } from './certificate.ts'
import { suiteClients } from './clients.ts'
import { CLAIMS, PASSWORD, USERNAME } from './person.ts'

const [port, suiteUrl, pfxFile] = process.argv.slice(2)
if (port === undefined || suiteUrl === undefined || pfxFile === undefined)
  throw new Error('port, URL of the suite and file of the certificate')

// The suite finds this name in a file of its own. A name that nobody finds is public to the library, which then tells no
// client on this machine of a sign-out.
const { lookup } = dns
Object.assign(dns, {
  lookup: (name: string, ...more: [never]) => {
    lookup(name === PROVIDER_NAME ? HOST : name, ...more)
  }
})

const issuer = `https://${PROVIDER_NAME}:${port}`
const users = memoryUserStore()
const app = Fastify({ https: tlsOf(pfxFile), logger: true })
await app.register(authPlugin, {
  issuer,
  users: {
    ...users,
    create: async (user) => await users.create({ ...user, ...CLAIMS })
  },
  clients: suiteClients(suiteUrl),
  scopes: ['openid', 'profile', 'email', 'address', 'phone', 'offline_access'],
  // No module signs in by these. Their additions to pages, metadata and tokens must not disturb any module.
  secret: 'what the provider seals, it seals with this alone',
  factors: memoryFactorStore(),
  connections: [oidc({ id: 'other', issuer: 'https://other.test', clientId: 'other', clientSecret: 'never sent' })],
  par: true,
  dpop: true,
  // The suite repeats a refresh after 30 seconds. @see FAPI 2.0 Security Profile §5.3.2.1
  refreshToken: { reuseGraceSeconds: 60 },
  // The suite signs in more often than a person does, always from this machine.
  rateLimit: { bypass: ['127.0.0.0/8'] }
})
app.get('/protected', { onRequest: [app.authenticate] }, async (request) => ({ sub: request.auth.sub }))
await app.ready()
const { statusCode, body } = await app.inject({
  method: 'POST',
  url: '/auth/register',
  payload: { username: USERNAME, password: PASSWORD }
})
if (statusCode !== 201) throw new Error(`register: ${statusCode} ${body}`)
await app.listen({ host: HOST, port: Number(port) })
