/**
 * The process under test: an app with the plugin on the stores that its settings name. It reports its port when it
 * listens and every message it would send; it closes on SIGTERM and then has nothing left that keeps it alive.
 */
import './skew.ts'
import { drawFrom } from '../../support/small-rsa.ts'
import Fastify, { type FastifyRequest } from 'fastify'
import authPlugin from '../../../lib/index.ts'
import { fastHasher } from '../../../lib/testing/index.ts'
import { broken, losing, openStores } from './instance-stores.ts'
import { API_CLIENT, CALLBACK, CALLER, CLIENT_ID, INSTANCE, type Report, settings } from './settings.ts'

const { name, issuer, state, users, limits, rateLimit, options, planted, losesUserAnswer } = settings()
// Each has keys of its own.
drawFrom(1000 * Number.parseInt(name, 10))
const report = (message: Report): void => {
  if (process.connected) process.send?.(message)
}

const log = process.env['FAULTS_LOG']
const app = Fastify(
  log === undefined ? {} : { logger: { level: 'warn', file: `${log}/${name.replace('#', '-')}.log` } }
)
app.addHook('onRequest', (_request, reply, done) => {
  reply.header(INSTANCE, name)
  done()
})
const stores = openStores({ state, users, ...(limits === undefined ? {} : { limits }) })

if (planted === 'never-ends') setInterval(() => {}, 1000)
let closing = false
// Ends if the test process has died. Does not end a closing process, so that the test notices anything that keeps it
// alive.
process.once('disconnect', () => {
  if (!closing) process.exit(1)
})
process.once('SIGTERM', () => {
  closing = true
  const start = performance.now()
  void app.close().then(async () => {
    report({ closed: performance.now() - start })
    await stores.close()
    process.disconnect()
  })
})

async function listen(): Promise<number> {
  await app.register(authPlugin, {
    ...options,
    ...(planted === undefined || planted === 'never-ends'
      ? losing(stores.options, losesUserAnswer)
      : broken(stores.options, planted)),
    issuer,
    registration: { username: 'any' },
    clients: [
      { clientId: CLIENT_ID, redirectUris: [CALLBACK] },
      { ...API_CLIENT, redirectUris: [] }
    ],
    secret: 'of all instances of a scenario, of 32 bytes at least',
    password: { hasher: fastHasher() },
    sendMessage({ kind, user, token }) {
      if (token !== undefined) report({ mail: { kind, username: user.username, token } })
    },
    rateLimit: { ...rateLimit, key: (request: FastifyRequest) => String(request.headers[CALLER] ?? '') }
  })
  app.authority.on('store_degraded', ({ store }) => {
    report({ degraded: store })
  })
  app.get('/ping', async () => 'pong')
  app.get('/me', { onRequest: [app.authenticate] }, async (request) => request.auth)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const [address] = app.addresses()
  return typeof address === 'object' ? address.port : 0
}

void listen().then((ready) => {
  report({ ready })
})
