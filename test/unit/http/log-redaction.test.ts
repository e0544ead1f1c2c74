import { createRequire } from 'node:module'
import { Writable } from 'node:stream'
import { inspect } from 'node:util'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyServerOptions } from 'fastify'
import t, { type Test } from '../../support/tap.ts'
import { redactLoggedUrls, redactUrl } from '../../../lib/http/edge/log-redaction.ts'
import { CANARY, everything, HEADERS, QUERY, replyToo, SECRETS } from '../../support/canary.ts'
import { processorSeconds } from '../../support/in-time.ts'

/** The version of pino that Fastify uses. */
const { pino } = createRequire(createRequire(import.meta.url).resolve('fastify'))('pino') as {
  pino: ((options: object, stream: Writable) => FastifyBaseLogger) & { stdSerializers: Record<'req' | 'res', never> }
}

t.test('keeps the path, known parameter names and harmless values of a URL, and redacts the rest', async (t) => {
  const cases: Record<string, string> = {
    '/auth/authorize': '/auth/authorize',
    '/auth/authorize?': '/auth/authorize?',
    '/auth/authorize?client_id=spa&response_type=code&scope=openid%20profile&prompt=login&ui_locales=de-CH&response_mode=form_post&state=abc':
      '/auth/authorize?client_id=spa&response_type=code&scope=openid%20profile&prompt=login&ui_locales=de-CH&response_mode=form_post&state=***',
    '/cb?error=access_denied&error_description=Ann': '/cb?error=access_denied&error_description=***',
    '/a?state=': '/a?state=***',
    '/a?state': '/a?state',
    '/a?state=x=y=z': '/a?state=***',
    '/a?&&code=x&': '/a?&&code=***&',
    '/auth/login?return_to=%2Fauth%2Fauthorize%3Fcode%3Dx': '/auth/login?return_to=***',
    '/auth/login?return_to=/auth/authorize?client_id=a&state=x': '/auth/login?return_to=***&state=***',
    '/a?eyJhbGciOiJSUzI1NiJ9.e30.x': '/a?***',
    '/a?ann@mail.example=1': '/a?***',
    '/a?c%6Fde=x': '/a?***',
    '/a?CODE=x': '/a?***',
    '/a?scope%5B%5D=x': '/a?***',
    '/a?scope=openid%26code%3Dx': '/a?scope=***',
    '/a?scope=openid?code=x': '/a?scope=***',
    '/a?scope=openid;code=x': '/a?scope=***',
    '/a?scope=openid\ncode=x': '/a?scope=***',
    '/a?scope=%zz': '/a?scope=***',
    '/a?scope=https%3A%2F%2Fapi.example%2Fread': '/a?scope=https%3A%2F%2Fapi.example%2Fread',
    [`/a?scope=${'x'.repeat(257)}`]: '/a?scope=***',
    '/a;code=x': '/a;code=***',
    '/a#code=x': '/a#***',
    '/a?scope=openid#code=x&state=y': '/a?scope=openid#***',
    '/a?scope=openid#': '/a?scope=openid#***',
    'https://spa.example/cb?code=x': 'https://spa.example/cb?code=***'
  }
  for (const [url, shown] of Object.entries(cases)) {
    t.equal(redactUrl(url), shown, url)
    t.equal(redactUrl(shown), shown, 'what is redacted stays so')
  }
  for (const name of SECRETS) t.equal(redactUrl(`/a?${name}=${CANARY}`), `/a?${name}=***`)
})

t.test('redacts eight URLs of up to 1.6 MB within two seconds of processor time', async (t) => {
  t.ok(
    (await processorSeconds(() => {
      for (const part of ['&', '=', '?', '#', 'scope=%2', 'a', ';', '%20'])
        redactUrl(`/a?scope=${part.repeat(200_000)}`)
    })) < 2
  )
})

/** Adds a route that redirects, or fails as the header `x-fail` says. */
function ownRoutes(child: FastifyInstance): void {
  redactLoggedUrls(child)
  child.get('/auth/authorize', async (request, reply) => {
    request.log.trace({ req: request.raw }, 'raw')
    request.log.child({ req: request }).child({ more: 1 }).debug(request.raw, 'a child')
    request.log.warn({ req: { url: request.url, own: 1 } }, 'a plain one')
    const { url, originalUrl, query } = request
    request.log.debug({ url, originalUrl, query, own: 1 }, 'a flat one')
    request.log.debug({ url, query: url.split('?')[1], raw: { url } }, 'with texts')
    if (request.headers['x-fail'] === 'error') throw new Error('a bug')
    if (request.headers['x-fail'] === 'plain') throw Object.assign(new Error('teapot'), { statusCode: 418 })
    if (request.headers['x-fail'] === 'head') {
      const { writeHead } = reply.raw
      reply.raw.writeHead = () => {
        reply.raw.writeHead = writeHead
        throw new Error('no head')
      }
    }
    return await reply
      .header('set-cookie', `sid=${CANARY}-cookie`)
      .redirect(`https://spa.example/cb?code=${CANARY}-location`, 303)
  })
}

