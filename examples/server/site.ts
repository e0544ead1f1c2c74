import { readdirSync, readFileSync } from 'node:fs'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { UserStore } from 'fastify-authority'
import { browserApp } from './browser-app.ts'
import type { Config } from './config.ts'
import { servedDocs } from './docs.ts'
import { type Facts, startPage } from './start-page.ts'
import { thirdParty } from './third-party.ts'

/** Nothing but our own script and style, no inline code, no framing, no form. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src " +
  "'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

const ASSETS = [
  { url: '/style.css', type: 'text/css; charset=utf-8' },
  { url: '/logo.svg', type: 'image/svg+xml' },
  { url: '/app.js', type: 'text/javascript; charset=utf-8' }
]

/** The pages of the host and of its two demo clients. */
export async function site(
  app: FastifyInstance,
  { users, config }: { users: UserStore; config: Config }
): Promise<void> {
  const { clients, issuer } = config
  app.addHook('onSend', async (_request, reply) => {
    reply.headers({
      'content-security-policy': CONTENT_SECURITY_POLICY,
      'x-content-type-options': 'nosniff',
      // A callback's address has a code in it.
      'referrer-policy': 'no-referrer'
    })
  })
  for (const { url, type } of ASSETS) {
    const content = readFileSync(new URL(`./assets${url}`, import.meta.url), 'utf8')
    app.get(url, async (_request, reply): Promise<FastifyReply> =>
      reply.type(type).header('cache-control', 'no-cache').send(content)
    )
  }
  // The modules of the browser client as they are in the package. A real app has a bundler.
  const client = new URL('.', import.meta.resolve('fastify-authority/client'))
  for (const name of readdirSync(client).filter((file) => file.endsWith('.js'))) {
    const content = readFileSync(new URL(name, client), 'utf8')
    app.get(`/client/${name}`, async (_request, reply): Promise<FastifyReply> =>
      reply.type('text/javascript; charset=utf-8').header('cache-control', 'no-cache').send(content)
    )
  }
  await app.register(startPage, {
    users,
    facts: factsOf(config),
    docs: await servedDocs(app),
    demos: !config.allowInsecureIssuer
  })
  if (config.allowInsecureIssuer) return
  await app.register(browserApp, { issuer, client: clients.spa })
  await app.register(thirdParty, { issuer, client: clients.thirdParty, secret: config.secret })
}

/** The facts on the start page: no address of a server, because these have passwords in them. */
function factsOf({ issuer, databaseUrl, redisUrl, smtpUrl, bypass, capturesMails, admin }: Config): Facts {
  const [users, state] =
    databaseUrl === undefined
      ? ['a SQLite file', redisUrl === undefined ? 'a SQLite file' : 'Redis']
      : ['PostgreSQL', 'PostgreSQL']
  return {
    issuer,
    storage:
      users === state
        ? `in ${users}${redisUrl === undefined ? '' : ', counters in Redis'}`
        : `users in ${users}, state in ${state}`,
    messages:
      smtpUrl === undefined ? `${capturesMails ? 'the page Mails and ' : ''}the log of the server` : 'your SMTP server',
    capturesMails,
    admin,
    limits: bypass.includes('127.0.0.0/8') ? 'leave this machine alone, outside production' : 'hold for every address'
  }
}