interface Logged {
  lines: string[]
  app: FastifyInstance
}

async function logged(
  t: Test,
  server: (stream: Writable) => FastifyServerOptions,
  before: (app: FastifyInstance) => unknown = () => {},
  register: (app: FastifyInstance) => Promise<unknown> = async (app) =>
    await app.register(async (child) => {
      ownRoutes(child)
    })
): Promise<Logged> {
  const lines: string[] = []
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString())
      done()
    }
  })
  const app = Fastify(server(stream)) as unknown as FastifyInstance
  t.teardown(async () => {
    await app.close()
  })
  await before(app)
  await register(app)
  app.get('/host', async () => 'host')
  return { lines, app }
}

async function visit({ app, lines }: Logged): Promise<void> {
  for (const fail of ['none', 'error', 'plain', 'head']) {
    await app.inject({ url: `/auth/authorize?${QUERY}`, headers: { ...HEADERS, 'x-fail': fail } }).catch(() => {})
  }
  await app.inject({ method: 'HEAD', url: `/auth/authorize?${QUERY}`, headers: HEADERS })
  lines.push('')
}

/** A logger that is no pino: it has private fields, is frozen, and prints whatever it gets. */
class OwnLogger {
  readonly #write: (line: string) => void
  readonly level = 'trace'
  constructor(write: (line: string) => void) {
    this.#write = write
    Object.freeze(this)
  }

  #line(...args: unknown[]): void {
    const [entry] = args as [{ req?: { url?: string; query?: unknown }; res?: { request?: { url?: string } } }]
    this.#write(
      `${inspect(args, { depth: 6 })} ${entry?.req?.url ?? ''} ${inspect(entry?.req?.query)} ` +
        (entry?.res?.request?.url ?? '')
    )
  }

  trace(...args: unknown[]): void {
    this.#line(...args)
  }
  debug(...args: unknown[]): void {
    this.#line(...args)
  }
  info(...args: unknown[]): void {
    this.#line(...args)
  }
  warn(...args: unknown[]): void {
    this.#line(...args)
  }
  error(...args: unknown[]): void {
    this.#line(...args)
  }
  fatal(...args: unknown[]): void {
    this.#line(...args)
  }
  silent(): void {}
  child(...args: unknown[]): unknown {
    this.#line(...args)
    return new OwnLogger(this.#write)
  }
}

/** A logger whose children have only the methods that Fastify calls. */
const sparse = (stream: Writable): FastifyBaseLogger => {
  const line = (entry: { req?: { url: string }; err?: Error }, text: string): void => {
    stream.write(`${entry.req?.url ?? ''} ${text} ${entry.err?.message ?? ''}`)
  }
  const methods = { level: 'info', info: line, error: line, warn: line, debug: line, trace: line, child: () => methods }
  return { ...methods, fatal: line, silent: line } as unknown as FastifyBaseLogger
}

const LOGGERS: Record<string, (stream: Writable) => FastifyServerOptions> = {
  'the logger of Fastify': (stream) => ({ logger: { level: 'trace', stream } }),
  'serializers of the host': (stream) => ({
    logger: { level: 'trace', stream, serializers: { req: everything as never, res: replyToo as never } }
  }),
  'the serializers of pino': (stream) => ({
    logger: { level: 'trace', stream, serializers: { req: pino.stdSerializers.req, res: pino.stdSerializers.res } }
  }),
  'a formatter and a mixin': (stream) => ({
    logger: {
      level: 'trace',
      stream,
      formatters: { log: (entry) => ({ ...entry, formatted: everything((entry['req'] ?? {}) as never) }) },
      mixin: (entry) => ({ mixed: (entry as { req?: { url: string } }).req?.url })
    }
  }),
  'an instance of pino': (stream) => ({
    loggerInstance: pino({ level: 'trace', serializers: { req: everything } }, stream)
  }),
  'a child logger factory that drops the options': (stream) => ({
    logger: { level: 'trace', stream, serializers: { req: everything as never } },
    childLoggerFactory: (logger, bindings) => logger.child({ ...bindings, factory: 1 })
  }),
  'a child logger factory that returns another logger': (stream) => ({
    logger: { level: 'trace', stream },
    childLoggerFactory: () => pino({ level: 'trace', serializers: { req: everything } }, stream)
  }),
  'a logger other than pino': (stream) => ({
    loggerInstance: new OwnLogger((line) => {
      stream.write(line)
    }) as unknown as FastifyBaseLogger
  }),
  'a logger whose children lack methods': (stream) => ({ loggerInstance: sparse(stream) })
}

for (const [name, server] of Object.entries(LOGGERS)) {
  // covers ASVS-16.2.5
  t.test(`logs no secret in the lines of Fastify with ${name}`, async (t) => {
    const log = await logged(t, server)
    await visit(log)
    const text = log.lines.join('\n')
    t.notMatch(text, CANARY)
    t.match(text, /\/auth\/authorize\?client_id=spa&scope=openid\+profile&code=\*\*\*&state=\*\*\*/)
    t.match(text, 'incoming request')
    t.match(text, 'request completed')
    t.match(text, 'a bug')
  })

  t.test(`logs the URL of a route of the host unchanged with ${name}`, async (t) => {
    const log = await logged(t, server)
    await log.app.inject({ url: `/host?code=${CANARY}` })
    t.match(log.lines.join('\n'), `/host?code=${CANARY}`)
  })
}

t.test('logs each line once with the serializer, bindings and request ids of the host', async (t) => {
  const log = await logged(t, (stream) => ({
    requestIdHeader: 'x-id',
    logger: {
      level: 'info',
      stream,
      serializers: {
        req: (request) => ({
          of: 'the host',
          method: request.method,
          url: request.url,
          ip: request.ip,
          host: request.host
        })
      }
    }
  }))
  await log.app.inject({ url: '/auth/authorize?state=1', headers: { 'x-id': 'one' }, remoteAddress: '192.0.2.1' })
  const lines = log.lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  t.match(lines, [
    {
      reqId: 'one',
      msg: 'incoming request',
      req: { of: 'the host', method: 'GET', url: '/auth/authorize?state=***', ip: '192.0.2.1', host: 'localhost:80' }
    },
    { msg: 'a plain one' },
    { reqId: 'one', msg: 'request completed', res: { statusCode: 303 }, responseTime: Number }
  ])
  t.equal(lines.length, 3)
})

t.test('redacts lines that the log serializers of a parent instance write', async (t) => {
  const log = await logged(
    t,
    (stream) => ({ logger: { level: 'trace', stream } }),
    () => {},
    async (app) => {
      await app.register(
        async (parent) => {
          await parent.register(async (child) => {
            ownRoutes(child)
          })
        },
        { logSerializers: { req: everything as never, res: replyToo as never } }
      )
    }
  )
  await visit(log)
  t.notMatch(log.lines.join('\n'), CANARY)
  t.match(log.lines.join('\n'), /"of":"the host"/)
})

t.test('serves the routes without request logging and without a logger', async (t) => {
  const { LogController } = await import('fastify')
  const quiet: Record<string, (stream: Writable) => FastifyServerOptions> = {
    'no logger': () => ({}),
    'a factory without a logger': () => ({ childLoggerFactory: (logger) => logger }),
    'no request logging': (stream) => ({
      logger: { level: 'info', stream },
      logController: new LogController({ disableRequestLogging: true })
    }),
    silent: (stream) => ({ logger: { level: 'silent', stream } })
  }
  for (const [name, server] of Object.entries(quiet)) {
    const { app, lines } = await logged(t, server)
    t.equal((await app.inject({ url: `/auth/authorize?${QUERY}` })).statusCode, 303, name)
    t.notMatch(lines.join('\n'), CANARY)
    t.notMatch(lines.join('\n'), 'incoming request')
  }
})

t.test('keeps the level and the child bindings of request.log', async (t) => {
  const { app, lines } = await logged(
    t,
    (stream) => ({ logger: { level: 'info', stream } }),
    () => {},
    async (app) => {
      await app.register(async (child) => {
        redactLoggedUrls(child)
        child.get('/own', async (request) => {
          const log = request.log as FastifyBaseLogger & { bindings(): object; isLevelEnabled(level: string): boolean }
          const before = [log.level, log.isLevelEnabled('debug'), 'info' in log, log.bindings()]
          log.level = 'debug'
          log.debug('now heard')
          log.info('%s and %j', 'text', { a: 1 })
          log.error(new Error('itself'))
          return [...before, log.level]
        })
      })
    }
  )
  t.same((await app.inject({ url: '/own' })).json(), ['info', false, true, { reqId: 'req-1' }, 'debug'])
  const text = lines.join('\n')
  for (const part of ['now heard', 'text and {\\"a\\":1}', '"type":"Error","message":"itself"'])
    t.ok(text.includes(part), part)
})

t.test('redacts the lines of a log level that is enabled for one request', async (t) => {
  const lines: string[] = []
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(String(chunk))
      done()
    }
  })
  const app = Fastify({ loggerInstance: pino({ level: 'silent' }, stream) }) as unknown as FastifyInstance
  app.addHook('onRequest', async ({ log }) => {
    log.level = 'trace'
  })
  app.register(async (child) => {
    ownRoutes(child)
  })
  await app.inject(`/auth/authorize?${QUERY}`)
  t.ok(lines.some((line) => line.includes('/auth/authorize?client_id=spa')))
  t.notOk(lines.some((line) => line.includes(CANARY)))
  await app.close()
})
